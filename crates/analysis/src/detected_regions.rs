//! Finds parallel regions from wakeups and waits alone, in programs that mark nothing.
//!
//! A thread that wakes or creates others of its process may release them for a region. The region is over when all of them have arrived,
//! that is, wait again, and either the last of them wakes the thread that released them, or that thread arrives last and releases them again:
//!
//! ```text
//!   A   run ▼ run    │ wait     │▲ run          A releases B and C, works too, and waits for the last one, C, which wakes it
//!   B   wait│ run │ wait        │┊              or
//!   C   wait│ run               │┊ wait         A arrives last: B and C wait, and A releases them for the next region
//!           └─────── region ────┘
//! ```
//!
//! A thread that is woken, but waits again before it ran for [`MIN_RUN`], has still arrived: some barriers wake all threads at the end, and
//! these then wait for the next region.
//!
//! If the thread that arrived last then waited for something else before it releases the others again, when it arrived is known only up to
//! that time. If that is more than a twentieth of the region, there is none.
//!
//! A region has two or more threads that ran for a notable part of it, so that the time in which one thread works between two
//! regions is none.
//!
//! Threads may also be created for one region: see [`crate::new_threads`].
//!
//! Where it is recorded what threads wait for, a wait for a lock, for time or for a device is no arrival, and its end is no release. Otherwise
//! it is known by its form only.
//!
//! Two threads also wake each other when they pass on a lock, or items of a pipeline: see [`crate::thread_pairs`].

use crate::arrivals::{MAX_GAP, MIN_RUN, Open, Times};
use crate::by_thread::ByThread;
use crate::new_threads::NewThreads;
use crate::thread_pairs::{Ended, Pairs, Undecided, went_on};
use model::{Ns, ThreadKey, ThreadState};
use rustc_hash::FxHashMap;

/// A thread is part of a region if it ran for [`MIN_RUN`] in it, and for at least this part (1/20) of its length.
pub(crate) const MIN_PART: i64 = 20;
/// All threads are released within this part (1/10) of the region.
const MAX_RELEASE: i64 = 10;
/// The maximum number of threads that one thread releases for a region.
const MAX_TEAM: usize = 4096;

/// A region that was found.
pub(crate) struct Found {
    pub(crate) start: Ns,
    /// Each of its threads, with the time at which it arrived.
    pub(crate) arrivals: Vec<(ThreadKey, Ns)>,
    /// For how long the last one was ready in it.
    pub(crate) last_ready: Ns,
    /// Whether all of them were seen to wait for one word, as for a barrier.
    pub(crate) shares_word: bool,
}

/// A region, and what the caller keeps of it.
pub(crate) struct Region<T> {
    pub(crate) start: Ns,
    pub(crate) end: Ns,
    pub(crate) what: T,
}

/// Follows all threads.
pub(crate) struct Detector<T> {
    open: FxHashMap<ThreadKey, Open>,
    /// The thread that released each thread last.
    released_by: FxHashMap<ThreadKey, ThreadKey>,
    new_threads: NewThreads,
    pairs: Pairs<T>,
}

impl<T> Default for Detector<T> {
    fn default() -> Self {
        Self {
            open: FxHashMap::default(),
            released_by: FxHashMap::default(),
            new_threads: NewThreads::default(),
            pairs: Pairs::default(),
        }
    }
}

impl<T> Detector<T> {
    /// Handles a wait that began. It may be the last arrival at a region's end, if the thread that released the others was woken just before.
    pub(crate) fn waits(
        &mut self,
        process: i32,
        thread: ThreadKey,
        times: &mut ByThread<Times>,
        now: Ns,
        keep: impl FnOnce(&Found) -> Option<T>,
    ) {
        if let Some(open) = self.open.get_mut(&thread).filter(|open| open.waits.is_none())
            && open.have_arrived(thread, times, now)
        {
            open.waits = Some(now);
        }
        self.pairs.decide(thread, times, &mut self.open, now, None);
        let Some(owner) = self.released_by.get(&thread).copied() else { return };
        let Some(open) = self.open.get_mut(&owner).filter(|open| !open.is_over && open.released.len() > 1) else {
            return;
        };
        let Some((last, _)) = open.woken.filter(|(_, at)| now - *at <= MAX_GAP) else { return };
        if open.released.contains_key(&thread) && open.have_arrived(owner, times, now) {
            open.is_over = true;
            let ended = Ended { open: open.clone(), owner, last, waited: Ns::ZERO };
            self.ends(process, ended, times, now, keep);
        }
    }

