//! Which threads are throttled: their cgroup's CPU quota is used up, so they wait for the next period and not for a
//! CPU.

use model::ThreadKey;
use std::collections::BTreeSet;

/// The threads that are throttled now; few at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throttled {
    reported: bool,
    now: BTreeSet<ThreadKey>,
}

impl Throttled {
    /// From now on every change is reported. Returns the threads that were throttled until now.
    pub(crate) fn report_all(&mut self) -> Vec<ThreadKey> {
        self.reported = true;
        self.now.iter().copied().collect()
    }

    /// Whether changes are reported.
    pub(crate) fn is_reported(&self) -> bool {
        self.reported
    }

    #[inline]
    pub(crate) fn is(&self, thread: ThreadKey) -> bool {
        !self.now.is_empty() && self.now.contains(&thread)
    }

    pub(crate) fn put(&mut self, thread: ThreadKey, throttled: bool) {
        if throttled {
            self.now.insert(thread);
        } else {
            self.now.remove(&thread);
        }
    }
}
