//! From the end of a span back to its begin, from thread to thread.

use crate::Begins;
use model::{Ns, Reason, Span, ThreadKey, ThreadState, ThreadStretch, Tid};

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
        is_it && stretch.span.start < self.at && stretch.span.end > self.span.start
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
            waker: Tid::UNKNOWN,
            waker_thread: ThreadKey::UNKNOWN,
            exec: Ns::MIN,
            prio: i16::MIN,
        }
    }
}
