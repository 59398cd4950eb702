//! What is kept of each thread, and what began when one of its stretches did.

use crate::Begins;
use model::{Ns, Reason, ThreadKey, ThreadState, ThreadStretch, Tid};

/// Something of each thread, at the place that its key says.
#[derive(Clone, Debug)]
pub(crate) struct ByThread<T>(Vec<T>);

impl<T: Clone + Default> ByThread<T> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// A thread's own. What is no thread shares the idle task's, which no table shows.
    #[inline]
    pub(crate) fn of(&mut self, thread: ThreadKey) -> &mut T {
        let at = usize::try_from(thread.0).unwrap_or(0);
        if at >= self.0.len() {
            self.0.resize(at + 1, T::default());
        }
        &mut self.0[at]
    }

    /// A thread's own, where something was kept.
    pub(crate) fn get(&self, thread: ThreadKey) -> Option<&T> {
        usize::try_from(thread.0).ok().and_then(|at| self.0.get(at))
    }

    /// All of them, by key.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = (ThreadKey, &mut T)> {
        self.0.iter_mut().enumerate().skip(1).map(|(key, of)| (ThreadKey(key as i64), of))
    }
}

/// A thread's stretch as the next one finds it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Before(Option<ThreadStretch>);

impl Before {
    /// Its number, once it had a stretch.
    pub(crate) fn tid(&self) -> Option<Tid> {
        self.0.map(|s| s.tid)
    }

    /// The stretch, where the thread ran.
    pub(crate) fn ran(&self) -> Option<ThreadStretch> {
        self.0.filter(|s| s.state == ThreadState::Running)
    }

    /// Whether the thread changed its state when this stretch began, as far as anybody knows; keeps it for the next one.
    /// Everything begins with the recording; what a snapshot shows, and what is inferred, began nobody knows when.
    pub(crate) fn changes(&mut self, stretch: &ThreadStretch, begins: Begins) -> bool {
        let before = self.0.replace(*stretch);
        let reason = before.map_or(Reason::None, |b| b.reason);
        let shown = match stretch.state {
            ThreadState::Ready | ThreadState::Running => matches!(stretch.reason, Reason::Snapshot | Reason::Inferred),
            // A snapshot tells the kernel's letter too, but only of a thread of which nobody had told anything.
            _ => reason == Reason::BeforeFirst,
        };
        begins == Begins::Here && stretch.span.start > Ns::ZERO && !shown && reason != Reason::Lossy
    }
}
