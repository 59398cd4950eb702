//! The machine file with costs: where it is, what it keeps of a former measurement, and how it is written.

use crate::args::Global;
use crate::failure::Failure;
use crate::output::create;
use engine::{Costs, Machine};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

/// Reads a machine file that has costs.
///
/// # Errors
/// It cannot be read, or has none.
pub fn read(path: &Path) -> Result<(Machine, Costs), Failure> {
    let machine = Global::machine_of(path)?;
    match machine.costs.clone() {
        Some(costs) => Ok((machine, costs)),
        None => Err(Failure::new(format!(
            "{}: this machine file has no costs: `corewise bench all --out FILE` measures and writes them",
            path.display()
        ))),
    }
}

/// Merges a measurement into a former one: figures of probes that were measured again replace the former ones, the others stay. Figures that
/// were measured under other conditions are dropped. A probe without new figures counts as not measured. Returns the sentences about what was kept and dropped.
pub fn merge(former: Option<Costs>, new: Costs) -> (Costs, Vec<String>) {
    let Some(former) = former else { return (new, Vec::new()) };
    let measured: BTreeSet<String> = new.figures.iter().map(|cost| cost.probe.clone()).collect();
    let of_others = |probe: &str| !measured.contains(probe);
    let mut names: Vec<&str> =
        former.figures.iter().map(|cost| cost.probe.as_str()).filter(|probe| of_others(probe)).collect();
    names.dedup();
    if names.is_empty() {
        return (new, Vec::new());
    }
    let (names, at) = (names.join(", "), former.measured.at.clone());
    let differing: Vec<&str> = differing(&former, &new);
    if !differing.is_empty() {
        let why = differing.join(", ");
        return (
            new,
            vec![format!("dropped: the former figures of {names}, as conditions have changed since {at} ({why})")],
        );
    }
    let Costs { measured: now, figures } = new;
    let mut merged = Costs { measured: now, figures: former.figures };
    merged.figures.retain(|cost| of_others(&cost.probe));
    merged.figures.extend(figures);
    // The order of `bench all`; of unknown probes, as they were.
    let order = |probe: &str| bench::PROBES.iter().position(|of| of.name() == probe).unwrap_or(usize::MAX);
    merged.figures.sort_by_key(|cost| order(&cost.probe));
    let left_out = former.measured.left_out.into_iter().filter(|sentence| {
        sentence.split_once(": ").is_some_and(|(probe, _)| bench::probe(probe).is_some() && of_others(probe))
    });
    let kept = format!("kept: the figures of {names} were measured earlier, until {at}");
    let mut all: Vec<String> = left_out.collect();
    all.append(&mut merged.measured.left_out);
    all.push(kept.clone());
    merged.measured.left_out = all;
    (merged, vec![kept])
}

/// The names of conditions that differ or that only one has.
fn differing<'a>(former: &'a Costs, new: &'a Costs) -> Vec<&'a str> {
    let (former, new) = (&former.measured.conditions, &new.measured.conditions);
    let names: BTreeSet<&String> = former.keys().chain(new.keys()).collect();
    names.into_iter().filter(|name| former.get(*name) != new.get(*name)).map(String::as_str).collect()
}

/// Writes a machine file with costs; an existing file is not overwritten.
///
/// # Errors
/// The file exists or cannot be written.
pub fn write(path: &Path, machine: &Machine) -> Result<(), Failure> {
    let mut out = create(path)?;
    let written = out.write_all(engine::machine_text(machine).as_bytes()).and_then(|()| out.flush());
    written.map_err(Failure::at(path))
}

#[cfg(test)]
mod tests {
    use super::super::groups::tests::cost;
    use super::*;
    use engine::CostUnit;

    fn costs(at: &str, kernel: &str, probes: &[&str]) -> Costs {
        let figures = probes.iter().map(|probe| cost(probe, "x", None, &[0], CostUnit::Ns, 1.0)).collect();
        let mut costs = Costs { figures, ..Costs::default() };
        costs.measured.at = at.to_owned();
        costs.measured.conditions.insert("kernel_release".to_owned(), kernel.to_owned());
        costs.measured.left_out = probes.iter().map(|probe| format!("{probe}: {at}")).collect();
        costs
    }

    fn probes(of: &Costs) -> Vec<&str> {
        of.figures.iter().map(|cost| cost.probe.as_str()).collect()
    }

    #[test]
    fn probes_that_were_not_measured_again_keep_their_figures() {
        let (merged, said) =
            merge(Some(costs("monday", "6.1", &["switch", "migrate"])), costs("tuesday", "6.1", &["switch"]));
        assert_eq!((probes(&merged), merged.measured.at.as_str()), (vec!["switch", "migrate"], "tuesday"));
        assert_eq!(
            merged.measured.left_out,
            ["migrate: monday", "switch: tuesday", "kept: the figures of migrate were measured earlier, until monday"]
        );
        assert_eq!(said, ["kept: the figures of migrate were measured earlier, until monday"]);
        // Again: the sentence about the kept figures is not repeated.
        let (again, _) = merge(Some(merged), costs("friday", "6.1", &["switch"]));
        assert_eq!(again.measured.left_out.iter().filter(|of| of.starts_with("kept")).count(), 1, "{again:?}");
    }

    #[test]
    fn figures_of_other_conditions_are_dropped() {
        let (merged, said) =
            merge(Some(costs("monday", "6.1", &["switch", "migrate"])), costs("tuesday", "6.2", &["switch"]));
        assert_eq!(probes(&merged), ["switch"]);
        assert!(said[0].contains("migrate") && said[0].contains("kernel_release"), "{said:?}");
        let (merged, said) = merge(None, costs("tuesday", "6.2", &["switch"]));
        assert_eq!((probes(&merged), said.len()), (vec!["switch"], 0));
    }
}
