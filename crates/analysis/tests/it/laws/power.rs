//! Each CPU is idle for as long as in all of its idle states, except unknown time. It has a frequency, recorded or
//! unknown, all of the time. Threads run for as long at all frequencies as in total.

use super::support::Analysed;
use model::{CpuState, Ns, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let mut times: BTreeMap<i64, [i64; 3]> = BTreeMap::new();
    for s in &a.cpus {
        if let Some(within) = s.span.overlap(a.span) {
            times.entry(i64::from(s.cpu.0)).or_default()[s.state as usize] += within.len().0;
        }
    }
    let sums = |table: &str, key: &str, col: &str| {
        let mut sums: BTreeMap<i64, i64> = BTreeMap::new();
        for (key, time) in a.ints(table, key).into_iter().zip(a.ints(table, col)) {
            *sums.entry(key).or_default() += time;
        }
        sums
    };
    let idle = sums("idle_residency", "cpu", "residency_ns");
    let at = |state: CpuState| state as usize;
    for (cpu, time) in &times {
        let actual = idle.get(cpu).copied().unwrap_or(0);
        let (known, unknown) = (time[at(CpuState::Idle)], time[at(CpuState::Unknown)]);
        prop_assert!(known <= actual && actual <= known + unknown, "CPU {}: {} <= {}", cpu, known, actual);
    }
    for (col, state) in [("busy_ns", CpuState::Busy), ("idle_ns", CpuState::Idle)] {
        let actual = sums("frequency_residency", "cpu", col);
        for (cpu, time) in &times {
            prop_assert_eq!(actual.get(cpu).copied().unwrap_or(0), time[at(state)], "{} of CPU {}", col, cpu);
        }
    }
    for (cpu, time) in sums("frequency_residency", "cpu", "residency_ns") {
        prop_assert_eq!(time, a.span.len().0, "CPU {}", cpu);
    }
    let mut running: BTreeMap<i64, i64> = BTreeMap::new();
    for s in a.threads.iter().filter(|s| s.state == ThreadState::Running && s.cpu.is_some()) {
        let within = s.span.overlap(a.span).map_or(Ns::ZERO, |w| w.len());
        if within > Ns::ZERO {
            *running.entry(s.thread.0).or_default() += within.0;
        }
    }
    prop_assert_eq!(sums("thread_by_frequency", "thread", "running_ns"), running);
    Ok(())
}
