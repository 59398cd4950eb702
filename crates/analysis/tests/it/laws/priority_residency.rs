//! Running and ready time at each priority, thread by thread; the shares of a thread that ran sum to one.

use super::support::Analysed;
use model::{ThreadState, Value};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["priority_residency"];
    let mut sums: BTreeMap<(i64, Option<i64>), (i64, i64)> = BTreeMap::new();
    for s in &a.threads {
        let Some(within) = s.span.overlap(a.span) else { continue };
        let key = (s.thread.0, s.prio.get().map(i64::from));
        match s.state {
            ThreadState::Running => sums.entry(key).or_default().0 += within.len().0,
            ThreadState::Ready => sums.entry(key).or_default().1 += within.len().0,
            _ => {}
        }
    }
    let mut actual = BTreeMap::new();
    let mut shares: BTreeMap<i64, f64> = BTreeMap::new();
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col);
        let thread = int("thread").unwrap();
        actual.insert((thread, int("prio")), (int("running_ns").unwrap(), int("ready_ns").unwrap()));
        if let Value::Float(share) = table.rows[row][table.def.col("share").unwrap()] {
            *shares.entry(thread).or_default() += share;
        }
    }
    prop_assert_eq!(actual, sums);
    prop_assert!(shares.values().all(|sum| (sum - 1.0).abs() < 1e-9));
    Ok(())
}
