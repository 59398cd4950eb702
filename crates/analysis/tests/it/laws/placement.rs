//! The verdict on every running thread at every instant; it tiles running.

use super::support::Analysed;
use super::support::allowed::allowed;
use super::support::instants::{Core, instants};
use model::{CpuState, ThreadKey};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The class of a core, if it is recorded or there is only one.
fn class(core: &Core, classes: usize) -> Option<u32> {
    core.class.or((classes <= 1).then_some(0))
}

/// `Some(true)`: all of the core is idle and may be used; `None`: unknown.
fn idles(core: &Core) -> Option<bool> {
    if core.cpus.iter().all(|c| c.parked) {
        return Some(false);
    }
    match (core.count(CpuState::Busy), core.count(CpuState::Unknown)) {
        (1.., _) => Some(false),
        (0, 0) if core.siblings_known => Some(true),
        _ => None,
    }
}

/// The column: 0 in order, 1 on a slower core, 2 with a busy sibling, 3 the same with a slower core idle, 4 unknown.
///
/// If something is not known, both answers are tried: a result they have in common is known.
fn verdict(own: &Core, cores: &[Core], classes: usize) -> usize {
    let Some(here) = class(own, classes) else {
        let others = cores.iter().any(|c| idles(c) != Some(false));
        return if others { 4 } else { 0 };
    };
    let shares = match own.count(CpuState::Busy) {
        2.. => Some(true),
        _ if own.siblings_known && own.count(CpuState::Unknown) == 0 => Some(false),
        _ => None,
    };
    let certain = |wanted: &dyn Fn(u32) -> bool| {
        cores.iter().any(|c| idles(c) == Some(true) && class(c, classes).is_some_and(wanted))
    };
    let possible = |wanted: &dyn Fn(u32) -> bool| {
        cores.iter().any(|c| match (idles(c), class(c, classes)) {
            (Some(false), _) | (Some(true), Some(_)) => false,
            (_, None) => true,
            (None, Some(class)) => wanted(class),
        })
    };
    if certain(&|c| c > here) {
        return 1;
    }
    let alone = if possible(&|c| c > here) { 4 } else { 0 };
    let sharing = match (certain(&|c| c == here), certain(&|c| c < here)) {
        (true, _) => 2,
        (_, true) => 3,
        _ if possible(&|_| true) => 4,
        _ => 0,
    };
    match shares {
        Some(true) => sharing,
        Some(false) => alone,
        None if sharing == alone => alone,
        None => 4,
    }
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let classes = a.machine.class_names.len();
    // While the thread's affinity was not recorded, and while it was.
    let mut threads = BTreeMap::<i64, [[i64; 5]; 2]>::new();
    for instant in instants(a) {
        for core in &instant.cores {
            for thread in core.threads() {
                let allowed_cpus = allowed(a, ThreadKey(thread), instant.from);
                let is_allowed =
                    |c: &&Core| allowed_cpus.as_ref().is_none_or(|t| c.cpus.iter().any(|c| t.contains(&c.id)));
                let cores: Vec<Core> = instant.cores.iter().filter(is_allowed).cloned().collect();
                let times = &mut threads.entry(thread).or_default()[usize::from(allowed_cpus.is_some())];
                times[verdict(core, &cores, classes)] += instant.ns;
            }
        }
    }
    const COLS: [&str; 5] =
        ["in_order_ns", "slower_core_upper_ns", "busy_sibling_upper_ns", "skipped_slower_upper_ns", "unknown_ns"];
    let cols = COLS.map(|col| a.ints("placement", col));
    let lower = ["slower_core_lower_ns", "busy_sibling_lower_ns", "skipped_slower_lower_ns"]
        .map(|col| a.ints("placement", col));
    let affinity_unknown = a.ints("placement", "permission_unknown_ns");
    let woken = ["woken_sibling_lower_ns", "woken_sibling_upper_ns"].map(|col| a.ints("placement", col));
    let keys = a.ints("placement", "thread");
    prop_assert_eq!(&keys, &threads.keys().copied().collect::<Vec<_>>());
    for (row, (thread, expected)) in threads.iter().enumerate() {
        let [unknown, known] = expected;
        let both: [i64; 5] = std::array::from_fn(|v| unknown[v] + known[v]);
        prop_assert_eq!((thread, cols.each_ref().map(|c| c[row])), (thread, both));
        prop_assert_eq!((thread, lower.each_ref().map(|c| c[row])), (thread, [known[1], known[2], known[3]]));
        prop_assert_eq!((thread, affinity_unknown[row]), (thread, unknown.iter().sum::<i64>()));
        // A part of the time with a busy sibling, and the lower bound of the upper one.
        prop_assert!(woken[0][row] <= known[2] && woken[1][row] <= both[2] && woken[0][row] <= woken[1][row]);
    }
    prop_assert_eq!(a.ints("placement", "running_ns"), a.ints("smt_threads", "running_ns"));
    Ok(())
}
