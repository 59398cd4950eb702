//! Makes a comparison of measured runs.

mod answer;
mod cautions;
mod metrics;

use crate::roles::{Confidence, MatchedBy, Roles, roles};
use crate::{Comparison, Outcome, RoleLine, Run, RunLine, Side, Verdict, conditions, verdict, why};
use metrics::Sampler;
use model::ThreadKey;
use rustc_hash::FxHashMap;
use stats::Method;
use std::collections::BTreeSet;

/// How runs are compared.
#[derive(Clone, PartialEq, Debug)]
pub struct CompareOptions {
    /// The names of the two sides.
    pub names: [String; 2],
    /// Sides that differ by less than this share are the same.
    pub margin: f64,
    /// The metric that the runs are judged by; `None`: what the runs show.
    pub objective: Option<String>,
    /// What a run's totals are divided by.
    pub work: Option<Work>,
    /// Roles or threads of A that have another name on B.
    pub map: Vec<(String, String)>,
    /// Whether to compare runs of unlike machines.
    pub across: bool,
    /// Whether run i of A and run i of B were made as a pair.
    pub paired: bool,
    /// The CPUs per core in use on each side, of counters (1: SMT is off): what whole cores did is compared if they differ.
    pub siblings: [usize; 2],
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            names: ["A".to_owned(), "B".to_owned()],
            margin: 0.05,
            objective: None,
            work: None,
            map: Vec::new(),
            across: false,
            paired: false,
            siblings: [1, 1],
        }
    }
}

/// The work of a run, by which its totals are divided.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Units of work of each run of A and of B.
    Units([f64; 2]),
    /// The number of these frames, periods or requests in each run, by the name of the series.
    Series(String),
}

/// Why runs cannot be compared: a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotComparable(pub String);

impl std::fmt::Display for NotComparable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotComparable {}

/// Compares the runs of two sides.
///
/// # Errors
/// A side is empty, the machines are unlike, or nothing can be compared; the message says what to do.
pub fn compare(sides: [&[Run]; 2], options: &CompareOptions) -> Result<Comparison, NotComparable> {
    if sides.iter().any(|runs| runs.is_empty()) {
        return Err(NotComparable("a side has no runs".to_owned()));
    }
    let unlike = conditions::unlike_machines(sides);
    if !unlike.is_empty() && !options.across {
        return Err(NotComparable(format!(
            "the sides were recorded on unlike machines ({}); use --across to compare them all the same",
            unlike.join("; ")
        )));
    }
    let objective = objective(sides, options)?;
    let roles = roles(sides, &options.map).map_err(|e| NotComparable(e.to_string()))?;
    let work = work(sides, options, &objective)?;
    let sampler = Sampler::new(sides, &roles, (work, unit_of(options, &objective)), options.paired);
    let mut of_objective = sampler.objective(&objective).ok_or_else(|| no_objective(sides, &objective))?;
    verdict::judge(&mut of_objective, options.margin, options.paired);
    let mut all = sampler.metrics(&objective);
    correct(&mut all);
    all.iter_mut().for_each(|outcome| verdict::judge(outcome, options.margin, options.paired));
    let why = followed(sides, &objective)
        .then(|| why::why(sides, sampler.role_maps(), sampler.role_names(), options.paired))
        .flatten()
        .and_then(|why| sampler.per_unit(why, &objective))
        .or_else(|| by_counts(sides, &objective));
    // What explains most of a difference that may be chance is no answer.
    let is_open =
        of_objective.verdict != Verdict::Changed && of_objective.effect.is_some_and(|e| e.method != Method::None);
    let why = why.map(|why| crate::Why { line: why.line.filter(|_| !is_open), ..why });
    let differences = conditions::differences(sides);
    let mut comparison = Comparison {
        answer: String::new(),
        cautions: cautions::cautions(sides, options, &of_objective, &unlike),
        sides: [0, 1].map(|side| side_of(sides[side], &options.names[side], &of_objective.values[side])),
        paired: is_paired(&of_objective),
        margin: options.margin,
        objective: of_objective,
        why,
        counted: counted(sides, options.siblings),
        metrics: all,
        roles: roles.roles.iter().map(line).collect(),
        distributions: sampler.distributions(),
        conditions: differences,
        not_compared: cautions::not_compared(sides, &options.names),
        methods: Vec::new(),
    };
    comparison.methods = answer::methods(&comparison, sides);
    comparison.answer = answer::answer(&comparison);
    Ok(comparison)
}

