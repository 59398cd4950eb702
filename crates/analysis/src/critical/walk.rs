//! The walk from the end of a span back to its begin, from thread to thread.

use crate::Begins;
use model::{MaybeNs, Ns, Prio, Reason, Span, ThreadKey, ThreadState, ThreadStretch, Tid};
use rustc_hash::FxHashMap;

/// The thread at the end of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// This thread.
    Thread(ThreadKey),
    /// The last instance of this TID that began before the end.
    Tid(Tid),
}

/// A fold over threads' stretches, from the last to the first, that selects those on the path.
///
/// The path only goes back in time: from a wakeup it goes to what the waker did before that instant. So two threads
/// that woke each other at one instant cause no loop.
///
/// An interrupt that ended the wait of a waker is not followed to what the waker did before: it had slept until then. The
/// path goes on with the thread from which it came to that waker: with what it did, or with the rest of its own wait:
///
/// ```text
///   A   run                 │ wait ▲ run        A   run │ wait                 ▲ run
///   W   sleep         │ run        ┘            W   sleep         │ run        ┘
///                     ▲ interrupt                                 ▲ interrupt
///   path   A's run    │ W's run    │ A's run        A's run │ wait│ W's run    │ A's run
/// ```
#[derive(Clone, Debug)]
pub struct Walk {
    span: Span,
    who: End,
    tid: Tid,
    /// The path before this time is not known yet.
    at: Ns,
    /// The thread that ended the wait that comes next, if any.
    ended_by: ThreadKey,
    /// The threads from which the path went to their wakers, the last one last; each of them once.
    left: Vec<ThreadKey>,
    /// When the waits of those threads began; `None`: before all stretches so far.
    waits: FxHashMap<ThreadKey, Option<Ns>>,
    /// Whether an interrupt woke the thread of the path at `at`, while the thread that the path left last waited.
    is_interrupted: bool,
    /// The thread that an interrupt woke at `at`, its TID and the waker, if the path went back from it.
    went_back: Option<(ThreadKey, Tid, ThreadKey)>,
}

impl Walk {
    /// Starts at the end of a span.
    #[must_use]
    pub fn new(span: Span, end: End) -> Self {
        Self {
            span,
            who: end,
            tid: Tid::UNKNOWN,
            at: span.end,
            ended_by: ThreadKey::UNKNOWN,
            left: Vec::new(),
            waits: FxHashMap::default(),
            is_interrupted: false,
            went_back: None,
        }
    }

    /// Returns whether a stretch is on the path. Such a stretch may be taken in pieces, the last one first; the caller
    /// asks about every stretch, and about each piece.
    #[must_use]
    #[inline]
    pub fn wants(&mut self, stretch: &ThreadStretch) -> bool {
        if stretch.state == ThreadState::Blocked
            && !self.left.is_empty()
            && let Some(waits) = self.waits.get_mut(&stretch.thread)
        {
            *waits = waits.or(Some(stretch.span.start));
            if self.is_back(stretch) && stretch.span.start >= self.at {
                // It began to wait at this instant.
                if let End::Thread(woken) = self.who {
                    self.went_back = Some((woken, self.tid, self.ended_by));
                }
                self.ended_by = ThreadKey::UNKNOWN;
                self.goes_to(End::Thread(stretch.thread), Tid::UNKNOWN);
            }
        }
        if stretch.reason == Reason::New
            && stretch.span.start >= self.at
            && matches!(self.who, End::Thread(who) if who == stretch.thread)
            && let Some((woken, tid, waker)) = self.went_back.take()
        {
            // The thread to which the path went back began at this instant, too.
            self.is_woken_by_interrupt(woken, tid, waker);
        }
        if stretch.reason == Reason::New && self.waits.remove(&stretch.thread).is_some() {
            // Before it began, it did nothing that the path could go back to.
            self.is_interrupted &= self.left.last() != Some(&stretch.thread);
            self.left.retain(|left| *left != stretch.thread);
        }
        let is_it = match self.who {
            End::Thread(thread) => stretch.thread == thread || self.is_back(stretch),
            End::Tid(tid) => stretch.tid == tid,
        };
        // An empty stretch, which only a damaged folder has, would lead nowhere.
        is_it && stretch.span.start < self.at && stretch.span.end > self.span.start && !stretch.span.is_empty()
    }

    /// Returns whether a stretch is the wait from which the path came to the thread that an interrupt woke at `at`.
    fn is_back(&self, stretch: &ThreadStretch) -> bool {
        self.is_interrupted && stretch.state == ThreadState::Blocked && self.left.last() == Some(&stretch.thread)
    }

