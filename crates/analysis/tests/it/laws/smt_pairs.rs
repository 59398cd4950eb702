//! Which thread ran on the sibling at every instant. On cores of two CPUs this equals the time with a busy sibling.

use super::support::Analysed;
use super::support::instants::instants;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let mut pairs = BTreeMap::<(i64, i64), i64>::new();
    for instant in instants(a) {
        for core in &instant.cores {
            let threads: Vec<i64> = core.threads().collect();
            for (i, one) in threads.iter().enumerate() {
                for (_, other) in threads.iter().enumerate().filter(|(j, _)| *j != i) {
                    *pairs.entry((*one, *other)).or_default() += instant.ns;
                }
            }
        }
    }
    let [thread, sibling, ns] = ["thread", "sibling_thread", "overlap_ns"].map(|col| a.ints("smt_pairs", col));
    let actual: Vec<_> = thread.into_iter().zip(sibling).zip(ns).collect();
    prop_assert_eq!(actual, pairs.into_iter().collect::<Vec<_>>());
    Ok(())
}
