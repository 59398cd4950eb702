//! Any number of sides side by side: switches, energy, idle states and the time of threads.
//!
//! ```text
//!   runs with labels     os=new plug=no   os=new plug=yes   os=old plug=no   …
//!   by `os`, `plug`      one side each; a value is the mean of its runs, with the least and the greatest
//! ```
//!
//! Nothing is judged: what differs between two sides, and whether it could be chance, is what [`crate::compare()`] says.

mod show;

use crate::conditions::changes_by_itself;
use crate::{NotComparable, Run};
use std::collections::{BTreeMap, BTreeSet};

/// Sides and what was measured on each.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    /// The sides, in the order of their first runs.
    sides: Vec<Side>,
    /// What must be known before the numbers, a sentence each.
    cautions: Vec<String>,
}

/// The runs with the same labels.
#[derive(Clone, PartialEq, Debug)]
struct Side {
    name: String,
    runs: Vec<Run>,
}

/// The mean of a side's runs, the least and the greatest of their values.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Spread {
    mean: f64,
    min: f64,
    max: f64,
    runs: usize,
}

impl Matrix {
    /// Puts runs with the same values of these labels on one side. A run of a printed table has the name of the run as its side.
    ///
    /// # Errors
    /// A run lacks a label, or all runs are on one side.
    pub fn new(runs: Vec<Run>, by: &[String], left_out: Vec<String>) -> Result<Self, NotComparable> {
        let (mut sides, mut cautions): (Vec<Side>, _) = (Vec::new(), left_out);
        for run in runs {
            let name = name_of(&run, by)?;
            match sides.iter_mut().find(|side| side.name == name) {
                Some(side) => side.runs.push(run),
                None => sides.push(Side { name, runs: vec![run] }),
            }
        }
        if let [side] = &sides[..] {
            return Err(NotComparable(format!(
                "all runs are on one side, {}: record each side with labels of its own (`corewise record --label os=new`)",
                side.name
            )));
        }
        let all = || sides.iter().flat_map(|side| &side.runs);
        let machines: BTreeSet<_> = all().map(|run| &run.machine).filter(|machine| !machine.is_empty()).collect();
        if machines.len() > 1 {
            cautions.push("The runs are of unlike machines.".to_owned());
        }
        let differ = differing(all());
        if !differ.is_empty() {
            cautions.push(format!("Conditions that differ between runs: {}.", differ.join(", ")));
        }
        Ok(Self { sides, cautions })
    }
}

/// The side of a run.
fn name_of(run: &Run, by: &[String]) -> Result<String, NotComparable> {
    if run.labels.is_empty()
        && let Some((_, name)) = run.path.rsplit_once('#')
    {
        return Ok(name.to_owned());
    }
    let known = || run.labels.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let value = |key: &String| {
        run.labels.get(key).map(|value| format!("{key}={value}")).ok_or_else(|| {
            let has = if run.labels.is_empty() { "no labels".to_owned() } else { format!("the labels {}", known()) };
            NotComparable(format!(
                "{} has no label {key}: it has {has}. `corewise record --label {key}=VALUE` gives a recording one",
                run.path
            ))
        })
    };
    Ok(by.iter().map(value).collect::<Result<Vec<_>, _>>()?.join(" "))
}

/// The names of the conditions in which runs differ at their begin.
fn differing<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<String> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for run in runs {
        for (name, [start, _]) in &run.conditions {
            values.entry(name).or_default().extend(start.as_deref());
        }
    }
    let differs = |(name, values): &(&str, BTreeSet<&str>)| values.len() > 1 && !changes_by_itself(name);
    values.into_iter().filter(differs).map(|(name, _)| name.replace('_', " ")).collect()
}

impl Side {
    /// The spread of a value that all of its runs have.
    fn spread(&self, value: impl Fn(&Run) -> Option<f64>) -> Option<Spread> {
        let values: Vec<f64> = self.runs.iter().map(value).collect::<Option<_>>()?;
        let runs = values.len();
        let mean = values.iter().sum::<f64>() / runs.max(1) as f64;
        let min = values.iter().copied().reduce(f64::min)?;
        Some(Spread { mean, min, max: values.iter().copied().fold(min, f64::max), runs })
    }

    /// The spread of a metric of the whole run.
    fn metric(&self, id: &str) -> Option<Spread> {
        self.spread(|run| run.values.get(id).copied())
    }

    /// The spread of the sum over the program's threads, or of the metric where the run has no threads.
    fn of_threads(&self, id: &'static str, metric: &str) -> Option<Spread> {
        self.spread(|run| {
            if run.threads.is_empty() {
                return run.values.get(metric).copied();
            }
            let own = run.threads.iter().filter(|thread| thread.is_own && !thread.is_kernel);
            Some(own.filter_map(|thread| thread.values.get(id)).sum())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadFacts;

    fn run(labels: &[(&str, &str)], joules: f64, voluntary: f64) -> Run {
        let text = |of: &str| of.to_owned();
        let thread = ThreadFacts { is_own: true, values: [("voluntary", voluntary)].into(), ..ThreadFacts::default() };
        Run {
            path: text("run.cw"),
            labels: labels.iter().map(|(key, value)| (text(key), text(value))).collect(),
            values: [(text("energy.package"), joules)].into(),
            threads: vec![thread],
            ..Run::default()
        }
    }

    fn by(keys: &[&str]) -> Vec<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn runs_with_the_same_labels_are_one_side() {
        let runs = vec![
            run(&[("os", "a"), ("plug", "no"), ("try", "1")], 10.0, 5.0),
            run(&[("os", "b"), ("plug", "no")], 30.0, 5.0),
            run(&[("os", "a"), ("plug", "no"), ("try", "2")], 14.0, 7.0),
        ];
        let matrix = Matrix::new(runs.clone(), &by(&["os", "plug"]), Vec::new()).unwrap();
        assert_eq!(
            matrix.sides.iter().map(|side| side.name.as_str()).collect::<Vec<_>>(),
            ["os=a plug=no", "os=b plug=no"]
        );
        let joules = matrix.sides[0].metric("energy.package").unwrap();
        assert_eq!(joules, Spread { mean: 12.0, min: 10.0, max: 14.0, runs: 2 });
        assert_eq!(matrix.sides[0].of_threads("voluntary", "voluntary").unwrap().mean, 6.0);
        // A value that one run lacks is that of no side.
        assert_eq!(matrix.sides[0].metric("energy.core"), None);
        let why = Matrix::new(runs, &by(&["plug"]), Vec::new()).unwrap_err().0;
        assert!(why.starts_with("all runs are on one side, plug=no"), "{why}");
    }

    #[test]
    fn a_run_without_the_label_is_named() {
        let why = Matrix::new(vec![run(&[("os", "a")], 1.0, 1.0)], &by(&["plug"]), Vec::new()).unwrap_err().0;
        assert!(why.starts_with("run.cw has no label plug: it has the labels os."), "{why}");
    }
}
