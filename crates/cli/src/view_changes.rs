//! What changed between the two traces of `corewise view`, by role of threads.

use crate::args::Global;
use compare::{CompareOptions, Comparison, Confidence, MatchedBy, MeasureOptions, Role, Run, Unit, Verdict};
use serve::{ChangeMetric, Changes, ChangesSender, RoleChange, ValueChange};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The metrics by which threads can be coloured, each with the values of threads of which it is the sum.
const METRICS: [(&str, &[&str]); 5] = [
    ("running_ns", &["running_ns"]),
    ("ready_ns", &["ready_ns"]),
    ("blocked_ns", &["blocked_ns"]),
    ("switches", &["voluntary", "involuntary"]),
    ("migrations", &["migrations"]),
];
/// The ratio of times is shown from this share of the longer recording on, as `compare` does with the share of its objective.
const MIN_SHARE: f64 = 0.005;
/// The ratio of counts is shown from this count on, as in `compare`.
const MIN_COUNT: f64 = 10.0;

/// Compares two traces in a thread of its own.
pub fn start(paths: [PathBuf; 2], global: &Global, to: ChangesSender) {
    let global = global.clone();
    // Without a thread, the sender is dropped, and the viewer shows that there is no comparison.
    let _ = std::thread::Builder::new().name("compare".into()).spawn(move || to.send(compared(&paths, &global)));
}

/// Measures and compares two traces.
fn compared([first, second]: &[PathBuf; 2], global: &Global) -> Result<Changes, String> {
    let pass = global.pass_options().map_err(|e| e.message)?;
    let sides = [std::slice::from_ref(first), std::slice::from_ref(second)];
    let measured =
        compare::measure(sides, &pass, &MeasureOptions::default(), false, &|_| ()).map_err(|e| e.to_string())?;
    let [a, b] = &measured.runs;
    let ([a], [b]) = (&a[..], &b[..]) else { return Err("each side must be one recording".to_owned()) };
    // The viewer shows any two traces; that their machines differ is a caution.
    let options = CompareOptions { names: names([first, second]), across: true, ..CompareOptions::default() };
    changes([a, b], &options)
}

/// The names of the folders, as the viewer shows them, if they differ.
fn names(paths: [&Path; 2]) -> [String; 2] {
    let name = |path: &Path| {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        whole.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let [a, b] = paths.map(name);
    if a == b || a.is_empty() || b.is_empty() { ["first".to_owned(), "second".to_owned()] } else { [a, b] }
}

/// What changed between two measured runs.
fn changes(runs: [&Run; 2], options: &CompareOptions) -> Result<Changes, String> {
    if runs.iter().any(|run| run.threads.is_empty()) {
        return Err("one of the recordings has no threads".to_owned());
    }
    let sides = runs.map(std::slice::from_ref);
    let roles = compare::roles(sides, &[]).map_err(|e| e.to_string())?;
    let (comparison, mut notes) = match compare::compare(sides, options) {
        Ok(comparison) => (Some(comparison), roles.notes),
        Err(why) => (None, roles.notes.into_iter().chain([why.to_string()]).collect()),
    };
    notes.splice(0..0, comparison.iter().flat_map(|of| of.cautions.iter().cloned()));
    // A side is one recording here, and has its name: the path, perhaps one in the cache, says no more.
    for note in &mut notes {
        for run in runs {
            *note = note.replace(&format!(", {}: ", run.path), ": ");
        }
    }
    let measured = runs.map(|run| run.threads.iter().map(|thread| (thread.thread, thread)).collect::<HashMap<_, _>>());
    let longest = runs.map(|run| run.span_ns).into_iter().max().unwrap_or_default() as f64;
    let change = |role: &Role, (id, parts): (&str, &[&str])| {
        let values = [0, 1].map(|side| {
            let threads = role.members[side].iter().flatten().filter_map(|key| measured[side].get(key));
            let known = threads.flat_map(|thread| parts.iter().filter_map(|part| thread.values.get(part).copied()));
            known.fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or_default() + value))
        });
        let least = if is_time(id) { MIN_SHARE * longest } else { MIN_COUNT };
        ValueChange {
            values,
            is_small: values.iter().flatten().all(|value| *value < least),
            verdict: comparison.as_ref().and_then(|of| verdict(of, &role.name, id)),
        }
    };
    Ok(Changes {
        answer: comparison.as_ref().map(|of| of.answer.clone()).unwrap_or_default(),
        notes,
        span_ns: runs.map(|run| run.span_ns),
        metrics: METRICS
            .iter()
            .map(|(id, _)| ChangeMetric {
                id: (*id).to_owned(),
                title: compare::metric(id, None).title,
                is_time: is_time(id),
            })
            .collect(),
        roles: roles
            .roles
            .iter()
            .map(|role| RoleChange {
                name: role.name.clone(),
                matched_by: match role.matched_by {
                    MatchedBy::Name => Some("name"),
                    MatchedBy::Wakeups => Some("wakeups and waits"),
                    MatchedBy::Map => Some("the user"),
                    MatchedBy::OnlyA | MatchedBy::OnlyB => None,
                },
                confidence: match role.confidence {
                    Confidence::Low => "low",
                    Confidence::Medium => "medium",
                    Confidence::High => "high",
                },
                is_own: role.is_own && !role.is_kernel,
                threads: [0, 1].map(|side| role.members[side].iter().flatten().copied().collect()),
                values: METRICS.iter().map(|of| change(role, *of)).collect(),
            })
            .collect(),
    })
}

fn is_time(id: &str) -> bool {
    compare::metric(id, None).unit == Unit::Ns
}

