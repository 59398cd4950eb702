//! The times of a thread's objects sum to its blocked time, and the waits for locks are among them.

use super::support::Analysed;
use model::ThreadState;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testkit::ByName;

const LOCKS: [&str; 5] = ["mutex", "pi_mutex", "rwlock", "kernel_mutex", "kernel_rwlock"];

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["wait_objects"];
    let (mut actual, mut of_locks) = (BTreeMap::<_, [i64; 2]>::new(), BTreeMap::<_, [i64; 2]>::new());
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col).unwrap();
        let [waits, blocked, longest, cut] = ["waits", "blocked_ns", "max_blocked_ns", "cut_ns"].map(int);
        prop_assert!(waits > 0 && longest <= blocked && cut <= blocked && longest.saturating_mul(waits) >= blocked);
        let kind = table.text(row, "kind").unwrap().to_owned();
        let has_object = table.text(row, "object").is_some();
        let has_none = kind == "unknown" || kind == "other";
        prop_assert!(has_object != has_none || kind == "sleep");
        for sums in [&mut actual, &mut of_locks].into_iter().take(1 + usize::from(LOCKS.contains(&&*kind))) {
            let sums = sums.entry(int("thread")).or_default();
            (sums[0], sums[1]) = (sums[0] + waits, sums[1] + blocked);
        }
    }
    let mut expected = BTreeMap::<_, [i64; 2]>::new();
    for wait in a.threads.iter().filter(|s| s.state == ThreadState::Blocked) {
        if let Some(within) = wait.span.overlap(a.span) {
            let sums = expected.entry(wait.thread.0).or_default();
            (sums[0], sums[1]) = (sums[0] + 1, sums[1] + within.len().0);
        }
    }
    prop_assert_eq!(&actual, &expected);

    let table = &a.tables["object_waits"];
    let mut each = BTreeMap::<_, [i64; 2]>::new();
    for row in 0..table.rows.len() {
        let sums = each.entry(table.int(row, "thread").unwrap()).or_default();
        (sums[0], sums[1]) = (sums[0] + 1, sums[1] + table.int(row, "waited_ns").unwrap());
    }
    prop_assert_eq!(&each, &expected);

    let table = &a.tables["lock_waits"];
    let mut once = BTreeSet::new();
    let (mut by_thread, mut by_lock) = (BTreeMap::<_, [i64; 2]>::new(), BTreeMap::<_, [i64; 4]>::new());
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col);
        let [start, end, waited] = ["start_ns", "end_ns", "waited_ns"].map(|col| int(col).unwrap());
        prop_assert_eq!(end - start, waited);
        let holder = int("holder");
        let held = int("held_ns");
        prop_assert_eq!(held.is_some(), holder.is_some());
        prop_assert!(holder != int("thread") && held.unwrap_or(0) <= waited);
        let of_holder = ["holder_running_ns", "holder_ready_ns", "holder_blocked_ns"].map(|col| int(col).unwrap_or(0));
        prop_assert!(of_holder.iter().sum::<i64>() <= held.unwrap_or(0));
        prop_assert!(holder.is_none() || int("holders").unwrap() > 0);
        let sums = by_thread.entry(int("thread").unwrap()).or_default();
        (sums[0], sums[1]) = (sums[0] + 1, sums[1] + waited);
        let text = |col| table.text(row, col).map(str::to_owned);
        let sums = by_lock.entry((int("pid"), text("lock"), text("kind"))).or_default();
        for (sum, more) in sums.iter_mut().zip([1, waited, held.unwrap_or(0), 0]) {
            *sum += more;
        }
        sums[3] = sums[3].max(waited);
        let basis = text("basis");
        prop_assert_eq!(basis.is_some(), holder.is_some());
        if basis.as_deref() == Some("release") {
            once.insert((int("pid"), text("lock"), text("kind")));
        }
    }
    // One wait without a named holder may be no wait for a lock.
    by_lock.iter_mut().filter(|(lock, sums)| sums[0] == 1 && once.contains(*lock)).for_each(|(_, sums)| sums[2] = 0);
    prop_assert_eq!(by_thread, of_locks);

    let table = &a.tables["locks"];
    let lock = |row| {
        let text = |col| table.text(row, col).map(str::to_owned);
        let sums = ["waits", "waited_ns", "held_ns", "max_waited_ns"].map(|col| table.int(row, col).unwrap());
        ((table.int(row, "pid"), text("lock"), text("kind")), sums)
    };
    let locks: BTreeMap<_, _> = (0..table.rows.len()).map(lock).collect();
    prop_assert_eq!(locks, by_lock);
    Ok(())
}