    /// Takes a wanted stretch. `begins`: whether the stretch began with this piece. `each` gets the stretches on the
    /// path, from the last to the first, with their true begin, which may be before the span.
    pub fn take(&mut self, stretch: &ThreadStretch, begins: Begins, mut each: impl FnMut(&ThreadStretch)) {
        if let (true, End::Thread(waker)) = (self.is_back(stretch), self.who) {
            self.ended_by = waker;
        }
        self.went_back = None;
        if stretch.span.end < self.at {
            // After the end of the thread instance, or of its known part.
            each(&self.unknown_of(stretch.span.end, stretch.thread, stretch.tid));
            self.at = stretch.span.end;
        }
        self.goes_to(End::Thread(stretch.thread), stretch.tid);
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
        if woken && waker_thread > ThreadKey::IDLE {
            self.goes_to(End::Thread(waker_thread), Tid::UNKNOWN);
            // Before it began, it did nothing that the path could go back to.
            if stretch.reason != Reason::New && stretch.thread != waker_thread {
                self.left.push(stretch.thread);
                self.waits.insert(stretch.thread, None);
            }
        } else if woken {
            self.is_woken_by_interrupt(stretch.thread, stretch.tid, waker_thread);
        }
    }

    /// An interrupt woke the thread of the path at `at`: the path goes back to the thread that it left last, if that did not wait yet.
    fn is_woken_by_interrupt(&mut self, woken: ThreadKey, tid: Tid, waker: ThreadKey) {
        match self.left.last().map(|thread| (*thread, self.waits.get(thread))) {
            Some((thread, Some(Some(_)))) => {
                self.goes_to(End::Thread(thread), Tid::UNKNOWN);
                self.went_back = Some((woken, tid, waker));
            }
            back => {
                let is_interrupted = back.is_some();
                (self.who, self.tid) = (End::Thread(woken), tid);
                (self.ended_by, self.is_interrupted) = (waker, is_interrupted);
            }
        }
    }

    /// Sets the thread of the path. If the path had left it, all that it left since belongs to a later time.
    fn goes_to(&mut self, who: End, tid: Tid) {
        (self.who, self.tid, self.is_interrupted) = (who, tid, false);
        let End::Thread(thread) = who else { return };
        if self.waits.contains_key(&thread) {
            while let Some(left) = self.left.pop() {
                self.waits.remove(&left);
                if left == thread {
                    break;
                }
            }
        }
    }