/// The verdict on a metric of a role, if the recordings suffice for one.
fn verdict(comparison: &Comparison, role: &str, id: &str) -> Option<&'static str> {
    let is_it = |of: &&compare::Outcome| of.metric.id == id && of.metric.role.as_deref() == Some(role);
    match comparison.metrics.iter().find(is_it)?.verdict {
        Verdict::Changed => Some("changed"),
        Verdict::Same => Some("same"),
        Verdict::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compare::ThreadFacts;
    use model::ThreadKey;
    use std::collections::BTreeMap;

    /// A thread of the program with its running, ready and blocked time, switches of both kinds, and migrations.
    fn thread(key: i64, name: &str, values: [f64; 6]) -> ThreadFacts {
        let ids = ["running_ns", "ready_ns", "blocked_ns", "voluntary", "involuntary", "migrations"];
        ThreadFacts {
            thread: ThreadKey(key),
            tid: 100 + key,
            pid: Some(101),
            name: name.to_owned(),
            process: "game".to_owned(),
            is_own: true,
            values: ids.into_iter().zip(values).collect(),
            ..ThreadFacts::default()
        }
    }

    fn run(threads: Vec<ThreadFacts>) -> Run {
        let values = BTreeMap::from([("elapsed".to_owned(), 1e9)]);
        Run { span_ns: 1_000_000_000, objective: "elapsed".to_owned(), values, threads, ..Run::default() }
    }

    #[test]
    fn roles_have_the_sums_of_their_threads() {
        let a = run(vec![
            thread(1, "game", [9e8, 0.0, 1e8, 50.0, 0.0, 3.0]),
            thread(2, "Worker 1", [1e8, 2e8, 1e8, 5.0, 6.0, 4.0]),
            thread(3, "Worker 2", [1e8, 4e7, 1e8, 5.0, 6.0, 4.0]),
            thread(4, "Old", [2e8, 1e6, 1e8, 20.0, 0.0, 1.0]),
        ]);
        let b = run(vec![
            thread(1, "game", [9e8, 0.0, 1e8, 50.0, 0.0, 3.0]),
            thread(5, "Worker 1", [4e8, 4.89e8, 1e8, 10.0, 30.0, 9.0]),
        ]);
        let changes = changes([&a, &b], &CompareOptions::default()).unwrap();
        let ids: Vec<&str> = changes.metrics.iter().map(|of| of.id.as_str()).collect();
        assert_eq!(ids, ["running_ns", "ready_ns", "blocked_ns", "switches", "migrations"]);
        let titles: Vec<&str> = changes.metrics.iter().map(|of| of.title.as_str()).collect();
        assert_eq!(titles, ["running time", "ready time", "wait time", "context switches", "migrations"]);
        let role = |name: &str| changes.roles.iter().find(|of| of.name == name).unwrap();
        let worker = role("game/Worker");
        assert_eq!(
            (worker.matched_by, &worker.threads, worker.is_own),
            (Some("name"), &[vec![ThreadKey(2), ThreadKey(3)], vec![ThreadKey(5)]], true)
        );
        let values: Vec<[Option<f64>; 2]> = worker.values.iter().map(|of| of.values).collect();
        let of = |a: f64, b: f64| [Some(a), Some(b)];
        assert_eq!(values, [of(2e8, 4e8), of(2.4e8, 4.89e8), of(2e8, 1e8), of(22.0, 40.0), of(8.0, 9.0)]);
        // Migrations: fewer than 10 on both sides.
        let small: Vec<bool> = worker.values.iter().map(|of| of.is_small).collect();
        assert_eq!(small, [false, false, false, false, true]);
        // One recording a side has no interval.
        assert!(worker.values.iter().all(|of| of.verdict.is_none()));
        let old = role("game/Old");
        assert_eq!((old.matched_by, &old.threads), (None, &[vec![ThreadKey(4)], vec![]]));
        assert_eq!(old.values[0].values, [Some(2e8), None]);
        assert!(!changes.answer.is_empty());
    }

    #[test]
    fn notes_have_the_names_of_the_recordings_but_not_their_paths() {
        let mut a = run(vec![thread(1, "game", [9e8, 0.0, 1e8, 50.0, 0.0, 3.0])]);
        let b = a.clone();
        (a.path, a.defects) =
            ("/cache/traces/1234/game.cw".to_owned(), vec!["2 % of its CPU time is unknown".to_owned()]);
        let options = CompareOptions { names: ["game".to_owned(), "other".to_owned()], ..CompareOptions::default() };
        let notes = changes([&a, &b], &options).unwrap().notes;
        assert!(notes.contains(&"game: 2 % of its CPU time is unknown.".to_owned()), "{notes:?}");
    }

    #[test]
    fn what_is_not_recorded_has_no_value() {
        let mut a = run(vec![thread(1, "game", [9e8, 0.0, 1e8, 50.0, 0.0, 3.0])]);
        let b = a.clone();
        a.threads[0].values.remove("ready_ns");
        let changes = changes([&a, &b], &CompareOptions::default()).unwrap();
        assert_eq!(changes.roles[0].values[1].values, [None, Some(0.0)]);
        let none = run(Vec::new());
        assert!(super::changes([&none, &b], &CompareOptions::default()).is_err_and(|why| why.contains("no threads")));
    }

    #[test]
    fn traces_of_one_name_are_first_and_second() {
        let of = |a: &str, b: &str| names([Path::new(a), Path::new(b)]);
        assert_eq!(of("x/before.cw", "x/after.cw"), ["before", "after"]);
        assert_eq!(of("x/run.cw", "y/run.cw"), ["first", "second"]);
    }
}
