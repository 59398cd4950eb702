//! Rows contain durations within their bounds. They sum to each thread's running time on each core class, and to its
//! runs.

use super::support::Analysed;
use model::{Ns, Reason, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["run_lengths"];
    let mut actual = BTreeMap::new();
    let (mut known, mut woken) = (0, 0);
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col);
        let (runs, running) = (int("runs").unwrap(), int("running_ns").unwrap());
        *actual.entry((int("thread").unwrap(), int("core_class"))).or_insert(0) += running;
        prop_assert!(runs > 0);
        if let (Some(from), Some(to)) = (int("from_ns"), int("to_ns")) {
            prop_assert!(from * runs <= running && running < to * runs);
            known += runs;
        }
        prop_assert_eq!(int("after_wake").is_some(), a.totals.ready_known);
        prop_assert!(int("after_wake").unwrap_or(0) <= runs && int("after_wake_ns").unwrap_or(0) <= running);
        woken += int("after_wake").unwrap_or(0);
    }
    let mut sums = BTreeMap::new();
    let (mut whole, mut after_wake) = (0, 0);
    for s in a.threads.iter().filter(|s| s.state == ThreadState::Running) {
        let Some(within) = s.span.overlap(a.span) else { continue };
        let class = s.cpu.map(|c| i64::from(a.machine.core_class(c)));
        *sums.entry((s.thread.0, class)).or_insert(0) += within.len().0;
        let begins = s.span.start > Ns::ZERO && s.span.start >= a.span.start && s.reason == Reason::None;
        whole += i64::from(begins && s.span.end < a.span.end);
        let before = a.threads.iter().find(|b| b.thread == s.thread && b.span.end == s.span.start);
        let woken = before.filter(|b| b.span.overlap(a.span).is_some()).is_some_and(|b| match b.state {
            ThreadState::Blocked => true,
            ThreadState::Ready => matches!(b.reason, Reason::Woken | Reason::New | Reason::WokenBefore),
            _ => false,
        });
        after_wake += i64::from(begins && woken && a.totals.ready_known);
    }
    prop_assert_eq!(actual, sums);
    prop_assert_eq!(known, whole);
    prop_assert_eq!(woken, after_wake);
    Ok(())
}
