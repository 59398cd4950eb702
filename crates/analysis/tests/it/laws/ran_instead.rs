//! The times equal a check of the run queue's CPU and of throttling at every instant, and sum to each thread's ready
//! time.

use super::queues;
use super::support::{Analysed, throttled::throttled};
use model::{CpuId, CpuState, Ns, ThreadKey, ThreadState, ThreadStretch};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

/// The dynamic priority of the thread that runs on a CPU, if recorded.
fn prio(a: &Analysed, thread: ThreadKey, cpu: CpuId, time: Ns) -> Option<i64> {
    let runs = |s: &&ThreadStretch| s.thread == thread && s.state == ThreadState::Running && s.cpu == Some(cpu);
    let here = |s: &&ThreadStretch| s.span.start <= time && time < s.span.end;
    let stretch = a.threads.iter().filter(runs).find(here);
    stretch.and_then(|s| s.prio.get()).map(i64::from)
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["ran_instead"];
    let mut expected: BTreeMap<_, i64> = BTreeMap::new();
    let cpus = queues::cpus(a);
    for piece in queues::pieces(a) {
        let queue = piece.queue.filter(|q| cpus.contains(q));
        let throttled_sums = throttled(a, piece.of.thread, piece.span.start) == Some(true);
        let there = queue.and_then(|q| queues::at(a, q, piece.span.start)).filter(|_| !throttled_sums);
        let prio = there.and_then(|s| prio(a, s.thread, s.cpu, piece.span.start));
        let class = queue.map(|q| i64::from(a.machine.core_class(q)));
        let ran_instead = match there {
            _ if throttled_sums => "throttled",
            None => "unknown",
            Some(s) if s.state == CpuState::Idle => "idle",
            Some(_) => "thread",
        };
        let key = (piece.of.thread.0, ran_instead.to_owned(), there.map(|s| s.thread.0), prio, class);
        *expected.entry(key).or_default() += piece.span.len().0;
    }
    let mut actual = BTreeMap::new();
    for row in 0..table.rows.len() {
        let cell = |col| table.int(row, col);
        let ran_instead = super::support::text(&table.rows[row][table.def.col("queued_behind").unwrap()]);
        let key =
            (cell("thread").unwrap(), ran_instead, cell("ran_instead"), cell("ran_instead_prio"), cell("core_class"));
        prop_assert!(actual.insert(key.clone(), cell("ready_ns").unwrap()).is_none(), "twice: {:?}", key);
    }
    prop_assert_eq!(&actual, &expected);
    let sums = a.ints("ready_wait", "thread").into_iter().zip(a.ints("ready_wait", "ready_ns"));
    for (thread, ready) in sums {
        let ran_instead: i64 = actual.iter().filter(|(key, _)| key.0 == thread).map(|(_, time)| time).sum();
        prop_assert_eq!(ran_instead, ready);
    }
    // Throttled time equals that of the table ready_wait.
    let throttled_times = a.tables["ready_wait"].rows.iter().enumerate().filter_map(|(row, _)| {
        let cell = |col| a.tables["ready_wait"].int(row, col);
        Some((cell("thread")?, cell("throttled_ns")?))
    });
    for (thread, throttled) in throttled_times {
        let throttled_sums = actual.iter().filter(|(key, _)| key.0 == thread && key.1 == "throttled");
        prop_assert_eq!(throttled_sums.map(|(_, time)| time).sum::<i64>(), throttled);
    }
    each_throttled(a)
}

/// The times of the table `throttled` sum to those of `ready_wait`, and lie within ready stretches of their thread, one after the other.
fn each_throttled(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["throttled"];
    let (mut sums, mut last) = (BTreeMap::<i64, i64>::new(), BTreeMap::<i64, i64>::new());
    for row in 0..table.rows.len() {
        let [thread, start, end, time] =
            ["thread", "start_ns", "end_ns", "throttled_ns"].map(|col| table.int(row, col).unwrap());
        prop_assert!(start < end && end - start == time && last.insert(thread, end).is_none_or(|last| last <= start));
        let is_within = |s: &ThreadStretch| s.thread.0 == thread && s.span.start.0 <= start && end <= s.span.end.0;
        prop_assert!(a.threads.iter().any(|s| s.state == ThreadState::Ready && is_within(s)), "{}", thread);
        *sums.entry(thread).or_default() += time;
    }
    for row in 0..a.tables["ready_wait"].rows.len() {
        let cell = |col| a.tables["ready_wait"].int(row, col);
        let expected = cell("throttled_ns").unwrap_or(0);
        prop_assert_eq!(sums.remove(&cell("thread").unwrap()).unwrap_or(0), expected);
    }
    prop_assert!(sums.is_empty(), "{:?}", sums);
    Ok(())
}
