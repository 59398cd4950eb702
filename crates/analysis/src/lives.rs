//! Lives that end without a stretch to tell it.

use crate::by_thread::ByThread;
use model::{Reason, Span, ThreadKey, ThreadState, ThreadStretch, Tid};
use rustc_hash::FxHashMap;

/// The last stretch of every life, and the last life of every number.
pub(crate) struct Lives {
    last: ByThread<Option<ThreadStretch>>,
    of: FxHashMap<Tid, ThreadKey>,
}

impl Lives {
    pub(crate) fn new() -> Self {
        Self { last: ByThread::new(), of: FxHashMap::default() }
    }

    /// The present life of a number.
    pub(crate) fn of(&self, tid: Tid) -> ThreadKey {
        self.of.get(&tid).copied().unwrap_or(ThreadKey::UNKNOWN)
    }

    /// The same, unless it is over.
    pub(crate) fn alive(&self, tid: Tid) -> Option<ThreadKey> {
        let thread = *self.of.get(&tid)?;
        let last = self.last.get(thread).copied().flatten()?;
        (last.state != ThreadState::Exited).then_some(thread)
    }

    /// The same, if it is ready.
    pub(crate) fn ready(&self, tid: Tid) -> Option<ThreadKey> {
        let thread = *self.of.get(&tid)?;
        let last = self.last.get(thread).copied().flatten()?;
        (last.state == ThreadState::Ready).then_some(thread)
    }

    /// A life that exits at the very instant at which its number's next one begins is over for no time at all, and has no
    /// stretch of it: here it is, empty.
    pub(crate) fn over(&mut self, begins: &ThreadStretch) -> Option<ThreadStretch> {
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
