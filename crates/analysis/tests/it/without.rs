//! What a run gains without a piece of its critical path, by brute force: every stretch of a small trace is moved to where it would be.
//!
//! A thread runs and is ready for as long as before, and waits until what woke it; interrupts come when they came. So a run without the time that
//! a thread is in one state ends earlier by no more than that time on the path. A path that strays to what no thread waits for breaks this law.

use crate::support::{Analysed, critical, random};
use model::{Ns, Reason, ThreadKey, ThreadState, ThreadStretch, Tid};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testkit::{ByName, Mode, Rng};

/// The states whose time can be taken out of a run.
const STATES: [ThreadState; 2] = [ThreadState::Running, ThreadState::Ready];

/// A run without the time in which one thread is in one state.
struct Without<'a> {
    threads: BTreeMap<ThreadKey, Vec<&'a ThreadStretch>>,
    removed: (ThreadKey, ThreadState),
    start: Ns,
    known: BTreeMap<(ThreadKey, Ns), Ns>,
}

impl<'a> Without<'a> {
    fn new(a: &'a Analysed, removed: (ThreadKey, ThreadState)) -> Self {
        let mut threads = BTreeMap::<_, Vec<_>>::new();
        a.threads.iter().filter(|s| !s.span.is_empty()).for_each(|s| threads.entry(s.thread).or_default().push(s));
        Self { threads, removed, start: a.span.start, known: BTreeMap::new() }
    }

    /// When a thread gets to where it was at an instant.
    fn moved(&mut self, thread: ThreadKey, at: Ns) -> Ns {
        if at <= self.start {
            return at;
        }
        if let Some(known) = self.known.get(&(thread, at)) {
            return *known;
        }
        let moved = match self.before(thread, at) {
            None => at,
            // It sends something while it waits: an interrupt does.
            Some(s) if s.state == ThreadState::Blocked => self.begin(s).max(at),
            Some(s) if (s.thread, s.state) == self.removed => self.begin(s) + (at - s.span.end).max(Ns::ZERO),
            Some(s) => self.begin(s) + (at - s.span.start.max(self.start)),
        };
        self.known.insert((thread, at), moved);
        moved
    }

    /// The last stretch of a thread that begins before an instant.
    fn before(&self, thread: ThreadKey, at: Ns) -> Option<&'a ThreadStretch> {
        let own = self.threads.get(&thread)?;
        let next = own.partition_point(|s| s.span.start < at);
        next.checked_sub(1).map(|place| own[place])
    }

    /// When a stretch begins: where the one before it ends, and where its thread is woken.
    fn begin(&mut self, of: &ThreadStretch) -> Ns {
        let start = of.span.start;
        if start <= self.start {
            return self.start;
        }
        let is_woken = of.state == ThreadState::Ready && matches!(of.reason, Reason::Woken | Reason::New);
        let former = self.before(of.thread, start).filter(|_| of.reason != Reason::New);
        let own = match former {
            Some(wait) if is_woken && wait.state == ThreadState::Blocked => Some(self.begin(wait)),
            Some(_) => Some(self.moved(of.thread, start)),
            None => None,
        };
        let woken = match of.waker_thread {
            _ if !is_woken => None,
            waker if waker > ThreadKey::IDLE => Some(self.moved(waker, start)),
            _ => Some(start),
        };
        own.max(woken).unwrap_or(start)
    }
}

/// Returns for each thread and state how much earlier the path's thread ends without, and the time that this has on the path.
fn gains(a: &Analysed, ends: Tid) -> Vec<(Ns, Ns)> {
    let Ok([path, ..]) = critical(a, Some(ends)) else { return Vec::new() };
    let Some(last) = path.rows.len().checked_sub(1) else { return Vec::new() };
    let mut on_path = BTreeMap::<(ThreadKey, ThreadState), Ns>::new();
    for row in 0..path.rows.len() {
        let int = |col| path.int(row, col).unwrap();
        let state = match path.text(row, "state").unwrap() {
            "running" => ThreadState::Running,
            "ready" | "wakeup_latency" | "throttled" => ThreadState::Ready,
            _ => continue,
        };
        *on_path.entry((ThreadKey(int("thread")), state)).or_default() += Ns(int("end_ns") - int("start_ns"));
    }
    let end = ThreadKey(path.int(last, "thread").unwrap());
    let threads: BTreeSet<ThreadKey> = a.threads.iter().map(|s| s.thread).collect();
    let all = threads.into_iter().flat_map(|thread| STATES.map(|state| (thread, state)));
    all.map(|removed| {
        let earlier = a.span.end - Without::new(a, removed).moved(end, a.span.end);
        (earlier, on_path.get(&removed).copied().unwrap_or_default())
    })
    .collect()
}

fn drawn(seed: u64, steps: usize) -> Vec<(Ns, Ns)> {
    let a = random(Mode::Whole, seed, steps);
    let tids: Vec<Tid> = a.threads.iter().map(|s| s.tid).collect();
    Rng(seed ^ 1).pick(&tids).map_or_else(Vec::new, |ends| gains(&a, ends))
}

proptest! {
    #![proptest_config(testkit::drawn(60))]
    #[test]
    fn a_run_gains_no_more_than_what_its_path_has(seed in any::<u64>(), steps in 1usize..120) {
        for (earlier, on_path) in drawn(seed, steps) {
            prop_assert!(earlier <= on_path, "it ends {earlier:?} earlier, and has {on_path:?} on the path");
        }
    }
}

/// The law is not empty: many pieces of paths are gained whole, and others only in part, as another path is the longest without them.
#[test]
fn pieces_are_gained_whole_and_in_part() {
    let all: Vec<(Ns, Ns)> = (0..100).flat_map(|seed| drawn(seed, 100)).collect();
    let on_path = || all.iter().filter(|(_, on_path)| *on_path > Ns::ZERO);
    let whole = on_path().filter(|(earlier, on_path)| earlier == on_path).count();
    let part = on_path().filter(|(earlier, on_path)| Ns::ZERO < *earlier && earlier < on_path).count();
    assert!(whole >= 20 && part >= 5, "{whole} whole, {part} in part, of {}", on_path().count());
}
