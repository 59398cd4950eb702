//! Figures are parts of each thread's running time, and only threads with a class have an advice.

use super::support::Analysed;
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["task_classes"];
    let mut ran = BTreeMap::new();
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col);
        let (running, bursts) = (int("running_ns").unwrap(), int("bursts").unwrap());
        ran.insert(int("thread").unwrap(), running);
        prop_assert!(running > 0 && bursts > 0);
        for part in ["longest_ns", "long_ns", "crowded_ns"] {
            let part = int(part).unwrap();
            prop_assert!((0..=running).contains(&part));
        }
        prop_assert!(int("longest_ns").unwrap() * bursts >= running, "the longest is no shorter than the mean");
        if let Some(waking) = int("waking_bursts") {
            prop_assert!((0..=bursts).contains(&waking));
            prop_assert!((0..=waking).contains(&int("awaited_bursts").unwrap()));
        }
    }
    let threads = a.ints("smt_threads", "thread").into_iter().zip(a.ints("smt_threads", "running_ns"));
    prop_assert_eq!(ran, threads.collect::<BTreeMap<_, _>>());
    Ok(())
}
