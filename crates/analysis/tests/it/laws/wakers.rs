//! The wakeups of each pair, the ready time that followed, and the CPU of the run queue, each looked up independently.

use super::support::Analysed;
use model::{Ns, Reason, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["wakers"];
    let mut actual = BTreeMap::new();
    let [mut same, mut other] = [0, 0];
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col);
        let of = |col| int(col).unwrap();
        prop_assert_eq!(of("wakings"), of("same_cpu") + of("other_cpu") + of("unknown_cpu"));
        actual.insert((int("waker"), of("thread")), (of("wakings"), of("ready_ns")));
        same += of("same_cpu");
        other += of("other_cpu");
    }
    let mut sums: BTreeMap<_, (i64, i64)> = BTreeMap::new();
    // How many are certainly to the waker's own CPU, how many certainly to another, and how many depend on the order
    // within one instant.
    let [mut surely_same, mut surely_other, mut either] = [0, 0, 0];
    for s in a.threads.iter().filter(|s| s.state == ThreadState::Ready) {
        let (Some(within), Reason::Woken | Reason::New | Reason::WokenBefore) = (s.span.overlap(a.span), s.reason)
        else {
            continue;
        };
        let waker = Some(s.waker_thread.0).filter(|key| *key >= 0);
        let (wakings, ready) = sums.entry((waker, s.thread.0)).or_default();
        *ready += within.len().0;
        let at = s.span.start;
        if at == Ns::ZERO || at < a.span.start {
            continue;
        }
        *wakings += 1;
        if waker.is_none_or(|key| key == 0) || s.reason == Reason::WokenBefore {
            continue;
        }
        let of_waker = || a.threads.iter().filter(|w| Some(w.thread.0) == waker);
        let ran = of_waker().find(|w| w.state == ThreadState::Running && w.span.start < at && at < w.span.end);
        match ran.and_then(|w| w.cpu).zip(s.cpu) {
            Some((from, to)) if from == to => surely_same += 1,
            Some(_) => surely_other += 1,
            None => either += i64::from(of_waker().any(|w| w.span.start == at || w.span.end == at)),
        }
    }
    prop_assert_eq!(actual, sums);
    prop_assert!(surely_same <= same && same <= surely_same + either);
    prop_assert!(surely_other <= other && other <= surely_other + either);
    Ok(())
}
