//! Finds parallel regions from wakeups and waits alone, in programs that mark nothing.
//!
//! A thread that wakes others of its process may release them for a region. The region is over when all of them have arrived, that is,
//! wait again, and either the last of them wakes the thread that released them, or that thread arrives last and releases them again:
//!
//! ```text
//!   A   run ▼ run    │ wait     │▲ run          A releases B and C, works too, and waits for the last one, C, which wakes it
//!   B   wait│ run │ wait        │┊              or
//!   C   wait│ run               │┊ wait         A arrives last: B and C wait, and A releases them for the next region
//!           └─────── region ────┘
//! ```
//!
//! If the thread that arrived last then waited for something else before it releases the others again, when it arrived is known only up to
//! that time. If that is more than a twentieth of the region, there is none.
//!
//! A region has two or more threads that ran for a notable part of it, so that the time in which one thread works between two
//! regions is none. If a thread releases a single other one, and never waits for it, the two are a pipeline.

use crate::by_thread::ByThread;
use model::{Ns, ThreadKey, ThreadState};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A thread is part of a region if it ran for at least this long in it,
const MIN_RUN: Ns = Ns(20_000);
/// and for at least this part (1/20) of its length.
const MIN_PART: i64 = 20;
/// All threads are released within this part (1/10) of the region.
const MAX_RELEASE: i64 = 10;
/// A single released thread is no pipeline if it was waited for in at least one of so many regions.
const WAITED_FOR: i64 = 8;
/// The maximum number of threads that one thread releases for a region.
const MAX_TEAM: usize = 4096;

/// What is known of a thread.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) state: Option<ThreadState>,
    /// When that state began.
    pub(crate) since: Ns,
    /// When its last wait began.
    waited: Ns,
    /// Its running and ready time until then.
    running: Ns,
    ready: Ns,
}

impl Times {
    fn running(&self, now: Ns) -> Ns {
        match self.state {
            Some(ThreadState::Running) => self.running + (now - self.since),
            _ => self.running,
        }
    }

    fn ready(&self, now: Ns) -> Ns {
        match self.state {
            Some(ThreadState::Ready) => self.ready + (now - self.since),
            _ => self.ready,
        }
    }

    fn has_arrived(&self) -> bool {
        matches!(self.state, Some(ThreadState::Blocked | ThreadState::Exited))
    }
}

/// A region that may be under way: since a thread released others.
#[derive(Clone)]
struct Open {
    start: Ns,
    /// The running and ready time of the thread that released the others, at the begin.
    own: [Ns; 2],
    /// The released threads, with their running and ready time when they were first released.
    released: BTreeMap<ThreadKey, [Ns; 2]>,
    /// When the last of them was first released.
    last: Ns,
    /// When the thread that released them first waited after all of them had arrived.
    waits: Option<Ns>,
}

/// How often the regions of a thread that released a single other one ended.
#[derive(Clone, Copy, Default)]
struct Pair {
    waited: i64,
    released_again: i64,
}

/// A region that was found. It ends now.
pub(crate) struct Found {
    pub(crate) start: Ns,
    /// Each of its threads, with the time at which it arrived.
    pub(crate) arrivals: Vec<(ThreadKey, Ns)>,
    /// For how long the last one was ready in it.
    pub(crate) last_ready: Ns,
}

/// Follows all threads.
#[derive(Default)]
pub(crate) struct Detector {
    open: FxHashMap<ThreadKey, Open>,
    pairs: FxHashMap<(ThreadKey, ThreadKey), Pair>,
    /// When the last region of each process ended: regions do not overlap.
    ended: FxHashMap<i32, Ns>,
}

impl Detector {
    /// Handles the begin of a thread's state; `times` has that of the state before, and is changed to the new one.
    pub(crate) fn changes(times: &mut ByThread<Times>, thread: ThreadKey, state: ThreadState, now: Ns) {
        let own = times.of(thread);
        let waited = if state == ThreadState::Blocked { now } else { own.waited };
        *own = Times { running: own.running(now), ready: own.ready(now), state: Some(state), since: now, waited };
    }

    /// Handles a wait that begins; `times` has the states before it.
    pub(crate) fn waits(&mut self, thread: ThreadKey, times: &mut ByThread<Times>, now: Ns) {
        let Some(open) = self.open.get_mut(&thread).filter(|open| open.waits.is_none()) else { return };
        if open.released.keys().all(|released| times.of(*released).has_arrived()) {
            open.waits = Some(now);
        }
    }

