//! Rows contain durations within their bounds and sum to each thread's running time.

use super::support::Analysed;
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["cpu_bursts"];
    let (mut ran, mut on_class) = (BTreeMap::new(), BTreeMap::new());
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col);
        let (thread, bursts, running) = (int("thread").unwrap(), int("bursts").unwrap(), int("running_ns").unwrap());
        *ran.entry(thread).or_insert(0) += running;
        if let Some(class) = int("core_class") {
            *on_class.entry((thread, class)).or_insert(0) += running;
        }
        prop_assert!(bursts > 0 && running > 0);
        if let (Some(from), Some(to)) = (int("from_ns"), int("to_ns")) {
            prop_assert!(from * bursts <= running && running < to * bursts);
        }
    }
    let threads = a.ints("smt_threads", "thread").into_iter().zip(a.ints("smt_threads", "running_ns"));
    prop_assert_eq!(ran, threads.collect::<BTreeMap<_, _>>());
    // Bursts on one class ran there, as did parts of bursts on several.
    let mut there = BTreeMap::new();
    let lengths = &a.tables["run_lengths"];
    for row in 0..lengths.rows.len() {
        let int = |col| lengths.int(row, col);
        if let Some(class) = int("core_class") {
            *there.entry((int("thread").unwrap(), class)).or_insert(0) += int("running_ns").unwrap();
        }
    }
    for (of, running) in on_class {
        prop_assert!(running <= there.get(&of).copied().unwrap_or(0));
    }
    Ok(())
}