    /// Handles the creation of a thread or a process by another one, before [`Self::wakes`].
    pub(crate) fn created(&mut self, by_and_new: [ThreadKey; 2], times: &mut ByThread<Times>, now: Ns) {
        self.new_threads.created(by_and_new, times, now);
    }

    /// Handles the end of a thread, and forgets what it released. Returns what may be a region of new threads that is over.
    pub(crate) fn exits(&mut self, thread: ThreadKey, times: &mut ByThread<Times>, now: Ns) -> Option<Ended> {
        self.pairs.decide(thread, times, &mut self.open, now, None);
        self.open.remove(&thread);
        self.new_threads.exits(thread, times, now)
    }

    /// Adds it, if it is one; `process`: that of its owner.
    pub(crate) fn have_ended(
        &mut self,
        process: i32,
        ended: &Ended,
        times: &mut ByThread<Times>,
        now: Ns,
        keep: impl FnOnce(&Found) -> Option<T>,
    ) {
        let region = region(ended, times, now, keep);
        region.into_iter().for_each(|region| self.pairs.found(process, region, now));
    }

    /// Handles a wakeup within a process, also of a new thread, or of one that was about to wait; `times` has the states before it. `keep`: what
    /// to keep of a region that ends now.
    pub(crate) fn wakes(
        &mut self,
        process: i32,
        [waker, woken]: [ThreadKey; 2],
        times: &mut ByThread<Times>,
        now: Ns,
        keep: impl FnOnce(&Found) -> Option<T>,
    ) {
        if times.of(woken).is(ThreadState::Unknown) {
            return;
        }
        if times.of(woken).is(ThreadState::Running) {
            times.of(woken).arrives(now);
        }
        for thread in [waker, woken] {
            self.pairs.decide(thread, times, &mut self.open, now, Some([waker, woken]));
        }
        let ended = [self.joins([waker, woken], times, now), self.releases([waker, woken], times, now)];
        times.of(woken).is_woken(waker, now);
        if self.open.get(&waker).is_some_and(|open| open.released.contains_key(&woken)) {
            self.released_by.insert(woken, waker);
        }
        // Of two, the one that began first has the other one in it.
        let first =
            ended.into_iter().flatten().min_by_key(|ended| (found(ended, times, now).is_none(), ended.open.start));
        if let Some(ended) = first {
            self.ends(process, ended, times, now, keep);
        }
    }

    /// Handles the end of what may be a region.
    fn ends(
        &mut self,
        process: i32,
        ended: Ended,
        times: &mut ByThread<Times>,
        now: Ns,
        keep: impl FnOnce(&Found) -> Option<T>,
    ) {
        if self.new_threads.is_new(ended.last, ended.owner, now) {
            // A new thread wakes its creator to say that it has started.
            went_on(ended, &mut self.open);
            return;
        }
        let region = region(&ended, times, now, keep);
        match ended.open.single() {
            Some(other) => {
                let ran = [ended.owner, other].map(|thread| times.of(thread).running(now));
                self.pairs.watch(other, Undecided { process, ended, region, other, ran, at: now });
            }
            None => region.into_iter().for_each(|region| self.pairs.found(process, region, now)),
        }
    }

    /// Returns the regions that are certain now, in order of end, and up to when no other one will end. `is_end`: nothing follows.
    pub(crate) fn take(&mut self, times: &mut ByThread<Times>, now: Ns, is_end: bool) -> (Vec<Region<T>>, Ns) {
        self.pairs.take(times, &mut self.open, now, is_end)
    }