    /// Forgets what an ended thread released.
    pub(crate) fn exits(&mut self, thread: ThreadKey) {
        self.open.remove(&thread);
    }

    /// Handles a wakeup within a process; `times` has the states before it. Returns the region that it ends.
    pub(crate) fn wakes(
        &mut self,
        process: i32,
        waker: ThreadKey,
        woken: ThreadKey,
        times: &mut ByThread<Times>,
        now: Ns,
    ) -> Option<Found> {
        let joined = self.joins(waker, woken, times, now);
        let again = self.releases(waker, woken, times, now);
        let found = joined.or(again)?;
        let ended = self.ended.entry(process).or_insert(Ns(i64::MIN));
        (found.start >= *ended).then(|| {
            *ended = now;
            found
        })
    }

    /// The woken thread had released others and waited for them: the waker is the last of them.
    fn joins(&mut self, waker: ThreadKey, woken: ThreadKey, times: &mut ByThread<Times>, now: Ns) -> Option<Found> {
        let open = self.open.get(&woken)?;
        if times.of(woken).state != Some(ThreadState::Blocked) {
            return None;
        }
        // Others may have been woken just before, by the same thread.
        let is_in = |thread: &ThreadKey, times: &mut ByThread<Times>| {
            let of = times.of(*thread);
            *thread == waker || of.has_arrived() || of.since + MIN_RUN > now
        };
        let all = open.released.contains_key(&waker) && open.released.keys().all(|thread| is_in(thread, times));
        if !all {
            return None;
        }
        let open = self.open.remove(&woken)?;
        if let [(other, _)] = open.released.iter().collect::<Vec<_>>()[..] {
            self.pairs.entry((woken, *other)).or_default().waited += 1;
        }
        found(woken, &open, Some(waker), times, now)
    }

    /// The waker releases a thread. If all that it released before have arrived, it arrived last, and that region is over.
    fn releases(&mut self, waker: ThreadKey, woken: ThreadKey, times: &mut ByThread<Times>, now: Ns) -> Option<Found> {
        if times.of(woken).state != Some(ThreadState::Blocked) {
            return None;
        }
        let [own, released] = [waker, woken].map(|thread| [times.of(thread).running(now), times.of(thread).ready(now)]);
        let fresh = || Open { start: now, own, released: [(woken, released)].into(), last: now, waits: None };
        let Some(open) = self.open.get_mut(&waker) else {
            self.open.insert(waker, fresh());
            return None;
        };
        let all_arrived = open.released.keys().all(|thread| times.of(*thread).has_arrived());
        if !(all_arrived && open.released.contains_key(&woken)) {
            if open.released.len() < MAX_TEAM && !open.released.contains_key(&woken) {
                open.released.insert(woken, released);
                (open.last, open.waits) = (now, None);
            }
            return None;
        }
        let before = std::mem::replace(open, fresh());
        if before.waits.is_some_and(|waits| (now - waits).0 > (now - before.start).0 / MIN_PART) {
            return None;
        }
        if let [(other, _)] = before.released.iter().collect::<Vec<_>>()[..] {
            let pair = self.pairs.entry((waker, *other)).or_default();
            pair.released_again += 1;
            if pair.waited * WAITED_FOR < pair.released_again {
                return None;
            }
        }
        found(waker, &before, None, times, now)
    }
}

