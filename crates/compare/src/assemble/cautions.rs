//! What must be known before the numbers.

use super::CompareOptions;
use crate::{Outcome, Run};
use model::words::plural;
use std::collections::{BTreeMap, BTreeSet};

/// A mean share of stolen time above this is worth a word.
const MUCH_STEAL: f64 = 0.02;
/// With fewer runs a side, exact tests have no 95 % interval.
const FEW_RUNS: usize = 4;

/// What must be known before the numbers, a sentence each.
pub(super) fn cautions(
    sides: [&[Run]; 2],
    options: &CompareOptions,
    objective: &Outcome,
    unlike: &[String],
) -> Vec<String> {
    let mut all = Vec::new();
    if !unlike.is_empty() {
        all.push(format!("The sides were recorded on unlike machines ({}).", unlike.join("; ")));
    }
    let formats: BTreeSet<&str> = sides.iter().flat_map(|runs| runs.iter().map(|run| run.format.as_str())).collect();
    if formats.len() > 1 {
        let formats = formats.into_iter().collect::<Vec<_>>().join(", ");
        all.push(format!("The runs are of unlike formats ({formats}), which do not record the same events."));
    }
    let [a, b] = sides.map(<[Run]>::len);
    let fewest = a.min(b);
    if fewest == 1 && (a, b) != (1, 1) {
        all.push("One side has a single run, so nothing is known about variation between its runs.".to_owned());
    } else if (2..FEW_RUNS).contains(&fewest) {
        all.push(format!(
            "With {} a side, the interval assumes normally distributed runs; from 4 on it assumes no distribution.",
            plural(fewest as u64, "run")
        ));
    }
    for (runs, name) in sides.iter().zip(&options.names) {
        let defects = runs
            .iter()
            .flat_map(|run| run.defects.iter().map(move |defect| format!("{name}, {}: {defect}.", run.path)));
        all.extend(defects);
    }
    let lacking = objective.values.iter().flatten().filter(|value| value.is_none()).count();
    if lacking > 0 {
        all.push(format!("{} without the objective ({}).", plural(lacking as u64, "run"), objective.metric.title));
    }
    if !options.paired && one_after_the_other(sides) {
        all.push(
            "All runs of one side were recorded before those of the other, so a drift of the machine would look like a change; `corewise ab` \
             records them in turn."
                .to_owned(),
        );
    }
    all.extend(steal(sides, &options.names));
    all
}

/// Whether all runs of one side began before those of the other, as far as is known.
fn one_after_the_other(sides: [&[Run]; 2]) -> bool {
    let hosts: BTreeSet<_> =
        sides.iter().flat_map(|runs| runs.iter().map(|run| run.conditions.get("hostname"))).collect();
    let began = sides.map(|runs| runs.iter().map(|run| run.began_ns).collect::<Option<Vec<i64>>>());
    let [Some(a), Some(b)] = &began else { return false };
    let last = |of: &[i64]| of.iter().copied().max();
    let first = |of: &[i64]| of.iter().copied().min();
    hosts.len() == 1 && a.len() + b.len() > 2 && (last(a) < first(b) || last(b) < first(a))
}

/// Steal on either side.
fn steal(sides: [&[Run]; 2], names: &[String; 2]) -> Option<String> {
    let mean = |runs: &[Run]| {
        let known: Vec<f64> = runs.iter().filter_map(|run| run.values.get("steal_share").copied()).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let [a, b] = sides.map(mean).map(Option::unwrap_or_default);
    (a.max(b) > MUCH_STEAL).then(|| {
        format!(
            "The hypervisor took {:.1} % of the CPUs' time on {} and {:.1} % on {}.",
            a * 100.0,
            names[0],
            b * 100.0,
            names[1]
        )
    })
}

/// What was not compared, and why: what only one side lacks or has. What both lack alike does not matter for the comparison.
pub(super) fn not_compared(sides: [&[Run]; 2], names: &[String; 2]) -> Vec<String> {
    // Sentences that differ in their numbers only are one.
    let without_numbers = |of: &str| of.replace(|c: char| c.is_ascii_digit(), "");
    let lacks = |runs: &[Run]| {
        runs.iter().flat_map(|run| &run.lacks).map(|of| (without_numbers(of), of.clone())).collect::<BTreeMap<_, _>>()
    };
    let [of_a, of_b] = sides.map(lacks);
    let mut words = Vec::new();
    for (here, there, name) in [(&of_a, &of_b, &names[0]), (&of_b, &of_a, &names[1])] {
        let only = here.iter().filter(|(key, of)| !there.contains_key(*key) && !of.contains("callchain"));
        words.extend(only.map(|(_, of)| format!("Only {name}: {of}")));
    }
    let series =
        |runs: &[Run]| runs.iter().flat_map(|run| run.series.iter().map(|s| s.name.clone())).collect::<BTreeSet<_>>();
    let [a, b] = sides.map(series);
    for name in a.symmetric_difference(&b) {
        let side = usize::from(!a.contains(name));
        words.push(format!("{} is only in runs of {}.", crate::measure::series::title(name), names[side]));
    }
    words
}
