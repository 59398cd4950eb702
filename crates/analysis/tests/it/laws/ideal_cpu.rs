//! The parts of each row sum to the thread's running time, and every thread with a recorded ideal CPU has a row.
//! Checked piece by piece: the last record before each piece and the CPU on which it ran determine its part.

use super::support::Analysed;
use super::support::allowed::allowed;
use super::support::instants::instants;
use model::{CpuId, Ns, SetTo, Span, ThreadKey, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

const PARTS: [&str; 6] = ["ideal_ns", "same_core_ns", "same_l2_ns", "same_l3_ns", "elsewhere_ns", "unknown_ns"];

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["ideal_cpu"];
    let mut running: BTreeMap<i64, i64> = BTreeMap::new();
    for s in a.threads.iter().filter(|s| s.state == ThreadState::Running) {
        *running.entry(s.thread.0).or_default() += s.span.overlap(a.span).map_or(0, |w| w.len().0);
    }
    let mut rows: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let thread = table.int(row, "thread").unwrap();
        let parts: Vec<i64> = PARTS.iter().map(|col| table.int(row, col).unwrap()).collect();
        prop_assert_eq!(parts.iter().sum::<i64>(), running.get(&thread).copied().unwrap_or(0));
        rows.insert(thread, parts);
    }
    let not_allowed: BTreeMap<i64, i64> =
        a.ints("ideal_cpu", "thread").into_iter().zip(a.ints("ideal_cpu", "not_allowed_ns")).collect();
    // TIDs with one instance, where it is clear to which thread a setting applies.
    for (thread, parts) in &rows {
        let Some(tid) = a.threads.iter().find(|s| s.thread.0 == *thread).map(|s| s.tid) else { continue };
        if a.threads.iter().any(|s| s.tid == tid && (s.thread.0 != *thread || s.state == ThreadState::Exited)) {
            continue;
        }
        let records: Vec<(Ns, Option<CpuId>)> = a
            .settings
            .iter()
            .filter(|s| s.tid == Some(tid) && s.at < a.span.end)
            .filter_map(|s| match s.to {
                SetTo::IdealCpu(cpu) => Some((s.at, cpu)),
                _ => None,
            })
            .collect();
        let mut ideal = 0;
        for s in a.threads.iter().filter(|s| s.thread.0 == *thread && s.state == ThreadState::Running) {
            let Some(within) = s.span.overlap(a.span) else { continue };
            for (at, (from, cpu)) in records.iter().enumerate() {
                let to = records.get(at + 1).map_or(a.span.end, |next| next.0);
                if *from < to && cpu.is_some() && s.cpu == *cpu {
                    ideal += within.overlap(Span { start: *from, end: to }).map_or(0, |w| w.len().0);
                }
            }
        }
        prop_assert_eq!(parts[0], ideal, "thread {}", thread);
        // Instant by instant: the last affinity record, and the periods in which each CPU was the ideal one.
        let mut barred = 0;
        for instant in instants(a).iter().filter(|i| i.cores.iter().any(|c| c.threads().any(|t| t == *thread))) {
            let set = allowed(a, ThreadKey(*thread), instant.from);
            let here = Span::new(instant.from, instant.from + Ns(instant.ns));
            for (at, (from, cpu)) in records.iter().enumerate() {
                let to = records.get(at + 1).map_or(a.span.end, |next| next.0);
                let outside = cpu.is_some_and(|cpu| set.as_ref().is_some_and(|set| !set.contains(&cpu)));
                if outside && *from < to {
                    barred += here.overlap(Span { start: *from, end: to }).map_or(0, |w| w.len().0);
                }
            }
        }
        prop_assert_eq!(not_allowed.get(thread), Some(&barred), "thread {}", thread);
    }
    Ok(())
}
