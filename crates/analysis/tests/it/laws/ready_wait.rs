//! Each sum is that of the stretches; ready time by what was free equals a check of every CPU at every instant.

use super::queues::{self, Piece};
use super::support::Analysed;
use super::support::allowed::allowed;
use super::support::parked::{is_recorded, parked};
use super::support::throttled::throttled;
use model::{CpuId, CpuState, Ns, Reason, ThreadKey, ThreadState, ThreadStretch};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

const CLASSES: [&str; 8] = [
    "no_cpu_free_ns",
    "free_other_type_ns",
    "free_same_type_ns",
    "wakeup_latency_ns",
    "free_unknown_ns",
    "free_not_allowed_ns",
    "throttled_ns",
    "free_parked_ns",
];
const BEGINS: [&str; 8] = [
    "ready_preempted_ns",
    "ready_yielded_ns",
    "ready_throttled_ns",
    "ready_gave_way_ns",
    "ready_unknown_ns",
    "ready_woken_ns",
    "ready_new_ns",
    "ready_other_ns",
];

#[derive(Clone, Copy, PartialEq)]
enum Free {
    No,
    Yes,
    Parked,
}

/// The column of what was free.
fn class(a: &Analysed, piece: &Piece<'_>) -> &'static str {
    if throttled(a, piece.of.thread, piece.span.start) == Some(true) {
        return CLASSES[6];
    }
    // For a CPU that runs no thread, as far as is known, it is enough to know that it is parked.
    let state = |cpu| match queues::at(a, cpu, piece.span.start).map(|s| s.state) {
        Some(CpuState::Busy) => Some(Free::No),
        _ if parked(a, cpu, piece.span.start) == Some(true) => Some(Free::Parked),
        idle => idle.map(|_| Free::Yes),
    };
    let cpus = queues::cpus(a);
    let Some(queue) = piece.queue.filter(|q| cpus.contains(q)) else { return CLASSES[4] };
    let allowed_cpus = allowed(a, piece.of.thread, piece.span.start);
    let is_allowed = |cpu: CpuId| allowed_cpus.as_ref().is_none_or(|t| t.contains(&cpu));
    let of_type = |same: bool| {
        let of = cpus.iter().filter(|c| (a.machine.core_class(**c) == a.machine.core_class(queue)) == same);
        of.filter(|c| is_allowed(**c)).map(|c| state(*c)).collect::<Vec<_>>()
    };
    let (same, other) = (of_type(true), of_type(false));
    let elsewhere: Vec<_> = cpus.iter().filter(|c| !is_allowed(**c)).map(|c| state(*c)).collect();
    let (idle, is_parked) = (Some(Free::Yes), Some(Free::Parked));
    match state(queue) {
        Some(Free::Yes) if is_allowed(queue) => CLASSES[3],
        None if is_allowed(queue) => CLASSES[4],
        _ if same.contains(&idle) => CLASSES[2],
        _ if same.contains(&None) => CLASSES[4],
        _ if other.contains(&idle) => CLASSES[1],
        _ if other.contains(&None) => CLASSES[4],
        _ if same.contains(&is_parked) || other.contains(&is_parked) => CLASSES[7],
        _ if elsewhere.contains(&idle) => CLASSES[5],
        _ if elsewhere.contains(&None) => CLASSES[4],
        _ => CLASSES[0],
    }
}

/// How often a thread entered a state, from its stretches within the span.
fn count(stretches: &[&ThreadStretch], state: ThreadState, from: Ns) -> i64 {
    let is_counted = |at: usize| {
        let before_snapshot = at > 0 && stretches[at - 1].reason == Reason::BeforeSnapshot;
        !(stretches[at].reason == Reason::Snapshot || state == ThreadState::Blocked && before_snapshot)
    };
    let within = |s: &ThreadStretch| s.state == state && s.span.start > Ns::ZERO && s.span.start >= from;
    (0..stretches.len()).filter(|at| within(stretches[*at]) && is_counted(*at)).count() as i64
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let mut of_thread: BTreeMap<i64, Vec<&ThreadStretch>> = BTreeMap::new();
    for stretch in a.threads.iter().filter(|s| s.span.overlap(a.span).is_some()) {
        of_thread.entry(stretch.thread.0).or_default().push(stretch);
    }
    of_thread.retain(|_, stretches| stretches.iter().any(|s| s.state != ThreadState::Exited));
    let mut classes: BTreeMap<(i64, &str), i64> = BTreeMap::new();
    let mut affinity_unknown: BTreeMap<i64, i64> = BTreeMap::new();
    for piece in queues::pieces(a) {
        if allowed(a, piece.of.thread, piece.span.start).is_none() {
            *affinity_unknown.entry(piece.of.thread.0).or_default() += piece.span.len().0;
        }
        *classes.entry((piece.of.thread.0, class(a, &piece))).or_default() += piece.span.len().0;
    }
    let table = &a.tables["ready_wait"];
    prop_assert_eq!(table.rows.len(), of_thread.len());
    for (row, (thread, stretches)) in of_thread.iter().enumerate() {
        let cell = |col: &str| table.int(row, col);
        prop_assert_eq!(cell("thread"), Some(*thread));
        let spans = |state| {
            let of = stretches.iter().filter(move |s| s.state == state);
            of.filter_map(|s| s.span.overlap(a.span)).map(|s| s.len().0)
        };
        let sum = |state| Some(spans(state).sum::<i64>());
        let max = |state| Some(spans(state).max().unwrap_or(0));
        let count = |state| Some(count(stretches, state, a.span.start));
        prop_assert_eq!(cell("running_ns"), sum(ThreadState::Running));
        prop_assert_eq!(cell("running_count"), count(ThreadState::Running));
        prop_assert_eq!(cell("blocked_ns"), sum(ThreadState::Blocked));
        prop_assert_eq!(cell("blocked_count"), count(ThreadState::Blocked));
        prop_assert_eq!(cell("max_blocked_ns"), max(ThreadState::Blocked));
        prop_assert_eq!(cell("unknown_ns"), sum(ThreadState::Unknown));
        prop_assert_eq!(cell("ready_ns"), sum(ThreadState::Ready));
        prop_assert_eq!(cell("ready_count"), count(ThreadState::Ready));
        prop_assert_eq!(cell("max_ready_ns"), max(ThreadState::Ready));
        prop_assert_eq!(BEGINS.iter().map(|c| cell(c)).sum::<Option<i64>>(), cell("ready_ns"));
        let affinity_unknown = affinity_unknown.get(thread).copied().unwrap_or(0);
        prop_assert_eq!(cell("permission_unknown_ns"), Some(affinity_unknown));
        let is_reported = throttled(a, ThreadKey(*thread), a.span.start).is_some();
        let is_known = |col: &str| match col {
            "free_not_allowed_ns" => Some(affinity_unknown) != cell("ready_ns"),
            "throttled_ns" => is_reported,
            "free_parked_ns" => is_recorded(a),
            _ => true,
        };
        for col in CLASSES {
            let sum = classes.get(&(*thread, col)).copied().unwrap_or(0);
            prop_assert_eq!(cell(col), Some(sum).filter(|_| is_known(col)), "{}", col);
        }
        let parts = CLASSES.iter().filter(|c| is_known(c));
        prop_assert_eq!(parts.map(|c| cell(c)).sum::<Option<i64>>(), cell("ready_ns"));
    }
    Ok(())
}
