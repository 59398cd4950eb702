//! What is predicted of drawn recordings.

use crate::support;
use predict::{Prediction, Refusal, Setting, predict};

fn predicted(drawn: &str, changes: &[&str]) -> Result<Prediction, Refusal> {
    let changes: Vec<Setting> = changes.iter().map(|text| Setting::parse(text).unwrap()).collect();
    predict(&support::drawn(drawn, |_, _| {}), &changes, 1)
}

/// Two threads that take turns on the one CPU that they may use need half the time with another one each.
const PINNED: &str = "cpu0 U0  A B A B A B A B
                      cpu1 U1  . . . . . . . .
                      allowed A=0,B=0 . . . . . . .
                      seen    A@0,B+@0 . . . . . . .";

#[test]
fn another_affinity_lets_threads_run_at_the_same_time() {
    let as_it_was = predicted(PINNED, &[]).unwrap();
    assert_eq!(
        (as_it_was.recorded_ns, as_it_was.replayed_ns, as_it_was.predicted_ns),
        (8_000_000, 8_000_000, 8_000_000)
    );
    let apart = predicted(PINNED, &["thread(B).affinity=1"]).unwrap();
    assert_eq!((apart.predicted_ns, apart.changed), (4_000_000, vec![1]));
    let ready: Vec<i64> = apart.threads.iter().map(|(_, [before, after])| before.ready_ns - after.ready_ns).collect();
    assert!(ready.iter().sum::<i64>() >= 4_000_000, "{ready:?}");
}

#[test]
fn nothing_is_predicted_without_wakeups_or_for_threads_that_did_not_run() {
    let why = |result: Result<Prediction, Refusal>| match result {
        Err(Refusal::Why(why)) => why,
        other => panic!("{other:?}"),
    };
    let without = why(predicted(&format!("{PINNED}\nsource no_wakes"), &[]));
    assert!(without.contains("no wakeups"), "{without}");
    let other = why(predicted(PINNED, &["thread(Z).nice=5"]));
    assert_eq!(other, "no thread Z ran.");
}
