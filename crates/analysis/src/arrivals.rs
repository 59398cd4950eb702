//! When threads arrive: they wait, after they had something to do.

use crate::by_thread::ByThread;
use crate::waited_for::Object;
use model::{Ns, ThreadKey, ThreadState};
use std::collections::BTreeMap;

/// A thread that is woken, but waits again before it ran for this long, had nothing to do.
pub(crate) const MIN_RUN: Ns = Ns(20_000);
/// A thread that wakes several others does so within this time, or for another reason.
pub(crate) const MAX_GAP: Ns = Ns(200_000);

/// What is known of a thread.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    state: Option<ThreadState>,
    /// When that state began.
    since: Ns,
    /// When it last began to wait after it had run for [`MIN_RUN`].
    pub(crate) arrived: Ns,
    /// Its running time until then.
    ran_until_arrival: Ns,
    /// When it last began to wait, and its running time until then.
    waited: (Ns, Ns),
    /// The thread that woke it last, when, and its running time until then.
    woken: (ThreadKey, Ns, Ns),
    /// Its running and ready time until its state began.
    running: Ns,
    ready: Ns,
    /// The words for which it last waited until another thread woke it, and how many there were.
    words: [Option<Object>; WORDS],
    next_word: usize,
}

/// How many words are kept of each thread. A condition variable of glibc has two.
const WORDS: usize = 4;

impl Times {
    /// It waits for this word, which is no lock.
    pub(crate) fn waits_for(&mut self, word: Object) {
        if !self.words.contains(&Some(word)) {
            self.words[self.next_word % WORDS] = Some(word);
            self.next_word += 1;
        }
    }

    /// Whether both have waited for one word, as for a barrier. The two ends of a queue have one word each.
    pub(crate) fn shares_word(&self, other: &Self) -> bool {
        self.words.iter().flatten().any(|word| other.words.contains(&Some(*word)))
    }

    /// Handles the begin of a state.
    pub(crate) fn changes(&mut self, state: ThreadState, now: Ns) {
        (self.running, self.ready, self.state, self.since) = (self.running(now), self.ready(now), Some(state), now);
        if self.waits() {
            self.arrives(now);
        }
    }

    pub(crate) fn running(&self, now: Ns) -> Ns {
        match self.state {
            Some(ThreadState::Running) => self.running + (now - self.since),
            _ => self.running,
        }
    }

    pub(crate) fn ready(&self, now: Ns) -> Ns {
        match self.state {
            Some(ThreadState::Ready) => self.ready + (now - self.since),
            _ => self.ready,
        }
    }

    /// It begins to wait.
    pub(crate) fn arrives(&mut self, now: Ns) {
        let ran = self.running(now);
        self.waited = (now, ran);
        if ran - self.ran_until_arrival >= MIN_RUN {
            (self.arrived, self.ran_until_arrival) = (now, ran);
        }
    }

    pub(crate) fn is(&self, state: ThreadState) -> bool {
        self.state == Some(state)
    }

    pub(crate) fn waits(&self) -> bool {
        matches!(self.state, Some(ThreadState::Blocked | ThreadState::Exited))
    }

    /// Whether it ran so little since it arrived, after `start`, that it is about to wait again.
    pub(crate) fn is_about_to_wait(&self, start: Ns, now: Ns) -> bool {
        let (at, ran) = self.waited;
        at >= start && self.running(now) - ran < MIN_RUN
    }

    pub(crate) fn is_woken(&mut self, waker: ThreadKey, now: Ns) {
        self.woken = (waker, now, self.running(now));
    }

    /// Whether this thread has just woken it.
    pub(crate) fn was_woken_by(&self, waker: ThreadKey, now: Ns) -> bool {
        let (by, at, _) = self.woken;
        by == waker && now - at <= MAX_GAP
    }

    /// The same, if it has done nothing yet.
    pub(crate) fn is_woken_by(&self, waker: ThreadKey, now: Ns) -> bool {
        self.was_woken_by(waker, now) && self.running(now) - self.woken.2 < MIN_RUN
    }

    pub(crate) fn has_arrived(&self, start: Ns, now: Ns) -> bool {
        self.waits() || self.is_about_to_wait(start, now)
    }

    /// How long it has waited, if it waits.
    pub(crate) fn waited(&self, now: Ns) -> Ns {
        if self.waits() { now - self.since } else { Ns::ZERO }
    }
}

/// A region that may be under way: since a thread released others.
#[derive(Clone)]
pub(crate) struct Open {
    pub(crate) start: Ns,
    /// The running and ready time of the thread that released the others, at the begin.
    pub(crate) own: [Ns; 2],
    /// The released threads, with their running and ready time when they were first released.
    pub(crate) released: BTreeMap<ThreadKey, [Ns; 2]>,
    /// When the last of them was first released.
    pub(crate) last: Ns,
    /// When the thread that released them first waited after all of them had arrived.
    pub(crate) waits: Option<Ns>,
    /// The region is over; the next one has not begun.
    pub(crate) is_over: bool,
    /// The thread that released them waited, and was woken while they still worked: what it releases next is for another region.
    pub(crate) is_stale: bool,
    /// Which of them woke it before all had arrived, and when.
    pub(crate) woken: Option<(ThreadKey, Ns)>,
}

impl Open {
    /// A region that nothing was released for yet; `own`: see [`Open::own`].
    pub(crate) fn new(start: Ns, own: [Ns; 2]) -> Self {
        Self {
            start,
            own,
            released: BTreeMap::new(),
            last: start,
            waits: None,
            is_over: false,
            is_stale: false,
            woken: None,
        }
    }

    pub(crate) fn have_arrived(&self, except: ThreadKey, times: &mut ByThread<Times>, now: Ns) -> bool {
        self.released.keys().all(|thread| *thread == except || times.of(*thread).has_arrived(self.start, now))
    }

    /// The only thread that was released.
    pub(crate) fn single(&self) -> Option<ThreadKey> {
        self.released.keys().next().copied().filter(|_| self.released.len() == 1)
    }
}