    /// Returns whether the begin of the span is reached.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.at <= self.span.start
    }

    /// Ends the walk. Returns the rest of the span, if no stretch of the thread covers it.
    ///
    /// # Errors
    /// The requested TID has no thread in this span.
    pub fn finish(&self) -> Result<Option<ThreadStretch>, Tid> {
        match self.who {
            _ if self.is_done() => Ok(None),
            End::Thread(thread) => Ok(Some(self.unknown(self.span.start, thread))),
            End::Tid(tid) => Err(tid),
        }
    }

    fn unknown(&self, from: Ns, thread: ThreadKey) -> ThreadStretch {
        self.unknown_of(from, thread, self.tid)
    }

    fn unknown_of(&self, from: Ns, thread: ThreadKey, tid: Tid) -> ThreadStretch {
        ThreadStretch {
            span: Span::new(from, self.at),
            thread,
            tid,
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

    /// Events were lost while the thread was ready, so that time is unknown. The path goes to the waker where the whole
    /// stretch began, not where its last piece does.
    #[test]
    fn only_the_first_piece_of_a_stretch_has_a_wakeup() {
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

    /// Thread 1 asks 2, which an interrupt had woken before 1 began. Until then, 2 waited.
    #[test]
    fn the_path_does_not_go_back_to_a_thread_before_it_began() {
        let mut walk = Walk::new(Span::new(Ns(0), Ns(50)), End::Tid(Tid(1)));
        let mut path = Vec::new();
        let new = ThreadStretch { reason: Reason::New, ..stretch(1, 20, 25, ThreadState::Ready, 3) };
        let stretches = [
            stretch(1, 41, 50, ThreadState::Running, -1),
            stretch(1, 40, 41, ThreadState::Ready, 2),
            stretch(1, 30, 40, ThreadState::Blocked, -1),
            stretch(1, 25, 30, ThreadState::Running, -1),
            new,
            stretch(2, 15, 40, ThreadState::Running, -1),
            stretch(2, 10, 15, ThreadState::Ready, 0),
            stretch(2, 0, 10, ThreadState::Blocked, -1),
        ];
        for piece in stretches {
            if walk.wants(&piece) {
                walk.take(&piece, Begins::Here, |s| path.push((s.thread.0, s.span.start.0, s.span.end.0)));
            }
        }
        assert_eq!(path, [(1, 41, 50), (1, 40, 41), (2, 15, 40), (2, 10, 15), (2, 0, 10)]);
        assert_eq!(walk.finish(), Ok(None));
    }

    /// The same, and 1 begins at the instant at which the interrupt wakes 2. Of two stretches that begin at one instant, either may come first.
    #[test]
    fn the_path_does_not_go_back_to_a_thread_that_begins_at_the_same_instant() {
        let new = ThreadStretch { reason: Reason::New, ..stretch(1, 10, 25, ThreadState::Ready, 3) };
        let woken = stretch(2, 10, 15, ThreadState::Ready, 0);
        for both in [[new, woken], [woken, new]] {
            let mut walk = Walk::new(Span::new(Ns(0), Ns(50)), End::Tid(Tid(1)));
            let mut path = Vec::new();
            let mut stretches = vec![
                stretch(1, 41, 50, ThreadState::Running, -1),
                stretch(1, 40, 41, ThreadState::Ready, 2),
                stretch(1, 30, 40, ThreadState::Blocked, -1),
                stretch(1, 25, 30, ThreadState::Running, -1),
                stretch(2, 15, 40, ThreadState::Running, -1),
            ];
            stretches.extend(both);
            stretches.push(stretch(2, 0, 10, ThreadState::Blocked, -1));
            for piece in stretches {
                if walk.wants(&piece) {
                    walk.take(&piece, Begins::Here, |s| path.push((s.thread.0, s.span.start.0, s.waker_thread.0)));
                }
            }
            assert_eq!(path, [(1, 41, -1), (1, 40, 2), (2, 15, -1), (2, 10, 0), (2, 0, 0)]);
            assert_eq!(walk.finish(), Ok(None));
        }
    }

    /// 1 waits for 3, which 2 creates after an interrupt woke it. The path goes back to the wait of 1, not to 3.
    #[test]
    fn the_path_does_not_go_back_to_a_thread_that_was_created_on_it() {
        let mut walk = Walk::new(Span::new(Ns(0), Ns(50)), End::Tid(Tid(1)));
        let mut path = Vec::new();
        let new = ThreadStretch { reason: Reason::New, ..stretch(3, 20, 25, ThreadState::Ready, 2) };
        let stretches = [
            stretch(1, 40, 50, ThreadState::Ready, 3),
            stretch(3, 25, 45, ThreadState::Running, -1),
            new,
            stretch(2, 15, 30, ThreadState::Running, -1),
            stretch(2, 10, 15, ThreadState::Ready, 0),
            stretch(1, 5, 40, ThreadState::Blocked, -1),
            stretch(2, 0, 10, ThreadState::Blocked, -1),
            stretch(1, 0, 5, ThreadState::Running, -1),
        ];
        for piece in stretches {
            if walk.wants(&piece) {
                walk.take(&piece, Begins::Here, |s| path.push((s.thread.0, s.span.start.0, s.span.end.0)));
            }
        }
        assert_eq!(path, [(1, 40, 50), (3, 25, 40), (3, 20, 25), (2, 15, 20), (2, 10, 15), (1, 5, 10), (1, 0, 5)]);
        assert_eq!(walk.finish(), Ok(None));
    }

    #[test]
    fn a_tid_without_a_thread_is_an_error() {
        let mut walk = Walk::new(Span::new(Ns(10), Ns(40)), End::Tid(Tid(1)));
        assert!(!walk.wants(&stretch(2, 10, 40, ThreadState::Running, -1)));
        assert!(!walk.wants(&stretch(1, 0, 10, ThreadState::Running, -1)), "the instance had ended");
        assert_eq!(walk.finish(), Err(Tid(1)));
        let run = stretch(1, 0, 20, ThreadState::Running, -1);
        assert!(walk.wants(&run));
        let mut path = Vec::new();
        walk.take(&run, Begins::Here, |s| path.push((s.span.start.0, s.span.end.0, s.state)));
        assert_eq!(path, [(20, 40, ThreadState::Unknown), (0, 20, ThreadState::Running)]);
        assert_eq!(walk.finish(), Ok(None));
    }
}
