//! They sum to the idle periods and times of each CPU, and each end is looked up independently.

use super::support::Analysed;
use model::{CpuState, Reason, ThreadKey, ThreadState};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["idle_wakeups"];
    let mut actual: BTreeMap<_, (i64, i64, i64)> = BTreeMap::new();
    let mut rows = BTreeSet::new();
    let mut by_cpu: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let of = |col| table.int(row, col).unwrap();
        let (periods, elsewhere, idle) = (of("periods"), of("elsewhere"), of("idle_ns"));
        prop_assert!((0..=periods).contains(&elsewhere) && periods > 0);
        let sums = by_cpu.entry(of("cpu")).or_default();
        *sums = (sums.0 + periods, sums.1 + idle);
        let cause = table.text(row, "cause").unwrap().to_owned();
        prop_assert!(rows.insert((of("cpu"), cause.clone(), table.int(row, "waker"), table.text(row, "interrupt"))));
        let sums = actual.entry((of("cpu"), cause, table.int(row, "waker"))).or_default();
        *sums = (sums.0 + periods, sums.1 + elsewhere, sums.2 + idle);
    }
    let mut of_periods: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let cpus = a.ints("idle_periods", "cpu");
    for ((cpu, periods), idle) in
        cpus.iter().zip(a.ints("idle_periods", "periods")).zip(a.ints("idle_periods", "idle_ns"))
    {
        let sums = of_periods.entry(*cpu).or_default();
        *sums = (sums.0 + periods, sums.1 + idle);
    }
    prop_assert_eq!(by_cpu, of_periods);
    let mut sums = BTreeMap::new();
    for s in a.cpus.iter().filter(|s| s.state == CpuState::Idle) {
        let Some(within) = s.span.overlap(a.span) else { continue };
        let (cause, waker, elsewhere) = ended(a, s.cpu, s.span.end);
        let (periods, moved, idle) = sums.entry((i64::from(s.cpu.0), cause.to_owned(), waker)).or_insert((0, 0, 0));
        *periods += 1;
        *moved += i64::from(elsewhere);
        *idle += within.len().0;
    }
    prop_assert_eq!(actual, sums);
    Ok(())
}

/// Returns what ran on a CPU from then on, and the state of that thread until then.
fn ended(a: &Analysed, cpu: model::CpuId, at: model::Ns) -> (&'static str, Option<i64>, bool) {
    let next = a.cpus.iter().find(|s| s.cpu == cpu && s.span.start == at && at < a.span.end);
    let Some(next) = next.filter(|s| s.state == CpuState::Busy) else { return ("cut", None, false) };
    let of_thread = |s: &&model::ThreadStretch| s.thread == next.thread && s.state == ThreadState::Ready;
    // The state before the requested range is unknown.
    let Some(ready) = a.threads.iter().filter(of_thread).find(|s| s.span.end == at && at > a.span.start) else {
        return ("unknown", None, false);
    };
    let elsewhere = ready.cpu.is_some_and(|queue| queue != cpu);
    let waker = Some(ready.waker_thread.0).filter(|key| *key >= 0);
    let (cause, waker) = match ready.reason {
        Reason::New => ("new", waker),
        Reason::Woken | Reason::WokenBefore if ready.waker_thread == ThreadKey::IDLE => ("interrupt", None),
        Reason::Woken | Reason::WokenBefore if waker.is_none() => ("not_recorded", None),
        Reason::Woken | Reason::WokenBefore => ("thread", waker),
        reason if reason.left_runnable() && elsewhere => ("pulled", None),
        reason if reason.left_runnable() => ("requeued", None),
        _ => ("unknown", None),
    };
    (cause, waker, elsewhere)
}
