//! From the end of a span back to its begin, from thread to thread.

use crate::Begins;
use model::{MaybeNs, Ns, Prio, Reason, Span, ThreadKey, ThreadState, ThreadStretch, Tid};

/// Whose end counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// This thread's.
    Thread(ThreadKey),
    /// That of the last life of this number that began before the end.
    Tid(Tid),
}

/// A fold over threads' stretches from the last to the first, to those that are on the path.
///
/// The path only ever goes back in time: from a waking it goes to what the waker did before that instant, so two threads that
/// woke each other in one instant lead nowhere twice.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    span: Span,
    who: End,
    tid: Tid,
    /// What was before is not on the path yet.
    at: Ns,
    /// Who ended the wait that comes next, if one does.
    ended_by: ThreadKey,
}

impl Walk {
    /// Back from the end of a span.
    #[must_use]
    pub fn new(span: Span, end: End) -> Self {
        Self { span, who: end, tid: Tid::UNKNOWN, at: span.end, ended_by: ThreadKey::UNKNOWN }
    }

    /// Whether a stretch holds what comes next. A whole one that does may be taken in pieces, the last one first; each of them
    /// is asked about as well.
    #[must_use]
    #[inline]
    pub fn wants(&self, stretch: &ThreadStretch) -> bool {
        let is_it = match self.who {
            End::Thread(thread) => stretch.thread == thread,
            End::Tid(tid) => stretch.tid == tid,
        };
        // An empty one, as only a damaged folder has, would lead nowhere.
        is_it && stretch.span.start < self.at && stretch.span.end > self.span.start && !stretch.span.is_empty()
    }

    /// Takes one that it wants. `begins`: whether the stretch began with this piece. `each` gets what is on the path, from the
    /// last to the first, with its true begin, which may lie before the span.
    pub fn take(&mut self, stretch: &ThreadStretch, begins: Begins, mut each: impl FnMut(&ThreadStretch)) {
        (self.who, self.tid) = (End::Thread(stretch.thread), stretch.tid);
        if stretch.span.end < self.at {
            // Behind the end of its life, or of what anybody knows of it.
            each(&self.unknown(stretch.span.end, stretch.thread));
            self.at = stretch.span.end;
        }
        let woken = stretch.state == ThreadState::Ready
            && matches!(stretch.reason, Reason::Woken | Reason::New)
            && begins == Begins::Here;
        let waker_thread = match stretch.state {
            ThreadState::Ready if woken => stretch.waker_thread,
            ThreadState::Blocked => self.ended_by,
            _ => ThreadKey::UNKNOWN,
        };
        each(&ThreadStretch { span: Span::new(stretch.span.start, self.at), waker_thread, ..*stretch });
        self.at = stretch.span.start;
        self.ended_by = ThreadKey::UNKNOWN;
        if woken && waker_thread.0 > ThreadKey::IDLE.0 {
            (self.who, self.tid) = (End::Thread(waker_thread), Tid::UNKNOWN);
        } else if woken {
            self.ended_by = waker_thread;
        }
    }

    /// Whether the begin of the span is reached.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.at <= self.span.start
    }

    /// There are no more stretches; what is left of the span, which no stretch of the thread tells.
    ///
    /// # Errors
    /// The number that was given is no thread's here.
    pub fn finish(self) -> Result<Option<ThreadStretch>, Tid> {
        match self.who {
            _ if self.is_done() => Ok(None),
            End::Thread(thread) => Ok(Some(self.unknown(self.span.start, thread))),
            End::Tid(tid) => Err(tid),
        }
    }

    fn unknown(&self, from: Ns, thread: ThreadKey) -> ThreadStretch {
        ThreadStretch {
            span: Span::new(from, self.at),
            thread,
            tid: self.tid,
            state: ThreadState::Unknown,
            reason: Reason::None,
            cpu: None,
            waker_thread: ThreadKey::UNKNOWN,
            exec: MaybeNs::NONE,
            prio: Prio::UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CpuId;

    fn stretch(thread: i64, start: i64, end: i64, state: ThreadState, waker: i64) -> ThreadStretch {
        ThreadStretch {
            span: Span::new(Ns(start), Ns(end)),
            thread: ThreadKey(thread),
            tid: Tid(thread as i32),
            state,
            reason: if state == ThreadState::Ready { Reason::Woken } else { Reason::None },
            cpu: Some(CpuId(0)),
            waker_thread: ThreadKey(waker),
            exec: MaybeNs::NONE,
            prio: Prio::new(120),
        }
    }

    /// Events were lost while the thread was ready, and that time is to be unknown: the path leaves for the waker where the
    /// whole stretch began, not where its last piece does.
    #[test]
    fn of_a_stretch_in_pieces_only_the_first_was_woken() {
        let mut walk = Walk::new(Span::new(Ns(0), Ns(40)), End::Tid(Tid(1)));
        let mut path = Vec::new();
        let pieces = [
            (stretch(1, 30, 40, ThreadState::Ready, 2), Begins::Before),
            (stretch(1, 20, 30, ThreadState::Unknown, 2), Begins::Before),
            (stretch(1, 10, 20, ThreadState::Ready, 2), Begins::Here),
            (stretch(1, 0, 10, ThreadState::Blocked, -1), Begins::Here),
            (stretch(2, 5, 15, ThreadState::Running, -1), Begins::Here),
        ];
        for (piece, begins) in pieces {
            if walk.wants(&piece) {
                walk.take(&piece, begins, |s| path.push((s.thread.0, s.span.start.0, s.span.end.0, s.waker_thread.0)));
            }
        }
        assert_eq!(path, [(1, 30, 40, -1), (1, 20, 30, -1), (1, 10, 20, 2), (2, 5, 10, -1)]);
        let rest = walk.finish().map(|rest| rest.map(|s| (s.thread.0, s.span.end.0, s.state)));
        assert_eq!(rest, Ok(Some((2, 5, ThreadState::Unknown))));
    }

    #[test]
    fn a_number_that_nobody_has_is_told() {
        let mut walk = Walk::new(Span::new(Ns(10), Ns(40)), End::Tid(Tid(1)));
        assert!(!walk.wants(&stretch(2, 10, 40, ThreadState::Running, -1)));
        assert!(!walk.wants(&stretch(1, 0, 10, ThreadState::Running, -1)), "it was over by then");
        assert_eq!(walk.finish(), Err(Tid(1)));
        let life = stretch(1, 0, 20, ThreadState::Running, -1);
        assert!(walk.wants(&life));
        let mut path = Vec::new();
        walk.take(&life, Begins::Here, |s| path.push((s.span.start.0, s.span.end.0, s.state)));
        assert_eq!(path, [(20, 40, ThreadState::Unknown), (0, 20, ThreadState::Running)]);
        assert_eq!(walk.finish(), Ok(None));
    }
}