/// Whether the runs were analysed as pairs.
fn is_paired(objective: &Outcome) -> bool {
    objective.effect.is_some_and(|effect| effect.method == Method::SignedRank)
}

/// Sets the false discovery rates of metrics that have a p-value.
fn correct(outcomes: &mut [Outcome]) {
    let tested = |outcome: &Outcome| outcome.effect.and_then(|effect| effect.p);
    let p: Vec<f64> = outcomes.iter().filter_map(tested).collect();
    let q = stats::false_discovery(&p);
    let with_p = outcomes.iter_mut().filter(|outcome| tested(outcome).is_some());
    with_p.zip(q).for_each(|(outcome, q)| outcome.q = Some(q));
}

/// The metric by which the runs are judged: what the user set, or what all runs show, or else one that all runs have.
fn objective(sides: [&[Run]; 2], options: &CompareOptions) -> Result<String, NotComparable> {
    if let Some(objective) = &options.objective {
        return Ok(objective.clone());
    }
    let all = || sides.iter().flat_map(|runs| runs.iter());
    let shown: BTreeSet<&str> = all().map(|run| run.objective.as_str()).collect();
    let mut candidates: Vec<String> = shown.iter().filter(|of| !of.is_empty()).map(|of| (*of).to_owned()).collect();
    candidates.extend(["elapsed", "frame.mean", "cpu_ns", "ready_ns"].map(str::to_owned));
    let first = all().next();
    candidates
        .extend(first.into_iter().flat_map(|run| run.series.iter().map(|series| format!("{}.mean", series.name))));
    candidates.extend(first.into_iter().flat_map(|run| run.values.keys().cloned()));
    let known = |id: &String| all().all(|run| metrics::value_of_run(run, id).is_some());
    candidates.into_iter().find(known).ok_or_else(|| {
        NotComparable(
            "the runs have nothing in common to be judged by: no end of a recorded command, no frames, periods or requests that all of them have. \
             Record with `corewise record -- COMMAND`, or choose a metric with --objective"
                .to_owned(),
        )
    })
}

fn no_objective(sides: [&[Run]; 2], objective: &str) -> NotComparable {
    let known: BTreeSet<String> = sides.iter().flat_map(|runs| runs.iter()).flat_map(metrics::ids_of_run).collect();
    let meant = engine::did_you_mean(objective, known.iter().map(String::as_str));
    NotComparable(format!(
        "--objective {objective}: no run has this metric{meant} The runs have {}",
        known.into_iter().collect::<Vec<_>>().join(", ")
    ))
}

/// What the work is counted in, for users: `period`, `request`, `frame`, the name of marks, or `unit of work`.
fn unit_of(options: &CompareOptions, objective: &str) -> String {
    let of_series = |name: &str| match name.split_once(':') {
        Some(("mark", name)) => name.trim_end_matches('*').to_owned(),
        Some((kind, _)) => kind.to_owned(),
        None => name.to_owned(),
    };
    match (&options.work, objective.rsplit_once('.')) {
        (Some(Work::Series(name)), _) => of_series(name),
        (None, Some((name, _))) => of_series(name),
        _ => "unit of work".to_owned(),
    }
}

