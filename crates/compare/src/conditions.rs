//! Whether the runs were made under the same conditions: what differs besides what was meant is shown first.

use crate::{ConditionDifference, Run};
use std::collections::{BTreeMap, BTreeSet};

/// Conditions that change from run to run by themselves: values of the run show them better (`steal_share`, `other_programs_share`).
const CHANGES_BY_ITSELF: [&str; 9] = [
    "load_average",
    "psi_",
    "steal_ns",
    "thermal",
    "corewise_arguments",
    "corewise_version",
    "corewise_build",
    "backend",
    "arguments",
];
/// Conditions that do not explain a change of speed by themselves.
const DESCRIBES: [&str; 3] = ["kernel_version", "hostname", "boot_id"];

/// Whether a condition changes from run to run by itself.
pub(crate) fn changes_by_itself(name: &str) -> bool {
    CHANGES_BY_ITSELF.iter().any(|of| name.starts_with(of))
}

/// What identifies the machines of a side, by name, if the runs say it.
fn machines(runs: &[Run]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (name, value) in runs.iter().flat_map(|run| &run.machine) {
        all.entry(name).or_default().insert(value);
    }
    all
}

/// How the machines of the two sides differ, a sentence each; empty if they are alike, as far as is known.
pub(crate) fn unlike_machines(sides: [&[Run]; 2]) -> Vec<String> {
    let [a, b] = sides.map(machines);
    let differs = |(name, of_a): (&&str, &BTreeSet<&str>)| {
        let of_b = b.get(name)?;
        let list = |of: &BTreeSet<&str>| of.iter().copied().collect::<Vec<_>>().join(", ");
        (of_a != of_b).then(|| format!("{name}: {} on A, {} on B", list(of_a), list(of_b)))
    };
    a.iter().filter_map(differs).collect()
}

/// The conditions that differ between the sides, those that can explain a change first.
pub(crate) fn differences(sides: [&[Run]; 2]) -> Vec<ConditionDifference> {
    let names: BTreeSet<&String> =
        sides.iter().flat_map(|runs| runs.iter().flat_map(|run| run.conditions.keys())).collect();
    let values = |runs: &[Run], name: &str| {
        let of_run = |run: &Run| run.conditions.get(name).cloned().unwrap_or_default();
        runs.iter().flat_map(of_run).flatten().collect::<BTreeSet<String>>()
    };
    let mut differ: Vec<ConditionDifference> = names
        .into_iter()
        .filter(|name| !changes_by_itself(name))
        .filter_map(|name| {
            let [a, b] = sides.map(|runs| values(runs, name));
            (a != b && !a.is_empty() && !b.is_empty()).then(|| ConditionDifference {
                name: name.clone(),
                values: [a, b].map(|of| of.into_iter().collect()),
                matters: !DESCRIBES.contains(&name.as_str()),
            })
        })
        .collect();
    differ.sort_by_key(|of| !of.matters);
    differ
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, value: &str) -> Run {
        let values = [Some(value.to_owned()), Some(value.to_owned())];
        Run { conditions: [(name.to_owned(), values)].into(), ..Run::default() }
    }

    #[test]
    fn what_differs_is_listed_and_what_varies_by_itself_is_not() {
        let found = differences([&[run("governor.cpu0", "powersave")], &[run("governor.cpu0", "performance")]]);
        assert_eq!((found.len(), found[0].matters), (1, true));
        assert_eq!(found[0].values, [["powersave".to_owned()], ["performance".to_owned()]].map(Vec::from));
        assert!(differences([&[run("load_average", "1")], &[run("load_average", "2")]]).is_empty());
        assert!(differences([&[run("governor", "x")], &[Run::default()]]).is_empty(), "unknown is no difference");
    }

    #[test]
    fn machines_differ_only_by_what_both_say() {
        let of = |cpus: &str| Run { machine: [("CPUs".to_owned(), cpus.to_owned())].into(), ..Run::default() };
        assert_eq!(unlike_machines([&[of("8")], &[of("16")]]), ["CPUs: 8 on A, 16 on B"]);
        assert!(unlike_machines([&[of("8")], &[of("8")]]).is_empty());
        assert!(unlike_machines([&[of("8")], &[Run::default()]]).is_empty());
    }
}