    /// The woken thread had released others and waited for them: the waker is the last of them.
    fn joins(&mut self, [waker, woken]: [ThreadKey; 2], times: &mut ByThread<Times>, now: Ns) -> Option<Ended> {
        let open = self.open.get_mut(&woken).filter(|open| !open.is_over)?;
        if !open.released.contains_key(&waker) {
            return None;
        }
        let is_in = |thread: &ThreadKey| {
            let of = times.of(*thread);
            *thread == waker || of.has_arrived(open.start, now) || of.is_woken_by(waker, now)
        };
        if !open.released.keys().all(is_in) {
            open.woken = Some((waker, now));
            open.is_stale |= times.of(woken).waited(now) >= MIN_RUN;
            return None;
        }
        open.is_over = true;
        Some(Ended { open: open.clone(), owner: woken, last: waker, waited: times.of(woken).waited(now) })
    }

    /// The waker releases a thread. If all that it released before have arrived, it arrived last, and that region is over.
    fn releases(&mut self, [waker, woken]: [ThreadKey; 2], times: &mut ByThread<Times>, now: Ns) -> Option<Ended> {
        let [own, released] = [waker, woken].map(|thread| [times.of(thread).running(now), times.of(thread).ready(now)]);
        let fresh = Open { released: [(woken, released)].into(), ..Open::new(now, own) };
        let Some(open) = self.open.get_mut(&waker) else {
            self.open.insert(waker, fresh);
            return None;
        };
        let is_new = open.is_over || open.is_stale;
        let have_arrived = is_new || open.have_arrived(woken, times, now);
        let is_again = is_new || open.released.contains_key(&woken) || now - open.last > MAX_GAP;
        if !(have_arrived && is_again) {
            if open.released.len() < MAX_TEAM && !open.released.contains_key(&woken) {
                open.released.insert(woken, released);
                (open.last, open.waits) = (now, None);
            }
            return None;
        }
        let mut before = std::mem::replace(open, fresh);
        // Threads that do not wait yet take part in the next region without being woken.
        for thread in before.released.keys().filter(|thread| **thread != woken) {
            let of = times.of(*thread);
            if of.is_about_to_wait(before.start, now) && !of.waits() {
                open.released.insert(*thread, [of.running(now), of.ready(now)]);
            }
        }
        let is_late = before.waits.is_some_and(|waits| (now - waits).0 > (now - before.start).0 / MIN_PART);
        if is_new || is_late || !before.released.contains_key(&woken) {
            return None;
        }
        before.waits = None;
        Some(Ended { open: before, owner: waker, last: waker, waited: times.of(woken).waited(now) })
    }
}

/// Returns the region and what the caller keeps of it, if it is one.
fn region<T>(
    ended: &Ended,
    times: &mut ByThread<Times>,
    now: Ns,
    keep: impl FnOnce(&Found) -> Option<T>,
) -> Option<Region<T>> {
    let found = found(ended, times, now)?;
    Some(Region { start: found.start, end: now, what: keep(&found)? })
}

