//! Regions of threads, or processes, that are created for one piece of work each: they are over when all of them have ended.
//!
//! ```text
//!   A   run ▼▼ run │ wait              ▲ run      A creates B and C, and waits for the last of them to end
//!   B              run │ ended         ┊
//!   C              run │               ended
//!           └─────── region ───────────┘
//! ```
//!
//! A new thread often wakes its creator first, to say that it has started: that is no end of a region.

use crate::arrivals::{MAX_GAP, Open, Times};
use crate::by_thread::ByThread;
use crate::thread_pairs::Ended;
use model::{Ns, ThreadKey, ThreadState};
use rustc_hash::FxHashMap;

/// The maximum number of threads that one thread creates for a region.
const MAX_TEAM: usize = 4096;
/// A thread that creates several for a region creates the next one within this time.
const MAX_BETWEEN: Ns = Ns(10_000_000);

/// The threads that a thread created one after the other.
struct Team {
    creator: ThreadKey,
    open: Open,
    /// How many of them have not ended.
    living: usize,
}

/// The new threads of all processes that have not ended.
#[derive(Default)]
pub(crate) struct NewThreads {
    /// By number, in order of creation.
    teams: FxHashMap<u64, Team>,
    number: u64,
    /// The last team of each creator, and the team of each new thread.
    last_of: FxHashMap<ThreadKey, u64>,
    team_of: FxHashMap<ThreadKey, u64>,
}

impl NewThreads {
    /// Handles the creation of a thread.
    pub(crate) fn created(&mut self, [creator, thread]: [ThreadKey; 2], times: &mut ByThread<Times>, now: Ns) {
        let [own, of_new] =
            [creator, thread].map(|thread| [times.of(thread).running(now), times.of(thread).ready(now)]);
        let last = self.last_of.get(&creator).copied().filter(|last| {
            self.teams.get(last).is_some_and(|team| {
                let len = team.open.released.len();
                now - team.open.last <= MAX_BETWEEN && team.living == len && len < MAX_TEAM
            })
        });
        let number = last.unwrap_or_else(|| {
            self.number += 1;
            self.last_of.insert(creator, self.number);
            self.teams.insert(self.number, Team { creator, open: Open::new(now, own), living: 0 });
            self.number
        });
        if let Some(team) = self.teams.get_mut(&number)
            && team.open.released.insert(thread, of_new).is_none()
        {
            (team.open.last, team.living) = (now, team.living + 1);
            self.team_of.insert(thread, number);
        }
    }

    /// Handles the end of a thread. Returns the region that it ends: its creator waits for it, or did until now.
    pub(crate) fn exits(&mut self, thread: ThreadKey, times: &mut ByThread<Times>, now: Ns) -> Option<Ended> {
        self.last_of.remove(&thread);
        let number = self.team_of.remove(&thread)?;
        let team = self.teams.get_mut(&number)?;
        team.living -= 1;
        if team.living > 0 {
            return None;
        }
        let Team { creator, open, .. } = self.teams.remove(&number)?;
        // A creator that goes on with others, as a pool of jobs, does not wait for these.
        if self.last_of.get(&creator) != Some(&number) {
            return None;
        }
        let of = times.of(creator);
        // A thread wakes the one that waits for its end a moment before. A creator that has ended waits for none.
        let waited = of.is(ThreadState::Blocked) || of.was_woken_by(thread, now);
        waited.then_some(Ended { open, owner: creator, last: thread, waited: of.waited(now) })
    }

    /// Whether a thread was created just now by the other one.
    pub(crate) fn is_new(&self, thread: ThreadKey, creator: ThreadKey, now: Ns) -> bool {
        let team = self.team_of.get(&thread).and_then(|number| self.teams.get(number));
        team.is_some_and(|team| team.creator == creator && now - team.open.last <= MAX_GAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens to threads, with the time in ms.
    struct Run {
        new: NewThreads,
        times: ByThread<Times>,
    }

    impl Run {
        fn new() -> Self {
            let mut times = ByThread::<Times>::new();
            times.of(ThreadKey(1)).changes(ThreadState::Running, Ns(0));
            Self { new: NewThreads::default(), times }
        }

        fn creates(&mut self, thread: i64, at: i64) {
            self.new.created([ThreadKey(1), ThreadKey(thread)], &mut self.times, Ns(at * 1_000_000));
            self.state(thread, ThreadState::Running, at);
        }

        fn state(&mut self, thread: i64, state: ThreadState, at: i64) {
            self.times.of(ThreadKey(thread)).changes(state, Ns(at * 1_000_000));
        }

        /// Returns the begin of the region that is over, and how many threads were created for it.
        fn ends(&mut self, thread: i64, at: i64) -> Option<(i64, usize)> {
            let ended = self.new.exits(ThreadKey(thread), &mut self.times, Ns(at * 1_000_000))?;
            self.state(thread, ThreadState::Exited, at);
            Some((ended.open.start.0 / 1_000_000, ended.open.released.len()))
        }
    }

    #[test]
    fn a_region_ends_with_its_last_thread() {
        let mut run = Run::new();
        run.creates(2, 10);
        run.creates(3, 11);
        run.state(1, ThreadState::Blocked, 12);
        assert_eq!(run.ends(3, 20), None);
        assert_eq!(run.ends(2, 90), Some((10, 2)));
    }

    #[test]
    fn a_thread_of_before_that_lives_on_is_no_part_of_it() {
        let mut run = Run::new();
        run.creates(2, 10);
        for begin in [100, 200] {
            run.state(1, ThreadState::Running, begin);
            let thread = begin / 10;
            run.creates(thread, begin);
            run.creates(thread + 1, begin + 1);
            run.state(1, ThreadState::Blocked, begin + 2);
            assert_eq!(run.ends(thread, begin + 20), None);
            assert_eq!(run.ends(thread + 1, begin + 30), Some((begin, 2)));
        }
    }

    #[test]
    fn a_creator_that_works_on_waits_for_none() {
        let mut run = Run::new();
        run.creates(2, 10);
        run.creates(3, 11);
        assert_eq!(run.ends(3, 20), None);
        assert_eq!(run.ends(2, 90), None);
    }
}
