//! Which threads are throttled: held by their cgroup's CPU quota, so that they wait for time to pass and not for a CPU.

use model::ThreadKey;
use std::collections::BTreeSet;

/// Who is throttled now; few threads at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throttled {
    told: bool,
    now: BTreeSet<ThreadKey>,
}

impl Throttled {
    /// From here on every change is told; who was throttled until now.
    pub(crate) fn tell(&mut self) -> Vec<ThreadKey> {
        self.told = true;
        self.now.iter().copied().collect()
    }

    /// Whether anybody tells.
    pub(crate) fn is_told(&self) -> bool {
        self.told
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
