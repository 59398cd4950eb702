//! The waits of each pair, looked up independently. The waker's state times lie within them, and are complete if it
//! changed its state less often than is remembered.

use super::support::Analysed;
use model::{Reason, ThreadKey, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::ByName;

/// The number of stretches kept for each thread.
const REMEMBERED: usize = 32;
const COLUMNS: [&str; 4] = ["waker_running_ns", "waker_preempted_ns", "waker_ready_ns", "waker_blocked_ns"];

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["waits"];
    let mut actual = BTreeMap::<_, [i64; 6]>::new();
    let mut by_waker = BTreeMap::<_, i64>::new();
    for row in 0..table.rows.len() {
        let int = |col| table.int(row, col);
        let waker = int("waker");
        prop_assert_eq!(COLUMNS.map(|col| int(col).is_some()), [waker.is_some_and(|key| key > 0); 4]);
        let waker_times = COLUMNS.map(|col| int(col).unwrap_or(0));
        let [waits, blocked] = ["waits", "blocked_ns"].map(|col| int(col).unwrap());
        prop_assert!(waker_times.iter().sum::<i64>() <= blocked);
        let together = int("woken_together");
        prop_assert_eq!(together.is_some(), waker.is_some_and(|key| key > 0));
        prop_assert!((0..=waits).contains(&together.unwrap_or(0)));
        if let Some(ended) = together {
            let of = by_waker.entry(waker).or_default();
            *of += ended;
        }
        let key = (int("thread"), waker, table.text(row, "state_letter").map(str::to_owned));
        let sums = actual.entry(key).or_default();
        for (sum, more) in sums.iter_mut().zip([waits, blocked].into_iter().chain(waker_times)) {
            *sum += more;
        }
    }
    // Without a waker nothing counts as woken together.
    prop_assert!(by_waker.values().all(|ended| *ended != 1));
    if !a.totals.ready_known {
        prop_assert!(actual.is_empty());
        return Ok(());
    }
    let mut expected = BTreeMap::<_, [i64; 6]>::new();
    let mut all = true;
    for wait in a.threads.iter().filter(|s| s.state == ThreadState::Blocked) {
        let ends = |s: &&model::ThreadStretch| s.thread == wait.thread && s.span.start == wait.span.end;
        let next = a.threads.iter().filter(ends).find(|s| s.span.end > s.span.start);
        let (Some(next), Some(within)) = (next, wait.span.overlap(a.span)) else { continue };
        let woken = matches!(next.state, ThreadState::Ready | ThreadState::Running);
        if !woken || next.span.start >= a.span.end {
            continue;
        }
        let waker = match next.state {
            ThreadState::Ready if next.waker_thread == ThreadKey::IDLE => Some(0),
            ThreadState::Ready => Some(next.waker_thread.0).filter(|key| *key >= 0),
            _ => None,
        };
        let letter = if let Reason::State(letter) = wait.reason { Some(char::from(letter).to_string()) } else { None };
        let sums = expected.entry((Some(wait.thread.0), waker, letter)).or_default();
        sums[0] += 1;
        sums[1] += within.len().0;
        let before = |s: &&model::ThreadStretch| Some(s.thread.0) == waker && s.span.start <= next.span.start;
        if waker.is_none_or(|key| key == 0) {
            continue;
        }
        all &= a.threads.iter().filter(before).count() < REMEMBERED;
        for stretch in a.threads.iter().filter(before) {
            let column = match (stretch.state, stretch.reason) {
                (ThreadState::Running, _) => 2,
                (ThreadState::Ready, reason) if reason.left_runnable() => 3,
                (ThreadState::Ready, _) => 4,
                (ThreadState::Blocked, _) => 5,
                _ => continue,
            };
            sums[column] += stretch.span.overlap(within).map_or(0, |s| s.len().0);
        }
    }
    let of_waits = |sums: &BTreeMap<_, [i64; 6]>| -> Vec<_> {
        let each = sums.iter().map(|(key, s): (&(_, _, Option<String>), _)| (key.clone(), s[0], s[1]));
        each.collect()
    };
    prop_assert_eq!(of_waits(&actual), of_waits(&expected));
    if all {
        prop_assert_eq!(actual, expected);
    }
    Ok(())
}
