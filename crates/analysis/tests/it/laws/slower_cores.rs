//! What faster cores offer while a thread runs on a slower one, looked up at every instant; it tiles running there.

use super::support::Analysed;
use super::support::allowed::allowed;
use super::support::instants::{Core, instants};
use model::{CpuId, CpuState, Ns, ThreadKey, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The priority at which a thread runs on a CPU, if recorded.
fn prio(a: &Analysed, thread: ThreadKey, cpu: CpuId, at: Ns) -> Option<i16> {
    let runs = |s: &&model::ThreadStretch| {
        s.thread == thread
            && s.state == ThreadState::Running
            && s.cpu == Some(cpu)
            && s.span.start <= at
            && at < s.span.end
    };
    a.threads.iter().find(runs).and_then(|s| s.prio.get())
}

/// The column: 0 idle, 1 idle where it is not allowed, 2 one of lower priority, 3 none, 4 affinity not recorded.
fn found(a: &Analysed, thread: ThreadKey, cpu: CpuId, class: u32, at: Ns, cores: &[Core]) -> usize {
    let Some(set) = allowed(a, thread, at) else { return 4 };
    let faster = || cores.iter().filter(|c| c.class.is_some_and(|c| c > class));
    let may = |core: &Core| core.cpus.iter().any(|c| set.contains(&c.id));
    let parked = |c: &Core| c.cpus.iter().all(|c| c.parked);
    let idles =
        |c: &&Core| c.siblings_known && c.count(CpuState::Busy) == 0 && c.count(CpuState::Unknown) == 0 && !parked(c);
    let own = prio(a, thread, cpu, at);
    let lower = || {
        faster()
            .flat_map(|c| &c.cpus)
            .filter(|c| c.state == CpuState::Busy && set.contains(&c.id))
            .any(|c| prio(a, c.thread, c.id, at).zip(own).is_some_and(|(theirs, own)| theirs > own))
    };
    if faster().filter(idles).any(may) {
        0
    } else if faster().any(|c| idles(&c)) {
        1
    } else if lower() {
        2
    } else {
        3
    }
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let fastest = a.machine.class_names.len().saturating_sub(1) as u32;
    let mut threads = BTreeMap::<i64, [i64; 5]>::new();
    for instant in instants(a) {
        for core in &instant.cores {
            let Some(class) = core.class.filter(|class| *class < fastest) else { continue };
            for cpu in core.cpus.iter().filter(|c| c.state == CpuState::Busy) {
                let column = found(a, cpu.thread, cpu.id, class, instant.from, &instant.cores);
                threads.entry(cpu.thread.0).or_default()[column] += instant.ns;
            }
        }
    }
    threads.retain(|_, by| by.iter().any(|ns| *ns > 0));
    let cols = ["faster_idle_ns", "faster_not_allowed_ns", "faster_lower_ns", "none_ns", "permission_unknown_ns"]
        .map(|col| a.ints("slower_cores", col));
    let running = a.ints("slower_cores", "running_ns");
    let keys = a.ints("slower_cores", "thread");
    prop_assert_eq!(&keys, &threads.keys().copied().collect::<Vec<_>>());
    for (row, (thread, expected)) in threads.iter().enumerate() {
        prop_assert_eq!((thread, cols.each_ref().map(|c| c[row])), (thread, *expected));
        prop_assert_eq!((thread, running[row]), (thread, expected.iter().sum::<i64>()));
    }
    // The table placement calculates the same by clocks.
    let slower: BTreeMap<i64, i64> =
        a.ints("placement", "thread").into_iter().zip(a.ints("placement", "slower_core_lower_ns")).collect();
    for (row, thread) in keys.iter().enumerate() {
        prop_assert_eq!((thread, slower.get(thread)), (thread, Some(&cols[0][row])));
    }
    Ok(())
}
