//! Comparisons of drawn runs.

use super::*;
use crate::{Series, ThreadFacts, Verdict};
use model::{Ns, Span, ThreadKey};

/// A run of 100 ms × `factor` with a main thread and two workers.
fn run(name: &str, factor: f64) -> Run {
    let thread = |key: i64, name: &str, running: f64| ThreadFacts {
        thread: ThreadKey(key),
        tid: key,
        pid: Some(1),
        name: name.to_owned(),
        process: "game".to_owned(),
        is_own: true,
        values: [("running_ns", running * factor), ("ready_ns", 5e6), ("blocked_ns", 1e6), ("voluntary", 100.0)].into(),
        ..ThreadFacts::default()
    };
    let spans: Vec<Span> = (0..30).map(|at| Span::new(Ns(at * 1000), Ns(at * 1000 + 500))).collect();
    Run {
        path: format!("{name}.cw"),
        format: "corewise".to_owned(),
        span_ns: 110_000_000,
        threads: vec![thread(1, "game", 50e6), thread(2, "worker-1", 20e6), thread(3, "worker-2", 20e6)],
        values: [("elapsed".to_owned(), 100e6 * factor)].into(),
        objective: "elapsed".to_owned(),
        series: vec![Series {
            name: "period:game".to_owned(),
            title: String::new(),
            ns: spans.iter().map(|_| 500.0 * factor).collect(),
            threads: vec![Some(ThreadKey(1)); spans.len()],
            spans,
        }],
        ..Run::default()
    }
}

/// Runs that vary by a known pattern of about 0.3 %.
fn runs(count: usize, factor: f64) -> Vec<Run> {
    let noise = |at: usize| 1.0 + [0.001, -0.002, 0.003, 0.0, -0.001, 0.002][at % 6] + at as f64 * 1e-5;
    (0..count).map(|at| run(&format!("r{at}"), factor * noise(at))).collect()
}

fn compared(a: &[Run], b: &[Run]) -> Comparison {
    compare([a, b], &CompareOptions::default()).unwrap()
}

#[test]
fn a_change_is_the_first_line_and_in_each_role() {
    let of = compared(&runs(6, 1.0), &runs(6, 1.1));
    assert_eq!(of.objective.verdict, Verdict::Changed);
    assert!(of.answer.starts_with("B is 10"), "{}", of.answer);
    assert!(of.answer.contains(" slower than A (95"), "{}", of.answer);
    let workers =
        of.metrics.iter().find(|m| m.metric.id == "running_ns" && m.metric.role.as_deref() == Some("game/worker"));
    let workers = workers.unwrap();
    assert_eq!(workers.verdict, Verdict::Changed);
    assert!(workers.q.unwrap() <= 0.05);
    assert_eq!(of.roles.iter().find(|role| role.name == "game/worker").unwrap().threads, [2.0, 2.0]);
}

#[test]
fn equal_sides_are_the_same_within_the_margin() {
    let of = compared(&runs(6, 1.0), &runs(6, 1.0005));
    assert_eq!(of.objective.verdict, Verdict::Same, "{}", of.answer);
    assert!(of.objective.at_most.unwrap() < 0.01);
    assert!(of.answer.starts_with("A and B are the same within 5.0"), "{}", of.answer);
}

#[test]
fn few_noisy_runs_are_unknown_and_say_how_many_more() {
    let noisy = |scale: f64| -> Vec<Run> { [1.0, 1.4, 0.8, 1.2].iter().map(|f| run("r", f * scale)).collect() };
    let of = compared(&noisy(1.0), &noisy(1.1));
    assert_eq!(of.objective.verdict, Verdict::Unknown);
    assert!(
        of.answer.starts_with("Unknown whether B differs from A") && of.answer.contains("more runs a side"),
        "{}",
        of.answer
    );
}

#[test]
fn pairs_are_compared_as_pairs() {
    // Each pair drifts by far more than the change.
    let drift = |scale: f64| -> Vec<Run> { (0..8).map(|at| run("r", (1.0 + at as f64 / 4.0) * scale)).collect() };
    let options = CompareOptions { paired: true, ..CompareOptions::default() };
    let of = compare([&drift(1.0), &drift(1.02)], &options).unwrap();
    assert!(of.paired && of.objective.verdict == Verdict::Changed, "{}", of.answer);
    assert!(of.answer.contains("in pairs"));
    assert_eq!(compared(&drift(1.0), &drift(1.02)).objective.verdict, Verdict::Unknown);
}

