//! Thread instances, including those that end without a stretch.

use crate::by_thread::ByThread;
use model::{Reason, Span, ThreadKey, ThreadState, ThreadStretch, Tid};
use rustc_hash::FxHashMap;

/// The last stretch of every thread instance, and the last instance of every TID.
pub(crate) struct Instances {
    last: ByThread<Option<ThreadStretch>>,
    of: FxHashMap<Tid, ThreadKey>,
}

impl Instances {
    pub(crate) fn new() -> Self {
        Self { last: ByThread::new(), of: FxHashMap::default() }
    }

    /// The current instance of a TID.
    pub(crate) fn current(&self, tid: Tid) -> ThreadKey {
        self.of.get(&tid).copied().unwrap_or(ThreadKey::UNKNOWN)
    }

    /// The current instance of a TID, if it has not exited.
    pub(crate) fn alive(&self, tid: Tid) -> Option<ThreadKey> {
        let thread = *self.of.get(&tid)?;
        let last = self.last.get(thread).copied().flatten()?;
        (last.state != ThreadState::Exited).then_some(thread)
    }

    /// The current instance of a TID, if it is ready.
    pub(crate) fn ready(&self, tid: Tid) -> Option<ThreadKey> {
        let thread = *self.of.get(&tid)?;
        let last = self.last.get(thread).copied().flatten()?;
        (last.state == ThreadState::Ready).then_some(thread)
    }

    /// Returns an empty exit stretch for an instance that exits at the instant at which its TID's next instance begins.
    /// The timeline has no stretch for that.
    pub(crate) fn empty_exit(&mut self, begins: &ThreadStretch) -> Option<ThreadStretch> {
        if self.last.of(begins.thread).replace(*begins).is_some() {
            return None;
        }
        let former = self.of.insert(begins.tid, begins.thread)?;
        let last = self.last.get(former).copied().flatten()?;
        let at = begins.span.start;
        let open = last.span.end == at && !matches!(last.state, ThreadState::Exited | ThreadState::Unknown);
        let span = Span { start: at, end: at };
        open.then_some(ThreadStretch { span, state: ThreadState::Exited, reason: Reason::None, ..last })
    }
}
