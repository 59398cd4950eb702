//! Pieces of drawn paths.

use super::*;
use crate::PathPart;
use model::ThreadKey;

fn run(parts: &[(i64, Cause, i64, f64)]) -> Run {
    let part = |(thread, cause, ms, ghz): &(i64, Cause, i64, f64)| {
        let ns = ms * 1_000_000;
        PathPart { thread: ThreadKey(*thread), cause: cause.clone(), ns, khz_ns: (*ghz * 1e6) as i128 * i128::from(ns) }
    };
    Run { path_parts: parts.iter().map(part).collect(), path_windows: 1, ..Run::default() }
}

fn runs_on(sibling_busy: bool) -> Cause {
    Cause::Running { core_type: "uniform", sibling_busy }
}

fn why_of(a: Run, b: Run) -> Why {
    let roles = [FxHashMap::from_iter([(ThreadKey(1), 0), (ThreadKey(2), 1)])];
    why([&[a], &[b]], [&roles, &roles], &["Main".to_owned(), "Worker".to_owned()], false).unwrap()
}

#[test]
fn pieces_sum_to_the_change_and_the_largest_is_named() {
    let a = run(&[
        (1, runs_on(false), 100, 2.0),
        (2, runs_on(false), 50, 2.0),
        (1, Cause::Ready(Some(ThreadKey(2))), 10, 0.0),
    ]);
    let b = run(&[
        (1, runs_on(false), 101, 2.0),
        (2, runs_on(true), 50, 2.0),
        (1, Cause::Ready(Some(ThreadKey(2))), 60, 0.0),
    ]);
    let why = why_of(a, b);
    let sum: f64 = why.pieces.iter().map(|piece| piece.ns).sum();
    assert!((sum - 51e6).abs() < 1.0, "{why:?}");
    assert_eq!(why.pieces[0].title, "Main queued behind Worker");
    assert_eq!(
        why.line.as_deref(),
        Some("31.9\u{a0}% slower: Main queued behind Worker explains +50.000\u{a0}ms of +51.000\u{a0}ms (98\u{a0}%)")
    );
}

#[test]
fn a_lower_frequency_is_one_line() {
    let why = why_of(run(&[(1, runs_on(false), 26_309, 2.4057)]), run(&[(1, runs_on(false), 77_912, 0.8023)]));
    assert_eq!(why.line.as_deref(), Some("2.96 × slower: frequency 2.41 → 0.80\u{a0}GHz explains 2.999 ×"));
}

#[test]
fn faster_is_a_share_of_a_as_in_the_answer() {
    let why = why_of(run(&[(1, runs_on(false), 100, 0.0)]), run(&[(1, runs_on(false), 80, 0.0)]));
    assert!(why.line.as_deref().unwrap().starts_with("20.0\u{a0}% faster:"), "{why:?}");
}

#[test]
fn without_frequencies_running_longer_is_work_or_speed() {
    let why = why_of(run(&[(1, runs_on(false), 100, 0.0)]), run(&[(1, runs_on(false), 150, 0.0)]));
    assert_eq!(why.pieces.len(), 1);
    assert!(why.pieces[0].title.contains("frequency not recorded"), "{why:?}");
}

#[test]
fn a_side_without_a_path_has_no_causes() {
    let none: [&[Run]; 2] = [&[Run::default()], &[Run::default()]];
    let roles = [FxHashMap::default()];
    assert!(why(none, [&roles, &roles], &[], false).is_none());
}
