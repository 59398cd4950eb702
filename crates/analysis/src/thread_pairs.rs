//! Tells the regions of a thread that released a single other one from the passing on of locks, and from pipelines.
//!
//! **Locks.** A thread that waits for a lock is woken too. If the wait was short, and the other thread then works on, the region goes on:
//!
//! ```text
//!   A   run ▼ run      ▼ run        │ wait     ▲ run      A releases B, which waits for a lock for a moment: no end of the region.
//!   B   wait│ run │wait│ run                   │ wait     At the end B waits again at once
//!           └──────────── region ──────────────┘
//! ```
//!
//! **Pipelines.** A thread that releases another one again and again, and never waits for it, may as well pass items on. It is known to
//! be no pipeline if the other thread wakes it and waits, if the other thread is woken at the end and finds nothing to do, or if both were seen
//! to wait for the same word, as for a barrier. Until then, regions are kept.

use crate::arrivals::{MAX_GAP, MIN_RUN, Open, Times};
use crate::by_thread::ByThread;
use crate::detected_regions::{MIN_PART, Region};
use model::{Ns, ThreadKey};
use rustc_hash::FxHashMap;

/// If both threads go on, a wait of less than this was for a lock.
const MIN_WAIT: Ns = Ns(6_000);
/// A pair is no pipeline if one thread waited for the other in at least one of so many regions,
const WAITED_FOR: i64 = 8;
/// or if the other one found nothing to do after at least one of so many.
const NOTHING_TO_DO: i64 = 2;
/// The maximum number of kept regions of a process,
const MAX_KEPT: usize = 64;
/// and for how long they are kept.
const MAX_KEPT_FOR: Ns = Ns(10_000_000_000);
/// For how long regions that are certain are not written, as they may be a part of a longer one.
const MAX_AGE: Ns = Ns(1_000_000_000);

/// A region that may be over.
pub(crate) struct Ended {
    pub(crate) open: Open,
    /// The thread that released the others.
    pub(crate) owner: ThreadKey,
    /// The thread that arrived last.
    pub(crate) last: ThreadKey,
    /// For how long the woken thread had waited.
    pub(crate) waited: Ns,
}

/// A region of two threads that is over if the other thread waits next.
pub(crate) struct Undecided<T> {
    pub(crate) process: i32,
    pub(crate) ended: Ended,
    /// It, if it is one. It ends when it may be over.
    pub(crate) region: Option<Region<T>>,
    /// The other thread.
    pub(crate) other: ThreadKey,
    /// The running time of both until then.
    pub(crate) ran: [Ns; 2],
    /// When that is.
    pub(crate) at: Ns,
}

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoesOn,
    Waits,
}

impl<T> Undecided<T> {
    fn next(&self, thread: ThreadKey, ran: Ns, times: &mut ByThread<Times>, now: Ns) -> Option<Next> {
        let of = times.of(thread);
        if of.running(now) - ran >= MIN_RUN {
            return Some(Next::GoesOn);
        }
        of.waits().then_some(Next::Waits)
    }
}

/// How the regions of a thread that released a single other one ended.
#[derive(Clone, Copy, Default)]
struct Pair {
    waited: i64,
    released_again: i64,
    nothing_to_do: i64,
}

impl Pair {
    fn joins(&self) -> bool {
        let of = self.released_again;
        self.waited * WAITED_FOR >= of || self.nothing_to_do * NOTHING_TO_DO >= of
    }
}

struct Process<T> {
    /// When the last written region ended.
    written: Ns,
    /// The regions that are certain and not written yet, in order of time: they do not overlap.
    settled: Vec<Region<T>>,
    /// The regions of pairs that may be pipelines.
    kept: Vec<((ThreadKey, ThreadKey), Region<T>)>,
}

/// All pairs of threads, and the regions that are certain.
pub(crate) struct Pairs<T> {
    pairs: FxHashMap<(ThreadKey, ThreadKey), Pair>,
    /// By the thread that released the other.
    undecided: FxHashMap<ThreadKey, Undecided<T>>,
    /// That thread, by the other one.
    watched: FxHashMap<ThreadKey, ThreadKey>,
    processes: FxHashMap<i32, Process<T>>,
}

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self {
            pairs: FxHashMap::default(),
            undecided: FxHashMap::default(),
            watched: FxHashMap::default(),
            processes: FxHashMap::default(),
        }
    }
}

