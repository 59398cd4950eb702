//! What a server's thread works on: from the waking that brings a request to the wakings that answer it.
//!
//! ```text
//!   server  wait │▲ run              ▼ ▼  run         ▼  │ wait      A and B asked and are answered together, then A again: its
//!   A       run ▼│ wait              ▲ run  │ wait    ▲              second request came while the server ran, so no waking
//!   B       run   │ wait               ▲ run                         brought it
//!                 └────── turn ──────┘ └───── turn ───┘
//! ```

use model::{Ns, ThreadKey};

/// The maximum running time between two answers of one turn, as servers write several in a loop. It is also at most half of the work until
/// the first of them, so that short requests stay apart.
const GAP: Ns = Ns(25_000);
/// After long work the gap may be longer: up to this part (1/20) of the work,
const GAP_PART: i64 = 20;
/// and up to this time.
const MAX_GAP: Ns = Ns(100_000);

/// The state times of a thread: running, ready, blocked, unknown.
pub(crate) type Times = [Ns; 4];

/// An instant of a thread: the time, and its state times until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instant {
    pub(crate) at: Ns,
    pub(crate) times: Times,
}

/// The work on one request, or on several that are answered together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// When it began; `None`: before the recording.
    pub(crate) start: Option<Ns>,
    /// The thread whose waking brought the request; [`ThreadKey::UNKNOWN`]: none did, or an interrupt.
    pub(crate) asker: ThreadKey,
    /// When this thread began to work on it: later than `start` if another one handed it over.
    pub(crate) own: Instant,
    /// The running time until the first answer, and the last answer.
    answered: Option<(Ns, Instant)>,
}

impl Turn {
    /// A turn that began at `start`, and for this thread at `own`.
    pub(crate) fn new(start: Option<Ns>, asker: ThreadKey, own: Instant) -> Self {
        Self { start, asker, own, answered: None }
    }

    /// Whether the thread did nothing but end its turn since its last answer. `running`: its running time until now.
    fn ends(&self, running: Ns) -> bool {
        self.answered.is_some_and(|(first, last)| {
            let work = (first - self.own.times[0]).0;
            running - last.times[0] <= GAP.min(Ns(work / 2)).max(MAX_GAP.min(Ns(work / GAP_PART)))
        })
    }

    /// The work since the last answer, if it is more than the end of the turn.
    pub(crate) fn after(&self, running: Ns) -> Option<Self> {
        match self.answered {
            Some(_) if self.ends(running) => None,
            Some((_, last)) => Some(Self::new(Some(last.at), ThreadKey::UNKNOWN, last)),
            None => Some(*self),
        }
    }

    /// Handles an answer. Returns whether it begins another turn, which began with the last answer.
    pub(crate) fn answers(&mut self, now: Instant) -> bool {
        let is_next = self.answered.is_some() && !self.ends(now.times[0]);
        if is_next && let Some(next) = self.after(now.times[0]) {
            *self = next;
        }
        let first = self.answered.map_or(now.times[0], |(first, _)| first);
        self.answered = Some((first, now));
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread runs all the time, µs.
    fn at(us: i64) -> Instant {
        Instant { at: Ns(us * 1000), times: [Ns(us * 1000), Ns::ZERO, Ns::ZERO, Ns::ZERO] }
    }

    /// The begins of the turns of answers at these times, of a thread that was woken at 0.
    fn begins(answers: &[i64]) -> Vec<i64> {
        let mut turn = Turn::new(Some(Ns::ZERO), ThreadKey(1), at(0));
        let begin = |answer: &i64| {
            turn.answers(at(*answer));
            turn.start.map_or(-1, |start| start.0 / 1000)
        };
        answers.iter().map(begin).collect()
    }

    #[test]
    fn answers_written_in_a_loop_belong_to_one_turn() {
        assert_eq!(begins(&[500, 510, 530, 780, 790, 1300]), [0, 0, 0, 530, 530, 790]);
    }

    #[test]
    fn small_requests_are_told_apart() {
        assert_eq!(begins(&[8, 16, 24, 26]), [0, 8, 16, 16]);
    }

    #[test]
    fn a_loop_is_as_long_as_its_work() {
        assert_eq!(begins(&[2000, 2090, 2180]), [0, 0, 0]);
        assert_eq!(begins(&[500, 590]), [0, 500]);
        assert_eq!(begins(&[9000, 9110]), [0, 9000]);
    }

    #[test]
    fn a_turn_is_over_with_its_answer() {
        let mut turn = Turn::new(Some(Ns::ZERO), ThreadKey(1), at(0));
        assert_eq!(turn.after(Ns(400_000)).and_then(|turn| turn.start), Some(Ns::ZERO), "not answered");
        turn.answers(at(500));
        assert!(turn.after(Ns(520_000)).is_none());
        let next = turn.after(Ns(600_000)).map(|turn| (turn.start, turn.asker));
        assert_eq!(next, Some((Some(Ns(500_000)), ThreadKey::UNKNOWN)));
    }
}
