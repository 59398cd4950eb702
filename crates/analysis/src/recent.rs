//! What each thread did last: its state times within a past wait of another thread.

use crate::ReasonId;
use model::{Ns, Span, StackId, ThreadState, ThreadStretch};
use std::collections::VecDeque;

/// The number of stretches kept for each thread. For a long wait only the other thread's last stretches are known. In return,
/// the memory for a thread does not depend on the length of the recording.
const REMEMBERED: usize = 32;

/// The last stretches of a thread.
#[derive(Clone, Default)]
pub(crate) struct Recent(VecDeque<Stretch>);

#[derive(Clone, Copy)]
struct Stretch {
    span: Span,
    /// The index of its sum in [`Recent::during`].
    of: Option<usize>,
    /// What the thread waited for, if it was blocked and that is known.
    reason: Option<ReasonId>,
    /// Its callchain, if it was blocked and that was recorded.
    stack: StackId,
}

/// The index of the sum of blocked time.
const BLOCKED: usize = 3;

fn index(stretch: &ThreadStretch) -> Option<usize> {
    match (stretch.state, stretch.reason) {
        (ThreadState::Running, _) => Some(0),
        (ThreadState::Ready, reason) if reason.left_runnable() => Some(1),
        (ThreadState::Ready, _) => Some(2),
        (ThreadState::Blocked, _) => Some(BLOCKED),
        (ThreadState::Unknown | ThreadState::Exited, _) => None,
    }
}

impl Recent {
    pub(crate) fn push(&mut self, stretch: &ThreadStretch) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(Stretch { span: stretch.span, of: index(stretch), reason: None, stack: StackId::NONE });
    }

    /// Sets what the thread waits for in its last stretch, if that began at this time.
    pub(crate) fn waits_for(&mut self, at: Ns, reason: ReasonId) {
        if let Some(last) = self.0.back_mut().filter(|last| last.span.start == at) {
            last.reason = Some(reason);
        }
    }

    /// Sets the callchain of its last stretch, if that began at this time.
    pub(crate) fn waits_at(&mut self, at: Ns, stack: StackId) {
        if let Some(last) = self.0.back_mut().filter(|last| last.span.start == at) {
            last.stack = stack;
        }
    }

    fn within(&self, time: Span) -> impl Iterator<Item = (Stretch, Ns)> {
        let last = self.0.iter().rev().take_while(move |stretch| stretch.span.end > time.start);
        last.filter_map(move |stretch| Some((*stretch, stretch.span.overlap(time)?.len())))
    }

    /// Returns its state times within a past span: running, ready after it left its CPU in a runnable state, ready for any other reason,
    /// and blocked.
    pub(crate) fn during(&self, time: Span) -> [Ns; 4] {
        let mut sums = [Ns::ZERO; 4];
        for (stretch, length) in self.within(time) {
            if let Some(sum) = stretch.of.and_then(|of| sums.get_mut(of)) {
                *sum += length;
            }
        }
        sums
    }

    /// Returns what it waited for in its longest blocked stretch within a past span, if that is known, and with which callchain.
    pub(crate) fn waited_for(&self, time: Span) -> (Option<ReasonId>, StackId) {
        let blocked = self.within(time).filter(|(stretch, _)| stretch.of == Some(BLOCKED));
        let longest = blocked.max_by_key(|(_, length)| *length);
        longest.map_or((None, StackId::NONE), |(stretch, _)| (stretch.reason, stretch.stack))
    }
}