/// The work of each run of each side.
fn work(sides: [&[Run]; 2], options: &CompareOptions, objective: &str) -> Result<[Vec<f64>; 2], NotComparable> {
    let of_series = |name: &str| {
        [0, 1].map(|side| {
            let count = |run: &Run| run.series.iter().find(|s| s.name == name).map_or(0, |s| s.ns.len());
            sides[side].iter().map(|run| count(run) as f64).collect::<Vec<f64>>()
        })
    };
    match &options.work {
        Some(Work::Units(units)) => Ok([0, 1].map(|side| vec![units[side]; sides[side].len()])),
        Some(Work::Series(name)) => {
            let counts = of_series(name);
            if counts.iter().flatten().any(|count| *count == 0.0) {
                let known: BTreeSet<&str> = sides
                    .iter()
                    .flat_map(|runs| runs.iter())
                    .flat_map(|run| run.series.iter().map(|s| s.name.as_str()))
                    .collect();
                return Err(NotComparable(format!(
                    "--work {name}: not every run has such frames, periods or requests; the runs have {}",
                    if known.is_empty() { "none".to_owned() } else { known.into_iter().collect::<Vec<_>>().join(", ") }
                )));
            }
            Ok(counts)
        }
        // Judged by frames, periods or requests, totals are those of one of them.
        None => Ok(match objective.rsplit_once('.') {
            Some((name, _))
                if sides.iter().all(|runs| runs.iter().all(|run| run.series.iter().any(|s| s.name == name))) =>
            {
                of_series(name)
            }
            _ => sides.map(|runs| vec![1.0; runs.len()]),
        }),
    }
}

/// The causes by counted instructions and cycles, of runs without a critical path.
fn by_counts(sides: [&[Run]; 2], objective: &str) -> Option<crate::Why> {
    let of = |side: usize| sides[side].iter().collect::<Vec<&Run>>();
    ["elapsed", "cpu_ns"].contains(&objective).then(|| crate::explain(&of(0), &of(1))).flatten()
}

/// What counters say of whole runs, a sentence each.
fn counted(sides: [&[Run]; 2], siblings: [usize; 2]) -> Vec<String> {
    let [a, b] = sides.map(|runs| runs.iter().collect::<Vec<&Run>>());
    let smt = if siblings[0] == siblings[1] { None } else { crate::smt(&a, &b, siblings) };
    smt.map(|of| of.line).into_iter().chain(crate::preempted_time(&a, &b)).collect()
}

/// Whether the critical paths of the runs lead to this objective.
fn followed(sides: [&[Run]; 2], objective: &str) -> bool {
    sides.iter().all(|runs| runs.iter().all(|run| run.objective == objective && !run.path_parts.is_empty()))
}

fn side_of(runs: &[Run], name: &str, values: &[Option<f64>]) -> Side {
    let line = |(run, value): (&Run, &Option<f64>)| RunLine {
        path: run.path.clone(),
        value: *value,
        defects: run.defects.clone(),
    };
    let mut known: Vec<(f64, usize)> =
        values.iter().enumerate().filter_map(|(at, value)| Some(((*value)?, at))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let median_run = known.get(known.len().saturating_sub(1) / 2).map(|(_, at)| *at);
    Side { name: name.to_owned(), runs: runs.iter().zip(values).map(line).collect(), median_run }
}

/// A role as shown.
fn line(role: &crate::Role) -> RoleLine {
    RoleLine {
        name: role.name.clone(),
        process: role.process.clone(),
        thread: role.thread.clone(),
        threads: role.threads,
        matched_by: match role.matched_by {
            MatchedBy::Name => "name",
            MatchedBy::Wakeups => "wakeups",
            MatchedBy::Map => "map",
            MatchedBy::OnlyA => "only_a",
            MatchedBy::OnlyB => "only_b",
        },
        confidence: match role.confidence {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        },
        is_own: role.is_own,
        is_kernel: role.is_kernel,
    }
}

/// The role of each thread of each run.
pub(crate) fn maps(roles: &Roles, sides: [&[Run]; 2]) -> [Vec<FxHashMap<ThreadKey, usize>>; 2] {
    [0, 1].map(|side| (0..sides[side].len()).map(|run| roles.of_run(side, run).into_iter().collect()).collect())
}

#[cfg(test)]
mod tests;