impl<T> Pairs<T> {
    /// Waits for what the two threads do next; `thread` is the one that was released.
    pub(crate) fn watch(&mut self, thread: ThreadKey, undecided: Undecided<T>) {
        self.watched.insert(thread, undecided.ended.owner);
        self.undecided.insert(undecided.ended.owner, undecided);
    }

    /// Decides by what a thread has done, if that is known by now.
    pub(crate) fn decide(
        &mut self,
        thread: ThreadKey,
        times: &mut ByThread<Times>,
        open: &mut FxHashMap<ThreadKey, Open>,
        now: Ns,
        wakes: Option<[ThreadKey; 2]>,
    ) {
        self.decide_of(thread, times, open, now, wakes);
        if let Some(owner) = self.watched.get(&thread).copied() {
            self.decide_of(owner, times, open, now, wakes);
        }
    }

    fn decide_of(
        &mut self,
        owner: ThreadKey,
        times: &mut ByThread<Times>,
        open: &mut FxHashMap<ThreadKey, Open>,
        now: Ns,
        wakes: Option<[ThreadKey; 2]>,
    ) {
        let Some(undecided) = self.undecided.get(&owner) else { return };
        // A thread that is woken waited, or was about to; one that wakes the other as the first thing it does has no work.
        let pair = [owner, undecided.other];
        let next = |n: usize, times: &mut ByThread<Times>| {
            let waits =
                wakes.is_some_and(|[waker, woken]| woken == pair[n] || (waker == pair[n] && pair.contains(&woken)));
            undecided.next(pair[n], undecided.ran[n], times, now).or(waits.then_some(Next::Waits))
        };
        let [of_owner, of_other] = [next(0, times), next(1, times)];
        let is_over = [of_owner, of_other].contains(&Some(Next::Waits));
        if !is_over && [of_owner, of_other].contains(&None) {
            return;
        }
        let Some(Undecided { process, ended, region, other, at, .. }) = self.undecided.remove(&owner) else { return };
        self.watched.remove(&other);
        let is_join = ended.last != owner;
        let begins = is_join && region.is_none() && at - ended.open.start <= MAX_GAP;
        if !is_over && (ended.waited < MIN_WAIT || begins) {
            went_on(ended, open);
            return;
        }
        let of = (owner.min(other), owner.max(other));
        let pair = self.pairs.entry(of).or_default();
        if is_join {
            pair.waited += i64::from(of_other == Some(Next::Waits));
        } else {
            pair.released_again += i64::from(region.is_some());
            pair.nothing_to_do += i64::from(region.is_some() && of_other == Some(Next::Waits));
            // The other thread was woken for no region.
            let is_done = of_other == Some(Next::Waits);
            if let Some(open) = open.get_mut(&owner).filter(|open| is_done && open.single() == Some(other)) {
                open.is_over = true;
            }
        }
        let of_owner = *times.of(owner);
        let joins = pair.joins() || of_owner.shares_word(times.of(other));
        if joins {
            self.settle(process, of, now);
        }
        let is_unknown = !is_join
            && of_other == Some(Next::GoesOn)
            && ended.waited > MIN_RUN.max(Ns((at - ended.open.start).0 / MIN_PART));
        let region = region.filter(|_| !(is_unknown && self.pairs.get(&of).is_some_and(|pair| pair.nothing_to_do > 0)));
        match region {
            Some(region) if joins || is_join => self.found(process, region, now),
            Some(region) => self.keep(process, of, region),
            None => {}
        }
    }

