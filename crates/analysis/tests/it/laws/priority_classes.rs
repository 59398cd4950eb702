//! Parts tile the requested range. In each, the use of the CPUs sums to their time, and over all parts to the sums of
//! CPUs and of priorities.

use super::support::Analysed;
use model::{CpuState, ThreadState};
use proptest::prelude::*;
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    const CLASSES: [&str; 6] = ["deadline_ns", "real_time_ns", "high_ns", "normal_ns", "low_ns", "not_recorded_ns"];
    let table = &a.tables["priority_classes"];
    let rows = || 0..table.rows.len();
    let of = |row, col: &str| table.int(row, col).unwrap();
    let sum = |col: &str| rows().map(|row| of(row, col)).sum::<i64>();
    let mut at = a.span.start.0;
    for row in rows() {
        prop_assert_eq!(of(row, "start_ns"), at);
        at = of(row, "end_ns");
    }
    prop_assert!(rows().len() <= 20 && (at == a.span.end.0 || a.span.is_empty()));
    let of_cpus = |state| -> i64 {
        let all = a.cpus.iter().filter(|s| s.state == state).filter_map(|s| s.span.overlap(a.span));
        all.map(|s| s.len().0).sum()
    };
    prop_assert_eq!(sum("idle_ns"), of_cpus(CpuState::Idle));
    prop_assert_eq!(sum("unknown_ns"), of_cpus(CpuState::Unknown));
    prop_assert_eq!(CLASSES.iter().map(|col| sum(col)).sum::<i64>(), of_cpus(CpuState::Busy));
    let at_prio = |of: fn(Option<i16>) -> bool| -> i64 {
        let ran = a.threads.iter().filter(|s| s.state == ThreadState::Running && s.cpu.is_some() && of(s.prio.get()));
        ran.filter_map(|s| s.span.overlap(a.span)).map(|s| s.len().0).sum()
    };
    prop_assert_eq!(sum("real_time_ns"), at_prio(|prio| prio.is_some_and(|prio| (0..100).contains(&prio))));
    prop_assert_eq!(sum("normal_ns"), at_prio(|prio| prio == Some(120)));
    prop_assert_eq!(sum("not_recorded_ns"), at_prio(|prio| prio.is_none()));
    // A row has its length once for each recorded CPU.
    let cpus = a.totals.cpus.len() as i64;
    for row in rows() {
        let used: i64 = CLASSES.iter().chain(&["idle_ns", "unknown_ns"]).map(|col| of(row, col)).sum();
        prop_assert_eq!(used, cpus * (of(row, "end_ns") - of(row, "start_ns")));
    }
    Ok(())
}
