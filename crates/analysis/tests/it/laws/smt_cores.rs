//! Idle, one busy, many busy and unknown of each core equal a check of every instant, and tile the span.

use super::support::Analysed;
use super::support::instants::{Core, cores, instants};
use model::CpuState;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    const COLS: [&str; 8] = [
        "first_cpu",
        "idle_ns",
        "one_busy_ns",
        "many_busy_ns",
        "unknown_ns",
        "all_busy_ns",
        "first_alone_ns",
        "second_alone_ns",
    ];
    let first = |core: &Core| i64::from(core.cpus[0].id.0);
    let mut times: BTreeMap<i64, [i64; 7]> = cores(a).iter().map(|c| (first(c), [0; 7])).collect();
    for instant in instants(a) {
        for core in &instant.cores {
            let of = times.entry(first(core)).or_default();
            let busy = core.count(CpuState::Busy);
            let place = if core.count(CpuState::Unknown) > 0 { 3 } else { busy.min(2) };
            of[place] += instant.ns;
            of[4] += if busy == core.cpus.len() { instant.ns } else { 0 };
            if place == 1 && core.cpus.len() == 2 {
                let second = core.cpus[1].state == CpuState::Busy;
                of[5 + usize::from(second)] += instant.ns;
            }
        }
    }
    let cols = COLS.map(|col| a.ints("smt_cores", col));
    prop_assert_eq!(cols[0].len(), times.len());
    for (row, (core, expected)) in times.iter().enumerate() {
        let actual: Vec<i64> = cols[1..].iter().map(|c| c[row]).collect();
        prop_assert_eq!((cols[0][row], &actual[..]), (*core, &expected[..]));
        prop_assert_eq!(actual[..4].iter().sum::<i64>(), a.span.len().0);
    }
    Ok(())
}
