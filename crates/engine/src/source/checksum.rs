//! Checksums of files, computed in otherwise idle CPU time.

use std::cell::Cell;
use std::io::Read;
use std::sync::atomic::{AtomicU8, Ordering};
use store::{Checksum, SourceId};

/// The priority of a checksum. It may change while the checksum is computed.
#[derive(Debug)]
pub struct Priority(AtomicU8);

const SPARE_TIME: u8 = 0;
const NOW: u8 = 1;
const CANCELLED: u8 = 2;

impl Priority {
    /// Only on an otherwise idle CPU: it fills the gaps in which an import's threads wait for each other. The kernel wakes those
    /// threads as if the CPU were idle.
    #[must_use]
    pub const fn spare_time() -> Self {
        Self(AtomicU8::new(SPARE_TIME))
    }

    /// Immediately: a caller waits for the checksum.
    #[must_use]
    pub const fn now() -> Self {
        Self(AtomicU8::new(NOW))
    }

    /// Raises the priority to [`Self::now`].
    pub fn raise(&self) {
        self.0.store(NOW, Ordering::Relaxed);
    }

    /// Returns a guard that cancels the checksum when it is dropped.
    #[must_use]
    pub fn cancel_on_drop(&self) -> impl Drop {
        CancelOnDrop(self)
    }

    fn is(&self, wanted: u8) -> bool {
        self.0.load(Ordering::Relaxed) == wanted
    }
}

struct CancelOnDrop<'a>(&'a Priority);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.0.store(CANCELLED, Ordering::Relaxed);
    }
}

/// Computes the checksum of all that can be read.
pub(super) fn source_id(from: &mut (dyn Read + Send), priority: &Priority) -> std::io::Result<SourceId> {
    let mut checksum = Checksum::default();
    // A small file is not worth a thread.
    let first = Cell::new(true);
    let mut ended = checksum.read(from, || first.replace(false))?;
    if !ended && priority.is(SPARE_TIME) {
        ended = std::thread::scope(|scope| {
            let when_idle = || {
                use_idle_scheduling();
                checksum.read(from, || priority.is(SPARE_TIME))
            };
            // If no thread can be started, it is computed below.
            let thread = std::thread::Builder::new().name("checksum".into()).spawn_scoped(scope, when_idle);
            let panicked = |_| Err(std::io::Error::other("computing its checksum panicked"));
            thread.map_or(Ok(false), |thread| thread.join().unwrap_or_else(panicked))
        })?;
    }
    // On a busy machine the idle time may not be enough, and an idle-priority thread may not raise its own priority, so the rest is
    // computed here.
    if ended || checksum.read(from, || !priority.is(CANCELLED))? {
        return Ok(checksum.finish());
    }
    Err(std::io::Error::other("the checksum was cancelled"))
}

/// Sets the idle scheduling policy for this thread. If the kernel refuses, the thread gets its normal share.
fn use_idle_scheduling() {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: applies to this thread; the parameter outlives the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const param) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that raises the priority near its end, and records which threads read from it.
    struct SlowReader<'a> {
        priority: &'a Priority,
        left: usize,
        by: Vec<Option<String>>,
    }

    impl Read for SlowReader<'_> {
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

    fn threads_that_read(priority: &Priority, left: usize) -> Vec<Option<String>> {
        let mut slow = SlowReader { priority, left, by: Vec::new() };
        let id = source_id(&mut slow, priority).unwrap();
        assert_eq!(id.bytes, (0..left as i64).sum::<i64>());
        slow.by
    }

    #[test]
    fn raising_the_priority_moves_the_work_to_the_waiting_thread() {
        let own = std::thread::current().name().map(str::to_owned);
        let idle = Some("checksum".to_owned());
        assert_eq!(threads_that_read(&Priority::spare_time(), 9), [own.clone(), idle, own.clone()]);
        assert_eq!(threads_that_read(&Priority::spare_time(), 1), std::slice::from_ref(&own), "too small");
        assert_eq!(threads_that_read(&Priority::now(), 9), [own]);
    }

    #[test]
    fn a_cancelled_checksum_is_not_computed() {
        let priority = Priority::spare_time();
        drop(priority.cancel_on_drop());
        assert!(source_id(&mut std::io::repeat(0), &priority).is_err());
    }
}
