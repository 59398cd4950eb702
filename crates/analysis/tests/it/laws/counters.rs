//! `thread_counters`, `cpu_counters` and `thread_ipc`: every count of the span is in each once, and none is split.

use crate::support::Analysed;
use model::{Change, Counted, CpuId, Subject, Tid, tables};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tables::{cpu_counters, thread_counters, thread_ipc};

/// Count, time between the readings and time counted.
type Sums = (i64, i64, i64);

fn add(to: &mut Sums, count: i64, enabled: i64, counted: i64) {
    *to = (to.0 + count, to.1 + enabled, to.2 + counted);
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let (mut of_threads, mut of_cpus) =
        (BTreeMap::<(Tid, String), Sums>::new(), BTreeMap::<(i64, String), Sums>::new());
    for event in &a.events {
        let Change::Counted(CpuId(cpu), Counted { event: name, length, count, running }) = event.what else { continue };
        if event.at - length < a.span.start || !a.has(event.at) {
            continue;
        }
        let name = a.names[name.0 as usize - 1].to_string();
        add(of_cpus.entry((cpu.into(), name.clone())).or_default(), count, length.0, running.0);
        if let Subject::Thread(tid) = event.who
            && tid != Tid::IDLE
        {
            add(of_threads.entry((tid, name)).or_default(), count, length.0, running.0);
        }
    }
    // By event and core type: what threads counted, and what CPUs counted while threads ran.
    let mut booked = BTreeMap::<(String, String), [i64; 2]>::new();
    let (mut threads, mut cpus) = (BTreeMap::<(Tid, String), Sums>::new(), BTreeMap::<(i64, String), Sums>::new());
    for row in a.tables[tables::THREAD_COUNTERS.name].rows_of(thread_counters::Table) {
        let state = row.get(thread_counters::STATE);
        let times = (row.get(thread_counters::ENABLED_NS).0, row.get(thread_counters::COUNTED_NS).0);
        let count = row.get(thread_counters::COUNT);
        prop_assert_eq!(count.is_some(), matches!(state, "counted" | "multiplexed"), "{}", state);
        let (low, high) = (row.get(thread_counters::LOW), row.get(thread_counters::HIGH));
        if let (Some(low), Some(mean), Some(high)) = (low, row.get(thread_counters::ESTIMATE), high) {
            prop_assert!(low <= mean && mean <= high, "{} {} {}", low, mean, high);
        }
        let of_type = (row.get(thread_counters::COUNTER).to_owned(), row.get(thread_counters::CORE_TYPE).to_owned());
        booked.entry(of_type).or_default()[0] += count.unwrap_or(0);
        if times.0 > 0 {
            let key = (row.get(thread_counters::TID), row.get(thread_counters::COUNTER).to_owned());
            add(threads.entry(key).or_default(), count.unwrap_or(0), times.0, times.1);
        }
    }
    for row in a.tables[tables::CPU_COUNTERS.name].rows_of(cpu_counters::Table) {
        let count = row.get(cpu_counters::COUNT);
        let of_type = (row.get(cpu_counters::COUNTER).to_owned(), row.get(cpu_counters::CORE_TYPE).to_owned());
        booked.entry(of_type).or_default()[1] += row.get(cpu_counters::THREADS_COUNT).unwrap_or(0);
        let parts = [cpu_counters::THREADS_COUNT, cpu_counters::IDLE_COUNT, cpu_counters::UNKNOWN_COUNT];
        let parts = parts.map(|part| row.get(part).unwrap_or(0));
        prop_assert_eq!(parts.iter().sum::<i64>(), count.unwrap_or(0));
        if row.get(cpu_counters::STATE) != "no_event" {
            let key = (row.get(cpu_counters::CPU), row.get(cpu_counters::COUNTER).to_owned());
            let times = (row.get(cpu_counters::ENABLED_NS).0, row.get(cpu_counters::COUNTED_NS).0);
            add(cpus.entry(key).or_default(), count.unwrap_or(0), times.0, times.1);
        }
    }
    prop_assert!(booked.values().all(|[threads, cpus]| threads == cpus), "{:?}", booked);
    prop_assert_eq!(&threads, &of_threads);
    prop_assert_eq!(&cpus, &of_cpus);
    let mut by_state = BTreeMap::<(Tid, String), [Sums; 2]>::new();
    for row in a.tables[tables::THREAD_IPC.name].rows_of(thread_ipc::Table) {
        let all = row.get(thread_ipc::SIBLING) == "all";
        let sums = by_state.entry((row.get(thread_ipc::TID), row.get(thread_ipc::CORE_TYPE).to_owned())).or_default();
        let enabled = row.get(thread_ipc::ENABLED_NS);
        add(&mut sums[usize::from(all)], row.get(thread_ipc::CYCLES), enabled.0, row.get(thread_ipc::INSTRUCTIONS));
        prop_assert!(enabled >= row.get(thread_ipc::COUNTED_NS));
    }
    let has_parts = by_state.values().any(|[parts, _]| *parts != Sums::default());
    prop_assert!(!has_parts || by_state.values().all(|[parts, all]| parts == all), "{:?}", by_state);
    Ok(())
}
