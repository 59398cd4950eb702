//! Determines the time up to which all events have been read.
//!
//! The recorder reads the CPUs' buffers in rounds, and may leave part of a full buffer for the next round:
//!
//! ```text
//!   round 1            round 2             round 3
//!   cpu0 ──── cpu1 ──  cpu0 ─── cpu1 ────  cpu0 …
//!        latest 100         latest 180     at the end of round 2: nothing before 100 can follow from a buffer that was
//!                                          read to its end, nor anything before the last event of one that was not
//! ```
//!
//! A CPU without a bundle in a round had no events. So at the end of each round, a sequence is complete up to the
//! latest event of the rounds before, or up to the earliest of its CPUs' last events in this round, whichever is less.
//! Several data sources write separate sequences; the earliest of them counts. Events that a service buffered and wrote
//! CPU by CPU at the end have no rounds, and are sorted as a whole (on disk if there are many). If an event is too
//! early nevertheless (a sequence that starts late), ingest detects it, reads the file again and sorts all of it.

use model::{CpuId, Ns};
use rustc_hash::FxHashMap;

/// The rounds of one sequence.
struct Rounds {
    /// The CPUs of this round, with their last events.
    add: Vec<(CpuId, Ns)>,
    current: CpuId,
    latest: Ns,
    latest_before: Ns,
    until: Ns,
}

/// The rounds of all sequences with kernel events.
#[derive(Default)]
pub(super) struct Reached {
    rounds: FxHashMap<u32, Rounds>,
}

impl Reached {
    /// Records that a sequence contains a bundle of a CPU whose last event has this time.
    pub(super) fn add(&mut self, sequence: u32, cpu: CpuId, last: Ns) {
        let r = self.rounds.entry(sequence).or_insert_with(|| Rounds {
            add: Vec::new(),
            current: cpu,
            latest: Ns::MIN,
            latest_before: Ns::MIN,
            until: Ns::MIN,
        });
        if r.current != cpu && r.add.iter().any(|(c, _)| *c == cpu) {
            let earliest = r.add.iter().map(|(_, t)| *t).min().unwrap_or(Ns::MIN);
            r.until = r.until.max(earliest.min(r.latest_before));
            r.latest_before = r.latest;
            r.add.clear();
        }
        r.current = cpu;
        r.latest = r.latest.max(last);
        match r.add.iter_mut().find(|(c, _)| *c == cpu) {
            Some((_, of)) => *of = (*of).max(last),
            None => r.add.push((cpu, last)),
        }
    }

    /// Returns the time up to which all sequences are complete.
    pub(super) fn until(&self) -> Ns {
        self.rounds.values().map(|r| r.until).min().unwrap_or(Ns::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_one_round_later_and_never_beyond_a_partly_read_buffer() {
        let mut reached = Reached::default();
        let mut add = |cpu, last| {
            reached.add(1, CpuId(cpu), Ns(last));
            reached.until()
        };
        assert_eq!(add(0, 90), Ns::MIN);
        assert_eq!(add(1, 100), Ns::MIN);
        assert_eq!(add(0, 170), Ns::MIN); // round 2; there is none before the first
        assert_eq!(add(1, 180), Ns::MIN);
        assert_eq!(add(0, 230), Ns(100));
        assert_eq!(add(1, 120), Ns(100)); // partly read
        assert_eq!(add(0, 300), Ns(120));
        assert_eq!(add(1, 310), Ns(120));
        assert_eq!(add(0, 400), Ns(230));
    }

    #[test]
    fn the_slowest_sequence_determines_the_time() {
        let mut reached = Reached::default();
        for (sequence, cpu, last) in [(1, 0, 10), (1, 1, 11), (1, 0, 20), (1, 1, 21), (1, 0, 30)] {
            reached.add(sequence, CpuId(cpu), Ns(last));
        }
        assert_eq!(reached.until(), Ns(11));
        reached.add(2, CpuId(0), Ns(40));
        assert_eq!(reached.until(), Ns::MIN);
    }
}
