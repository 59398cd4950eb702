//! Leaves out what was recorded of futexes of processes outside the target (`--only-focus`).

use crate::wire;
use model::{Event, EventKind, NameId};
use std::collections::HashSet;

/// The threads of the target's processes. The recorder writes the names of no others ([`crate::focus`]), and this is how they are known: a
/// flight recorder's first records, which show who descends from the target, may be gone.
pub struct OnlyFocus(HashSet<i32>);

impl OnlyFocus {
    pub fn new(target: Option<i32>) -> Self {
        Self(target.into_iter().collect())
    }

    /// Takes a thread that exists from now on, or still exists.
    pub fn thread(&mut self, tid: i32, name: &str) {
        if name.is_empty() {
            self.0.remove(&tid);
        } else {
            self.0.insert(tid);
        }
    }

    /// Removes what an event has of others' futexes. Returns `false` if nothing is left of it.
    pub fn keeps(&self, event: &mut Event) -> bool {
        match &mut event.what {
            EventKind::FutexWait(wait) => self.0.contains(&wait.tid.0),
            EventKind::WokenByCall { tid, call: NameId(call), argument } => {
                // A word that both processes share has another address in each, and the target's threads show it anyway.
                if call.cast_signed() != wire::FUTEX && !self.0.contains(&event.current.0) {
                    *argument = 0;
                }
                self.0.contains(&tid.0)
            }
            _ => true,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::spool::tests::{begin, block, mark, read};
    use crate::spool::{Meta, frame};
    use crate::wire;
    use model::EventKind;
    use safefs::Dir;

    /// With `--only-focus`, the recorder writes no names of others. What they wait for is left out, and with which arguments they woke the target.
    #[test]
    fn futexes_of_others_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut w = begin(dir.path());
        let spool = crate::spool::spool_of(&Dir::open(dir.path()).unwrap()).unwrap();
        let mut meta = Meta::load(&spool).unwrap();
        (meta.only_focus, meta.facts.focus) = (true, Some(7));
        meta.store(&spool).unwrap();
        w.begin_segment(0).unwrap();
        let fork = |tid: i32, name: &[u8]| {
            let mut payload = vec![wire::KIND_RARE, wire::FORK, 0, 0];
            payload.extend(tid.to_ne_bytes());
            payload.extend(150u64.to_ne_bytes());
            payload.extend([0; 40]);
            payload.extend([name, &vec![0; 16 - name.len()]].concat());
            payload
        };
        w.frame(&[&fork(8, b"own child")]).unwrap();
        w.frame(&[&fork(9, b"")]).unwrap();
        w.frame(&[&mark(frame::SNAP_DONE, 200)]).unwrap();
        let numbers = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
        let head = |after: u32, kind: u8, code: u8| [&after.to_ne_bytes()[..], &[kind, code, 120, 120]].concat();
        let wait = |after: u32, of: u32, next: u32| {
            let futex = [of, next, 5, 0, 2, 8, 1 | 7 << 20 | 128 << 23, 2, 9, 10, 11];
            [head(after, 1 | 0x20, 1), numbers(&futex)].concat()
        };
        let mut waits = block(0, 0, 300, 7, 0)[..wire::BLOCK_HEAD].to_vec();
        waits[4..8].copy_from_slice(&6u32.to_ne_bytes());
        // The target and its child wait, 9 wakes the target and waits, and so does one of which there is no name.
        waits.extend([wait(0, 7, 8), wait(1, 8, 9)].concat());
        waits.extend([head(2, 18, 0), numbers(&[7, 234, 0x5ec_2e7, 1])].concat());
        waits.extend([wait(3, 9, 10), wait(4, 10, 0)].concat());
        waits.extend([head(5, 18, 0), numbers(&[9, 234, 0x5ec_2e7, 1])].concat());
        w.frame(&[&waits]).unwrap();
        w.frame(&[&mark(frame::END, 900)]).unwrap();
        w.flush().unwrap();
        let (events, _, bad) = read(dir.path());
        assert!(bad.0.is_empty(), "{bad:?}");
        let of_futexes = events.iter().filter_map(|e| match e.what {
            EventKind::FutexWait(wait) => Some((wait.tid.0, wait.address)),
            EventKind::WokenByCall { tid, argument, .. } => Some((tid.0, argument)),
            _ => None,
        });
        assert_eq!(of_futexes.collect::<Vec<_>>(), [(7, 0x1_0000_0008), (8, 0x1_0000_0008), (7, 0)]);
        let switches = events.iter().filter(|e| matches!(e.what, EventKind::Switch(_))).count();
        assert_eq!(switches, 4, "what they do is recorded");
    }
}