/// Returns the region, if two or more threads ran for a notable part of it. `last`: the thread that arrived last; `None`: the one that
/// released the others.
fn found(own: ThreadKey, open: &Open, last: Option<ThreadKey>, times: &mut ByThread<Times>, now: Ns) -> Option<Found> {
    let length = now - open.start;
    // Threads that are woken one after the other get their work so, as from a queue.
    if open.last - open.start > MIN_RUN.max(Ns(length.0 / MAX_RELEASE)) {
        return None;
    }
    let least = MIN_RUN.max(Ns(length.0 / MIN_PART));
    let own_last = last.unwrap_or(own);
    let (mut arrivals, mut last_ready) = (Vec::new(), Ns::ZERO);
    for (thread, [running, ready]) in open.released.iter().chain([(&own, &open.own)]) {
        let of = times.of(*thread);
        if of.running(now) - *running < least {
            continue;
        }
        let arrived = if *thread == own_last { now } else { of.waited.max(open.start) };
        if *thread == own_last {
            last_ready = of.ready(now) - *ready;
        }
        arrivals.push((*thread, arrived));
    }
    (arrivals.len() > 1).then_some(Found { start: open.start, arrivals, last_ready })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begin, end and the arrivals of a region, µs.
    type RegionTimes = (i64, i64, Vec<(i64, i64)>);

    /// Runs threads through `(time, thread, state or waker)` and returns the regions found: begin, end and arrivals.
    struct Run {
        detector: Detector,
        times: ByThread<Times>,
        found: Vec<RegionTimes>,
    }

    impl Run {
        fn new(threads: i64) -> Self {
            let mut run = Self { detector: Detector::default(), times: ByThread::new(), found: Vec::new() };
            (1..=threads).for_each(|thread| run.waits(thread, 0));
            run
        }

        fn state(&mut self, thread: i64, at: i64, state: ThreadState) {
            Detector::changes(&mut self.times, ThreadKey(thread), state, Ns(at * 1000));
        }

        fn waits(&mut self, thread: i64, at: i64) {
            self.detector.waits(ThreadKey(thread), &mut self.times, Ns(at * 1000));
            self.state(thread, at, ThreadState::Blocked);
        }

        fn runs(&mut self, thread: i64, at: i64) {
            self.state(thread, at, ThreadState::Running);
        }

        fn wakes(&mut self, waker: i64, woken: i64, at: i64) {
            let found = self.detector.wakes(7, ThreadKey(waker), ThreadKey(woken), &mut self.times, Ns(at * 1000));
            if let Some(found) = found {
                let arrivals = found.arrivals.iter().map(|(thread, arrived)| (thread.0, arrived.0 / 1000)).collect();
                self.found.push((found.start.0 / 1000, at, arrivals));
            }
            self.state(woken, at, ThreadState::Ready);
            self.runs(woken, at);
        }
    }

    #[test]
    fn a_thread_that_waits_for_those_it_released_ends_a_region() {
        let mut run = Run::new(3);
        run.runs(1, 0);
        run.wakes(1, 2, 100);
        run.wakes(1, 3, 101);
        run.waits(2, 400);
        run.waits(1, 500);
        run.wakes(3, 1, 900);
        run.waits(3, 901);
        assert_eq!(run.found, [(100, 900, vec![(2, 400), (3, 900), (1, 500)])]);
    }

    #[test]
    fn a_thread_that_arrives_last_releases_the_others_for_the_next_region() {
        let mut run = Run::new(3);
        run.runs(1, 0);
        for start in [100, 1100] {
            run.wakes(1, 2, start);
            run.wakes(1, 3, start + 1);
            run.waits(2, start + 400);
            run.waits(3, start + 600);
        }
        assert_eq!(run.found, [(100, 1100, vec![(2, 500), (3, 700), (1, 1100)])]);
    }

    #[test]
    fn a_thread_that_waits_for_something_else_arrived_before_that() {
        let mut run = Run::new(3);
        run.runs(1, 0);
        // The first time shortly before it releases the others again, the second time long before.
        for (start, slept) in [(100, 1000), (1100, 1900), (3100, 4100)] {
            run.wakes(1, 2, start);
            run.wakes(1, 3, start + 1);
            run.waits(2, start + 400);
            run.waits(3, start + 600);
            run.waits(1, slept + 50);
            run.runs(1, slept + 60);
        }
        run.wakes(1, 2, 4200);
        let arrivals = |start| vec![(2, start + 400), (3, start + 600)];
        let region = |start, end| (start, end, [arrivals(start), vec![(1, end)]].concat());
        assert_eq!(run.found, [region(100, 1100), region(3100, 4200)]);
    }

    #[test]
    fn the_time_between_regions_is_none() {
        let mut run = Run::new(3);
        run.runs(1, 0);
        // The released threads find nothing to do: the first one works alone.
        for start in [100, 1100] {
            run.wakes(1, 2, start);
            run.wakes(1, 3, start + 1);
            run.waits(2, start + 5);
            run.waits(3, start + 5);
        }
        assert_eq!(run.found, []);
    }

    #[test]
    fn a_pipeline_is_no_region() {
        let mut run = Run::new(2);
        run.runs(1, 0);
        for piece in 1..50 {
            run.wakes(1, 2, piece * 1000);
            run.waits(2, piece * 1000 + 900);
        }
        assert_eq!(run.found, []);
    }
}