    /// Adds a region that was found. If it has others in it, these are its own locks and barriers, unless they fill most of it.
    pub(crate) fn found(&mut self, process: i32, mut region: Region<T>, now: Ns) {
        let of = self.processes.entry(process).or_insert_with(Process::new);
        // The last thread of a region wakes the others one after the other.
        let last = of.settled.partition_point(|other| other.start < region.start);
        let ended = last.checked_sub(1).map_or(of.written, |last| of.settled[last].end);
        if ended - region.start <= MAX_GAP.min(Ns((region.end - region.start).0 / MIN_PART)) {
            region.start = region.start.max(ended);
        }
        let to = of.settled.partition_point(|other| other.end <= region.end);
        let from = of.settled.partition_point(|other| other.end <= region.start);
        let within = &of.settled[from..to];
        let is_cut = region.start < of.written
            || within.first().is_some_and(|first| first.start < region.start || now - first.end > MAX_AGE)
            || of.settled.get(to).is_some_and(|next| next.start < region.end);
        let filled: Ns = within.iter().map(|other| other.end - other.start).sum();
        if !is_cut && filled.0 * 2 < (region.end - region.start).0 {
            of.kept.retain(|(_, kept)| kept.end <= region.start || kept.start >= region.end);
            of.settled.splice(from..to, [region]);
        }
    }

    fn keep(&mut self, process: i32, pair: (ThreadKey, ThreadKey), region: Region<T>) {
        let of = self.processes.entry(process).or_insert_with(Process::new);
        if of.kept.len() == MAX_KEPT {
            of.kept.remove(0);
        }
        of.kept.push((pair, region));
    }

    /// Adds the kept regions of a pair.
    fn settle(&mut self, process: i32, pair: (ThreadKey, ThreadKey), now: Ns) {
        let Some(of) = self.processes.get_mut(&process) else { return };
        of.kept.retain(|(_, kept)| now - kept.end <= MAX_KEPT_FOR);
        let (of_pair, kept): (Vec<_>, _) =
            std::mem::take(&mut of.kept).into_iter().partition(|(kept, _)| *kept == pair);
        of.kept = kept;
        of_pair.into_iter().for_each(|(_, region)| self.found(process, region, now));
    }

    /// Returns the regions that are certain now, in order of end, and up to when no other one will end. `is_end`: nothing follows.
    pub(crate) fn take(
        &mut self,
        times: &mut ByThread<Times>,
        open: &mut FxHashMap<ThreadKey, Open>,
        now: Ns,
        is_end: bool,
    ) -> (Vec<Region<T>>, Ns) {
        let mut owners: Vec<_> = self.undecided.keys().copied().collect();
        owners.sort_unstable();
        owners.into_iter().for_each(|owner| self.decide_of(owner, times, open, now, None));
        let mut until = if is_end { Ns::MAX } else { now - MAX_AGE };
        if !is_end {
            self.undecided.retain(|_, undecided| now - undecided.at <= MAX_KEPT_FOR);
            self.processes.values_mut().for_each(|of| of.kept.retain(|(_, kept)| now - kept.end <= MAX_KEPT_FOR));
            let kept = self.processes.values().flat_map(|of| &of.kept).map(|(_, kept)| kept.end);
            until = kept.chain(self.undecided.values().map(|undecided| undecided.at)).fold(until, Ns::min);
        }
        let mut out = Vec::new();
        for of in self.processes.values_mut() {
            let known = of.settled.partition_point(|region| region.end < until);
            out.extend(of.settled.drain(..known).inspect(|region| of.written = region.end));
        }
        out.sort_by_key(|region| (region.end, region.start));
        (out, until)
    }
}

impl<T> Process<T> {
    fn new() -> Self {
        Self { written: Ns(i64::MIN / 2), settled: Vec::new(), kept: Vec::new() }
    }
}

/// The region was not over: what its first thread released since belongs to it.
pub(crate) fn went_on(ended: Ended, open: &mut FxHashMap<ThreadKey, Open>) {
    let mut whole = Open { is_over: false, ..ended.open };
    if let Some(since) = open.remove(&ended.owner).filter(|since| !since.is_over) {
        for (thread, ran) in since.released {
            whole.released.entry(thread).or_insert_with(|| {
                whole.last = since.last;
                ran
            });
        }
    }
    open.insert(ended.owner, whole);
}
