//! The ends of stays sum to the idle periods and times of each CPU, and to the entries into its states. The wakeups of CPUs and of
//! functions sum to them, and the functions' times and switches to the threads'.

use super::support::Analysed;
use model::{CpuState, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

/// Sums columns by the first column, of rows that are not cut.
fn sums(a: &Analysed, name: &str, key: &str, cols: &[&str], cut: bool) -> BTreeMap<i64, Vec<i64>> {
    let table = &a.tables[name];
    let mut sums: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for row in 0..table.rows.len() {
        if !cut && table.text(row, "ended_by") == Some("cut") {
            continue;
        }
        let of = sums.entry(table.int(row, key).unwrap()).or_insert_with(|| vec![0; cols.len()]);
        of.iter_mut().zip(cols).for_each(|(sum, col)| *sum += table.int(row, col).unwrap_or(0));
    }
    sums.retain(|_, sums| sums.iter().any(|sum| *sum != 0));
    sums
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let idle = ["periods", "idle_ns"];
    prop_assert_eq!(sums(a, "idle_ends", "cpu", &idle, true), sums(a, "idle_periods", "cpu", &idle, true));
    let table = &a.tables["idle_ends"];
    let mut stays: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    let mut wakeups: BTreeMap<i64, i64> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let of = |col| table.int(row, col).unwrap_or(0);
        prop_assert!(of("whole") <= of("stays") && of("periods") >= 0 && of("stay_ns") <= of("idle_ns"));
        prop_assert!(of("too_short") <= of("whole") && of("too_short_ns") <= of("stay_ns"));
        // A period that ended with a thread has one.
        let ended_by = table.text(row, "ended_by").unwrap();
        prop_assert_eq!(of("periods") > 0, ended_by == "cut" || table.int(row, "thread").is_some());
        prop_assert!(table.int(row, "waker").is_none() || ended_by == "thread");
        let Some(state) = table.int(row, "state") else { continue };
        *stays.entry((of("cpu"), state)).or_default() += of("stays");
        if ended_by != "cut" {
            *wakeups.entry(of("cpu")).or_default() += of("stays");
        }
    }
    wakeups.retain(|_, count| *count > 0);
    let followed: Vec<i64> = a.totals.cpus.iter().filter(|cpu| cpu.followed).map(|cpu| i64::from(cpu.cpu.0)).collect();
    let residency = &a.tables["idle_residency"];
    for row in 0..residency.rows.len() {
        let (Some(state), cpu) = (residency.int(row, "state"), residency.int(row, "cpu").unwrap()) else { continue };
        // In unknown time, entries are no stays of an idle period.
        let is_known = a.cpus.iter().all(|s| i64::from(s.cpu.0) != cpu || s.state == CpuState::Idle);
        let (stays, entries) =
            (stays.get(&(cpu, state)).copied().unwrap_or(0), residency.int(row, "entries").unwrap_or(0));
        // One that began before the range was not entered here.
        if is_known && followed.contains(&cpu) {
            prop_assert!(
                stays >= entries && stays <= entries + 1,
                "CPU {}, state {}: {}, {}",
                cpu,
                state,
                stays,
                entries
            );
        }
    }
    let by = ["by_timer", "by_tick", "by_device", "by_thread", "by_ipi", "by_other"];
    let of_cpus = sums(a, "cpu_wakeups", "cpu", &["wakeups"], true);
    let of_cpus: BTreeMap<i64, i64> = of_cpus.into_iter().map(|(cpu, of)| (cpu, of[0])).collect();
    prop_assert_eq!(&of_cpus, &wakeups);
    let causes = sums(a, "cpu_wakeups", "cpu", &by, true);
    let causes: BTreeMap<i64, i64> = causes.into_iter().map(|(cpu, by)| (cpu, by.iter().sum())).collect();
    prop_assert_eq!(&of_cpus, &causes);
    let cpus = &a.tables["cpu_wakeups"];
    for row in 0..cpus.rows.len() {
        let known = cpus.int(row, "known_ns").unwrap();
        prop_assert!((0..=known).contains(&cpus.int(row, "c0_ns").unwrap_or(0)) && known <= a.span.len().0);
    }
    functions(a)
}

fn functions(a: &Analysed) -> Result<(), TestCaseError> {
    let sum = |col: &str| a.ints("power_by_function", col).iter().sum::<i64>();
    let ended = |col: &str| sums(a, "idle_ends", "cpu", &[col], false).values().map(|of| of[0]).sum::<i64>();
    prop_assert_eq!(sum("idle_wakeups"), ended("periods"));
    let within = |state: ThreadState| {
        let of = a.threads.iter().filter(move |s| s.state == state);
        of.filter_map(|s| s.span.overlap(a.span)).map(|span| span.len().0).sum::<i64>()
    };
    prop_assert_eq!(sum("cpu_ns"), within(ThreadState::Running));
    prop_assert_eq!(sum("wait_ns"), within(ThreadState::Blocked));
    let causes = &a.tables["switch_causes"];
    let (mut to_wait, mut runnable) = (0, 0);
    for row in 0..causes.rows.len() {
        let count = causes.int(row, "count").unwrap();
        match (causes.text(row, "cause").unwrap(), causes.text(row, "state_letter")) {
            ("blocked", _) => to_wait += count,
            ("exited", _) | ("unknown", None) => {}
            _ => runnable += count,
        }
    }
    prop_assert_eq!((sum("sync_switches"), sum("preemption_switches")), (to_wait, runnable));
    Ok(())
}