#[test]
fn one_run_a_side_has_no_verdict_about_the_end() {
    let of = compared(&runs(1, 1.0), &runs(1, 1.5));
    assert_eq!(of.objective.verdict, Verdict::Unknown);
    assert!(of.answer.contains("how much runs vary is unknown"), "{}", of.answer);
}

#[test]
fn unlike_machines_are_refused_unless_the_user_insists() {
    let on = |cpus: &str| {
        let mut all = runs(4, 1.0);
        all.iter_mut().for_each(|run| _ = run.machine.insert("CPUs".to_owned(), cpus.to_owned()));
        all
    };
    let why = compare([&on("8"), &on("16")], &CompareOptions::default()).unwrap_err().to_string();
    assert!(why.contains("CPUs: 8 on A, 16 on B") && why.contains("--across"), "{why}");
    let across = CompareOptions { across: true, ..CompareOptions::default() };
    assert!(compare([&on("8"), &on("16")], &across).unwrap().cautions[0].contains("unlike machines"));
}

#[test]
fn an_objective_that_no_run_has_is_refused_with_a_suggestion() {
    let options = CompareOptions { objective: Some("elapsd".to_owned()), ..CompareOptions::default() };
    let why = compare([&runs(4, 1.0), &runs(4, 1.0)], &options).unwrap_err().to_string();
    assert!(why.contains("did you mean elapsed"), "{why}");
    let options = CompareOptions { objective: Some("period:game.p99".to_owned()), ..CompareOptions::default() };
    assert!(compare([&runs(4, 1.0), &runs(4, 1.2)], &options).unwrap().answer.contains("99th percentile"));
}

#[test]
fn defects_and_runs_one_after_the_other_come_first() {
    let began = |from: i64| {
        let mut all = runs(4, 1.0);
        all.iter_mut().enumerate().for_each(|(at, run)| run.began_ns = Some(from + at as i64));
        all
    };
    let (mut a, b) = (began(0), began(100));
    a[1].defects.push("the recording lost 7 events".to_owned());
    let of = compared(&a, &b);
    assert!(of.cautions.iter().any(|of| of == "A, r1.cw: the recording lost 7 events."), "{:?}", of.cautions);
    assert!(of.cautions.iter().any(|of| of.contains("a drift of the machine")), "{:?}", of.cautions);
}

#[test]
fn totals_are_per_unit_of_work() {
    // Twice the work in twice the time.
    let options = CompareOptions { work: Some(Work::Units([100.0, 200.0])), ..CompareOptions::default() };
    let of = compare([&runs(6, 1.0), &runs(6, 2.0)], &options).unwrap();
    assert_eq!(of.objective.verdict, Verdict::Same, "{}", of.answer);
    assert_eq!(of.objective.metric.per.as_deref(), Some("unit of work"));
    let running = of.metrics.iter().find(|m| m.metric.id == "running_ns" && m.metric.role.is_none()).unwrap();
    assert_eq!(running.verdict, Verdict::Same);
}

#[test]
fn a_role_of_one_side_is_gone() {
    let mut b = runs(4, 1.0);
    b.iter_mut().for_each(|run| run.threads.truncate(1));
    let of = compared(&runs(4, 1.0), &b);
    let gone = of.roles.iter().find(|role| role.name == "game/worker").unwrap();
    assert_eq!((gone.matched_by, gone.threads), ("only_a", [2.0, 0.0]));
    assert!(!of.metrics.iter().any(|m| m.metric.role.as_deref() == Some("game/worker")));
}

#[test]
fn causes_are_per_unit_of_work_or_none() {
    let with_path = |factor: f64| {
        let mut all = runs(4, factor);
        all.iter_mut().for_each(|run| {
            let cause = crate::Cause::Running { core_type: "uniform", sibling_busy: false };
            let ns = run.values["elapsed"] as i64;
            run.path_parts = vec![crate::PathPart { thread: ThreadKey(1), cause, ns, khz_ns: 0 }];
            run.path_windows = 1;
        });
        all
    };
    let of = |units: [f64; 2]| {
        let options = CompareOptions { work: Some(Work::Units(units)), ..CompareOptions::default() };
        compare([&with_path(1.0), &with_path(2.0)], &options).unwrap().why
    };
    let why = of([100.0, 100.0]).unwrap();
    assert!((why.means[0] - 1e6).abs() < 1e4, "of one unit: {why:?}");
    let sum: f64 = why.pieces.iter().map(|piece| piece.ns).sum();
    assert!((sum - (why.means[1] - why.means[0])).abs() < 1e-3);
    // Twice the time for twice the work: pieces of +100 % would contradict the answer.
    assert!(of([100.0, 200.0]).is_none());
}
