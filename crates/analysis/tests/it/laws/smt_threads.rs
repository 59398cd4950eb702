//! The state of each thread's siblings at every instant; the four times tile its running time.

use super::support::Analysed;
use super::support::instants::instants;
use model::{CpuState, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let mut threads = BTreeMap::<i64, [i64; 4]>::new();
    for instant in instants(a) {
        for core in &instant.cores {
            let place = match core.cpus.len() {
                1 => 3,
                _ if core.count(CpuState::Busy) > 1 => 1,
                _ if core.count(CpuState::Unknown) > 0 => 2,
                _ => 0,
            };
            core.threads().for_each(|thread| threads.entry(thread).or_default()[place] += instant.ns);
        }
    }
    const TIMES: [&str; 4] = ["alone_ns", "sibling_busy_ns", "sibling_unknown_ns", "no_sibling_ns"];
    let times = TIMES.map(|col| a.ints("smt_threads", col));
    let keys = a.ints("smt_threads", "thread");
    prop_assert_eq!(&keys, &threads.keys().copied().collect::<Vec<_>>());
    for (row, (thread, expected)) in threads.iter().enumerate() {
        prop_assert_eq!((thread, &[0, 1, 2, 3].map(|c| times[c][row])), (thread, expected));
    }
    let running = |thread: i64| -> i64 {
        let of = a.threads.iter().filter(|s| s.thread.0 == thread && s.state == ThreadState::Running);
        of.filter_map(|s| s.span.overlap(a.span)).map(|s| s.len().0).sum()
    };
    prop_assert_eq!(a.ints("smt_threads", "running_ns"), keys.iter().map(|k| running(*k)).collect::<Vec<_>>());
    for (key, tid) in keys.iter().zip(a.ints("smt_threads", "tid")) {
        prop_assert!(a.threads.iter().any(|s| s.thread.0 == *key && i64::from(s.tid.0) == tid));
    }
    Ok(())
}
