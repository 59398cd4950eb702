//! Values kept for each thread, and detection of state changes.

use crate::Begins;
use model::{Ns, Reason, ThreadKey, ThreadState, ThreadStretch, Tid};

/// One value for each thread, indexed by thread key.
#[derive(Clone, Default, Debug)]
pub(crate) struct ByThread<T>(Vec<T>);

impl<T: Clone + Default> ByThread<T> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns a thread's value. Invalid keys share the value of the idle task, which no table shows.
    #[inline]
    pub(crate) fn of(&mut self, thread: ThreadKey) -> &mut T {
        let at = usize::try_from(thread.0).unwrap_or(0);
        if at >= self.0.len() {
            self.0.resize(at + 1, T::default());
        }
        &mut self.0[at]
    }

    /// Returns a thread's value, if it was set.
    pub(crate) fn get(&self, thread: ThreadKey) -> Option<&T> {
        usize::try_from(thread.0).ok().and_then(|at| self.0.get(at))
    }

    /// Iterates over all values by key.
    pub(crate) fn iter(&mut self) -> impl Iterator<Item = (ThreadKey, &mut T)> {
        self.0.iter_mut().enumerate().skip(1).map(|(key, of)| (ThreadKey(key as i64), of))
    }
}

/// Whether a thread left its CPU to wait when this stretch began; `ran`: it ran until then. If its wakeup came before or at that instant,
/// or was not recorded, the stretch is not blocked.
pub(crate) fn left_to_wait(stretch: &ThreadStretch, ran: bool) -> bool {
    let woken_then = ran && (stretch.state, stretch.reason) == (ThreadState::Ready, Reason::Woken);
    woken_then
        || matches!(
            (stretch.state, stretch.reason),
            (ThreadState::Blocked, Reason::State(_))
                | (ThreadState::Ready, Reason::WokenBefore)
                | (ThreadState::Unknown, Reason::NoWaking | Reason::Undecided)
        )
}

/// The previous stretch of a thread.
#[derive(Clone, Copy, Default)]
pub(crate) struct Before(Option<ThreadStretch>);

impl Before {
    /// The TID, if there was a stretch.
    pub(crate) fn tid(&self) -> Option<Tid> {
        self.0.map(|s| s.tid)
    }

    /// The previous stretch, if the thread was running.
    pub(crate) fn ran(&self) -> Option<ThreadStretch> {
        self.0.filter(|s| s.state == ThreadState::Running)
    }

    /// Returns whether the thread is known to have changed its state when this stretch began, and keeps the stretch.
    /// Stretches that begin with the recording, come from a snapshot or are inferred have no known begin.
    pub(crate) fn changes(&mut self, stretch: &ThreadStretch, begins: Begins) -> bool {
        let before = self.0.replace(*stretch);
        let reason = before.map_or(Reason::None, |b| b.reason);
        let shown = match stretch.state {
            ThreadState::Ready | ThreadState::Running => matches!(stretch.reason, Reason::Snapshot | Reason::Inferred),
            // A snapshot contains the state letter too.
            _ => reason == Reason::BeforeSnapshot,
        };
        begins == Begins::Here && stretch.span.start > Ns::ZERO && !shown && reason != Reason::Lossy
    }
}
