//! Rows contain durations within their bounds. They sum to each CPU's idle time, and to its idle stretches between two
//! known ones.

use super::support::Analysed;
use model::{CpuState, Ns};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["idle_periods"];
    let mut actual: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col);
        let (periods, idle) = (int("periods").unwrap(), int("idle_ns").unwrap());
        let (whole, sum) = actual.entry(int("cpu").unwrap()).or_default();
        *sum += idle;
        if let (Some(from), Some(to)) = (int("from_ns"), int("to_ns")) {
            prop_assert!(from * periods <= idle && idle < to * periods);
            *whole += periods;
        }
    }
    let mut sums: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for s in a.cpus.iter().filter(|s| s.state == CpuState::Idle) {
        let Some(within) = s.span.overlap(a.span) else { continue };
        let (whole, sum) = sums.entry(i64::from(s.cpu.0)).or_default();
        *sum += within.len().0;
        let known = |at: &dyn Fn(&model::CpuStretch) -> bool| {
            a.cpus.iter().any(|o| o.cpu == s.cpu && o.state != CpuState::Unknown && at(o))
        };
        let (before, after) = (known(&|o| o.span.end == s.span.start), known(&|o| o.span.start == s.span.end));
        // Only a span that reaches beyond both ends shows them.
        let inside = s.span.start > a.span.start.max(Ns::ZERO) && s.span.end < a.span.end;
        *whole += i64::from(before && after && inside);
    }
    prop_assert_eq!(actual, sums);
    Ok(())
}