/// Returns the threads of the region, if two or more ran for a notable part of it.
fn found(ended: &Ended, times: &mut ByThread<Times>, now: Ns) -> Option<Found> {
    let open = &ended.open;
    let length = now - open.start;
    // Threads that are woken one after the other get their work so, as from a queue.
    if open.last - open.start > MIN_RUN.max(Ns(length.0 / MAX_RELEASE)) {
        return None;
    }
    let least = MIN_RUN.max(Ns(length.0 / MIN_PART));
    let (mut arrivals, mut last_ready) = (Vec::new(), Ns::ZERO);
    for (thread, [running, ready]) in open.released.iter().chain([(&ended.owner, &open.own)]) {
        let of = times.of(*thread);
        if of.running(now) - *running < least {
            continue;
        }
        let arrived = if *thread == ended.last { now } else { of.arrived.max(open.start) };
        if *thread == ended.last {
            last_ready = of.ready(now) - *ready;
        }
        arrivals.push((*thread, arrived));
    }
    let first = arrivals.first().map(|(first, _)| *times.of(*first))?;
    let shares_word = arrivals.iter().skip(1).all(|(thread, _)| first.shares_word(times.of(*thread)));
    (arrivals.len() > 1).then_some(Found { start: open.start, arrivals, last_ready, shares_word })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waited_for::Object;
    use model::Pid;

    /// Begin, end and the arrivals of a region, µs.
    type RegionTimes = (i64, i64, Vec<(i64, i64)>);

    /// Each thread, and when it arrived, µs.
    fn arrivals(found: &Found) -> Vec<(i64, i64)> {
        found.arrivals.iter().map(|(thread, arrived)| (thread.0, arrived.0 / 1000)).collect()
    }

    /// Runs threads through `(time, thread, state or waker)` and returns the regions found: begin, end and arrivals.
    struct Run {
        detector: Detector<Vec<(i64, i64)>>,
        times: ByThread<Times>,
        now: Ns,
    }

    impl Run {
        fn new(threads: i64) -> Self {
            let mut run = Self { detector: Detector::default(), times: ByThread::new(), now: Ns::ZERO };
            (1..=threads).for_each(|thread| run.waits(thread, 0));
            run
        }

        fn state(&mut self, thread: i64, at: i64, state: ThreadState) {
            self.now = Ns(at * 1000);
            self.times.of(ThreadKey(thread)).changes(state, self.now);
        }

        fn waits(&mut self, thread: i64, at: i64) {
            self.state(thread, at, ThreadState::Blocked);
            let arrivals = |found: &Found| Some(arrivals(found));
            self.detector.waits(7, ThreadKey(thread), &mut self.times, self.now, arrivals);
        }

        fn runs(&mut self, thread: i64, at: i64) {
            self.state(thread, at, ThreadState::Running);
        }

        fn wakes(&mut self, waker: i64, woken: i64, at: i64) {
            let arrivals = |found: &Found| Some(arrivals(found));
            self.detector.wakes(7, [waker, woken].map(ThreadKey), &mut self.times, Ns(at * 1000), arrivals);
            self.state(woken, at, ThreadState::Ready);
            self.runs(woken, at);
        }

        fn found(mut self) -> Vec<RegionTimes> {
            let (found, _) = self.detector.take(&mut self.times, self.now, true);
            found.into_iter().map(|region| (region.start.0 / 1000, region.end.0 / 1000, region.what)).collect()
        }

        /// Begins and ends.
        fn spans(self) -> Vec<(i64, i64)> {
            self.found().into_iter().map(|(start, end, _)| (start, end)).collect()
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
        assert_eq!(run.found(), [(100, 900, vec![(2, 400), (3, 900), (1, 500)])]);
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
        assert_eq!(run.found(), [(100, 1100, vec![(2, 500), (3, 700), (1, 1100)])]);
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
        assert_eq!(run.found(), [region(100, 1100), region(3100, 4200)]);
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
        assert_eq!(run.found(), []);
    }

    #[test]
    fn all_threads_of_a_barrier_are_woken_at_its_end() {
        let mut run = Run::new(3);
        run.runs(1, 0);
        for start in [100, 2100] {
            run.wakes(1, 2, start);
            run.wakes(1, 3, start + 1);
            run.waits(1, start + 400);
            run.waits(2, start + 600);
            // The thread that released the others is woken last. They wait for the next region.
            run.wakes(3, 2, start + 900);
            run.wakes(3, 1, start + 910);
            run.waits(2, start + 912);
            run.waits(3, start + 915);
        }
        let region = |start| (start, start + 910, vec![(2, start + 600), (3, start + 910), (1, start + 400)]);
        assert_eq!(run.found(), [region(100), region(2100)]);
    }

    #[test]
    fn a_thread_may_arrive_when_the_first_one_is_woken_already() {
        let mut run = Run::new(4);
        run.runs(1, 0);
        (2..=4).for_each(|thread| run.wakes(1, thread, 100 + thread));
        run.waits(1, 400);
        run.waits(2, 600);
        // Thread 4 is about to wait.
        run.wakes(3, 1, 900);
        run.waits(4, 903);
        run.waits(3, 905);
        run.wakes(1, 2, 3000);
        assert_eq!(run.spans(), [(102, 905)]);
    }

    #[test]
    fn new_threads_are_released_by_the_one_that_creates_them() {
        let mut run = Run::new(1);
        run.runs(1, 0);
        run.wakes(1, 2, 100);
        run.wakes(1, 3, 130);
        run.waits(1, 800);
        run.waits(2, 900);
        run.wakes(3, 1, 1100);
        assert_eq!(run.spans(), [(100, 1100)]);
    }

    #[test]
    fn a_region_has_the_barriers_of_a_part_of_its_threads_in_it() {
        let mut run = Run::new(4);
        run.runs(1, 0);
        (2..=4).for_each(|thread| run.wakes(1, thread, 100 + thread));
        // Thread 3 waits for 2, which it had released.
        run.waits(3, 150);
        run.waits(2, 190);
        run.wakes(4, 3, 200);
        run.wakes(3, 2, 210);
        run.waits(3, 300);
        run.wakes(2, 3, 400);
        run.waits(2, 1000);
        run.waits(3, 1500);
        run.waits(1, 1600);
        run.wakes(4, 1, 2000);
        assert_eq!(run.spans(), [(102, 2000)]);
    }

    /// Thread 1 releases 2 ten times, which works for 900 of 1,000 µs. `between`: what happens then, from this time on.
    fn pair(between: impl Fn(&mut Run, i64)) -> Vec<(i64, i64)> {
        let mut run = Run::new(2);
        run.runs(1, 0);
        for start in (0..10).map(|n| 1000 + n * 2000) {
            run.wakes(1, 2, start);
            between(&mut run, start);
        }
        run.spans()
    }

    #[test]
    fn a_pipeline_is_no_region() {
        assert_eq!(pair(|run, start| run.waits(2, start + 900)), []);
    }

    /// Thread 1 never waits for the other one, but for the word for which that one waits, too.
    #[test]
    fn threads_that_wait_for_one_word_are_no_pipeline() {
        let word = Object::Word(Pid(7), 0x1000);
        let of = |words: [Object; 2]| {
            pair(|run, start| {
                for (thread, word) in [1, 2].into_iter().zip(words) {
                    run.times.of(ThreadKey(thread)).waits_for(word);
                }
                run.waits(2, start + 900);
            })
        };
        assert_eq!(of([word; 2])[..2], [(1000, 3000), (3000, 5000)]);
        assert_eq!(of([word, Object::Word(Pid(7), 0x2000)]), [], "both ends of a queue");
    }

    #[test]
    fn the_first_regions_of_a_pair_are_kept_until_it_is_known_to_be_no_pipeline() {
        // Thread 1 waits for the other one once.
        let found = pair(|run, start| {
            if start == 9000 {
                run.waits(1, start + 950);
                run.wakes(2, 1, start + 1000);
            }
            run.waits(2, start + 1010);
        });
        assert_eq!(found[..2], [(1000, 3000), (3000, 5000)]);
        // Thread 1 arrives last. The other one is woken then too, and finds nothing to do.
        let found = pair(|run, start| {
            run.waits(2, start + 900);
            run.wakes(1, 2, start + 1000);
            run.waits(2, start + 1005);
        });
        assert_eq!(found.len(), 10);
        assert_eq!(found[0], (1000, 2000));
    }

    #[test]
    fn a_short_wait_for_a_lock_ends_no_region() {
        let found = pair(|run, start| {
            run.waits(2, start + 300);
            run.wakes(1, 2, start + 304);
            run.waits(1, start + 500);
            run.wakes(2, 1, start + 503);
            run.waits(1, start + 900);
            run.wakes(2, 1, start + 1000);
            run.waits(2, start + 1005);
        });
        assert_eq!(found.len(), 10);
        assert_eq!(found[..2], [(1000, 2000), (3000, 4000)]);
    }
}
