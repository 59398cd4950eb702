//! Checksums of files, in the time that other work leaves over.

use std::cell::Cell;
use std::io::Read;
use std::sync::atomic::{AtomicU8, Ordering};
use store::{Checksum, SourceId};

/// The priority of a checksum. It may change while the checksum is computed.
#[derive(Debug)]
pub struct Priority(AtomicU8);

const SPARE_TIME: u8 = 0;
const NOW: u8 = 1;
const NO_MORE: u8 = 2;

impl Priority {
    /// Only while a CPU has nothing else to do: an import's threads wait for each other now and then, and this fills the gaps. The kernel
    /// wakes them as if the CPU were idle.
    #[must_use]
    pub const fn spare_time() -> Self {
        Self(AtomicU8::new(SPARE_TIME))
    }

    /// Somebody waits for it.
    #[must_use]
    pub const fn now() -> Self {
        Self(AtomicU8::new(NOW))
    }

    /// From now on, somebody waits for it.
    pub fn raise(&self) {
        self.0.store(NOW, Ordering::Relaxed);
    }

    /// When what this gives is dropped, nobody wants it any more.
    #[must_use]
    pub fn while_held(&self) -> impl Drop {
        WhileHeld(self)
    }

    fn is(&self, wanted: u8) -> bool {
        self.0.load(Ordering::Relaxed) == wanted
    }
}

struct WhileHeld<'a>(&'a Priority);

impl Drop for WhileHeld<'_> {
    fn drop(&mut self) {
        self.0.0.store(NO_MORE, Ordering::Relaxed);
    }
}

/// The checksum of all that can be read.
pub(super) fn source_id(from: &mut (dyn Read + Send), priority: &Priority) -> std::io::Result<SourceId> {
    let mut checksum = Checksum::default();
    // What is small is not worth a thread.
    let first = Cell::new(true);
    let mut ended = checksum.read(from, || first.replace(false))?;
    if !ended && priority.is(SPARE_TIME) {
        ended = std::thread::scope(|scope| {
            let beside = || {
                only_when_idle();
                checksum.read(from, || priority.is(SPARE_TIME))
            };
            // Where no thread can be had, it is computed here.
            let thread = std::thread::Builder::new().name("checksum".into()).spawn_scoped(scope, beside);
            let panicked = |_| Err(std::io::Error::other("computing its checksum panicked"));
            thread.map_or(Ok(false), |thread| thread.join().unwrap_or_else(panicked))
        })?;
    }
    // On a busy machine the spare time may not have been enough, and its thread may not raise itself: so it goes on here.
    if ended || checksum.read(from, || !priority.is(NO_MORE))? {
        return Ok(checksum.finish());
    }
    Err(std::io::Error::other("nobody waits for its checksum any more"))
}

/// This thread runs where nothing else would. Where the kernel refuses, it takes its share.
fn only_when_idle() {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: of this thread; the parameter outlives the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const param) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads on until its priority is raised, and tells how much was read by which thread.
    struct Slow<'a> {
        priority: &'a Priority,
        left: usize,
        by: Vec<Option<String>>,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let name = std::thread::current().name().map(str::to_owned);
            if self.by.last() != Some(&name) {
                self.by.push(name);
            }
            self.left = self.left.saturating_sub(1);
            if self.left == 2 {
                self.priority.raise();
            }
            Ok(into.len().min(self.left))
        }
    }

    fn by(priority: &Priority, left: usize) -> Vec<Option<String>> {
        let mut slow = Slow { priority, left, by: Vec::new() };
        let whole = source_id(&mut slow, priority).unwrap();
        assert_eq!(whole.bytes, (0..left as i64).sum::<i64>());
        slow.by
    }

    #[test]
    fn who_waits_for_it_takes_it_over() {
        let own = std::thread::current().name().map(str::to_owned);
        let beside = Some("checksum".to_owned());
        assert_eq!(by(&Priority::spare_time(), 9), [own.clone(), beside, own.clone()]);
        assert_eq!(by(&Priority::spare_time(), 1), std::slice::from_ref(&own), "too small");
        assert_eq!(by(&Priority::now(), 9), [own]);
    }

    #[test]
    fn nobody_computes_what_nobody_wants() {
        let priority = Priority::spare_time();
        drop(priority.while_held());
        assert!(source_id(&mut std::io::repeat(0), &priority).is_err());
    }
}
