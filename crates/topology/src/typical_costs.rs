//! The figures of a cost table that others use in place of an assumption: what a switch costs, what a second sibling adds, how fast a slower
//! core is, and whether the table still describes the machine.

use crate::costs::{Cost, CostUnit, Costs};
use crate::machine::Machine;
use crate::pair::PairClass;
use model::CoreType;
use std::collections::BTreeMap;

/// A figure of a machine, over its CPUs and what was varied.
#[derive(Clone, PartialEq, Debug)]
pub struct TypicalCost {
    /// The median.
    pub value: f64,
    /// The lower end: the lowest of the 95 % intervals of the figures.
    pub low: f64,
    /// The upper end: the highest of these intervals.
    pub high: f64,
    /// What was measured, as part of a sentence: `a pipe between two threads of one CPU`.
    pub of: String,
}

/// A switch of less than 10 ns or more than 10 ms is no switch: it was not measured, or the table is not of a machine.
const SWITCH_NS: [f64; 2] = [10.0, 1e7];
/// Two siblings do between half of and twice the work of one; a measured ratio is off by some per cent.
const GAIN: [f64; 2] = [0.5, 2.1];
/// The law that the gain obeys: two siblings do at most twice the work of one.
const MAX_GAIN: f64 = 2.0;
/// A core that is slower by more than 50 times, or faster than the fastest by more than a measured ratio is off, is no other core type.
const SPEED: [f64; 2] = [0.02, 1.1];

/// The conditions whose change makes a table stale, and their names in sentences.
const STALE_AFTER: [(&str, &str); 3] =
    [("kernel_release", "kernel"), ("microcode", "microcode"), ("smt_control", "SMT control")];

impl Costs {
    /// Returns the time of a switch within one CPU, with its system calls, ns: of one hand-over through a pipe, or else by futex, or else by
    /// `sched_yield`. On machines with several core types, the median of the types.
    #[must_use]
    pub fn switch_ns(&self) -> Option<TypicalCost> {
        [("pipe", "one way through a pipe"), ("futex", "one hand-over by futex"), ("yield", "sched_yield")]
            .into_iter()
            .find_map(|(figure, words)| {
                let on_one_cpu = |cost: &&Cost| match cost.pair {
                    Some(pair) => pair == PairClass::SameCpu,
                    None => cost.cpus.iter().all(|cpu| Some(cpu) == cost.cpus.first()),
                };
                let all = self.of("switch", figure).filter(|cost| cost.unit == CostUnit::Ns).filter(on_one_cpu);
                typical(all, SWITCH_NS, |cost| cost.core_types.first().map_or("", |of| of.as_str()).to_owned()).map(
                    |(cost, types)| TypicalCost {
                        of: format!("{words} between two threads of one CPU{}", over(&types)),
                        ..cost
                    },
                )
            })
    }

    /// Returns the throughput of two SMT siblings relative to one alone: the median over the kinds of work, each as its own neighbour; of a
    /// core type, or of all.
    #[must_use]
    pub fn smt_gain(&self, core_type: Option<CoreType>) -> Option<TypicalCost> {
        let of_type = |cost: &&Cost| core_type.is_none_or(|of| cost.core_types.first() == Some(&of));
        let all =
            self.of("smt", "gain").filter(|cost| cost.unit == CostUnit::Ratio && has_own_kind(cost)).filter(of_type);
        let kind = |cost: &Cost| cost.parameters.values().cloned().collect::<Vec<_>>().join(" ");
        typical(all, GAIN, kind).map(|(cost, kinds)| TypicalCost {
            value: cost.value.min(MAX_GAIN),
            high: cost.high.min(MAX_GAIN),
            of: match kinds.len() {
                1 => "one kind of work, as its own neighbour".to_owned(),
                n => format!("the median of {n} kinds of work, each as its own neighbour"),
            },
            ..cost
        })
    }

    /// Returns the speed of a core type relative to the fastest: the median over the kinds of work.
    #[must_use]
    pub fn core_speed(&self, core_type: CoreType) -> Option<TypicalCost> {
        let of_type = |cost: &&Cost| cost.core_types.first() == Some(&core_type);
        let all = self.of("speed", "speed").filter(|cost| cost.unit == CostUnit::Ratio).filter(of_type);
        let kind = |cost: &Cost| cost.parameters.values().cloned().collect::<Vec<_>>().join(" ");
        typical(all, SPEED, kind).map(|(cost, kinds)| TypicalCost {
            of: if kinds.len() == 1 {
                "one kind of work".to_owned()
            } else {
                format!("the median of {} kinds of work", kinds.len())
            },
            ..cost
        })
    }

    /// Returns why the table no longer describes the machine, as a sentence without a full stop: the kernel, the microcode or SMT control
    /// changed. `now` has the conditions to compare with; what one of the two lacks is not compared. `of` is what has them: `this recording`.
    #[must_use]
    pub fn stale<'a>(&self, of: &str, now: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
        STALE_AFTER.iter().find_map(|(name, word)| {
            let (then, now) = (self.measured.conditions.get(*name)?, now(name)?);
            (then != now)
                .then(|| format!("measured under {word} {then}, {of} is of {now}: run `corewise bench all` again"))
        })
    }
}

impl Machine {
    /// Returns the speed of the slower core types relative to the fastest, by their measured costs: the median of the types.
    #[must_use]
    pub fn slower_speed(&self) -> Option<TypicalCost> {
        let (costs, slower) = (self.costs.as_ref()?, self.class_names.split_last()?.1);
        let mut all: Vec<TypicalCost> = slower.iter().filter_map(|of| costs.core_speed(*of)).collect();
        all.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (low, high) = ends(all.iter().map(|of| [of.low, of.high]))?;
        let middle = all.get(all.len() / 2)?;
        Some(TypicalCost { low, high, ..middle.clone() })
    }
}

/// Whether a gain is of two siblings that do the same kind of work: no parameter names a neighbour, or another one has the same value.
fn has_own_kind(cost: &Cost) -> bool {
    let neighbour = cost.parameters.get("neighbour");
    neighbour.is_none_or(|kind| cost.parameters.iter().any(|(name, value)| name != "neighbour" && value == kind))
}

/// The medians of the groups, their median, and the ends of all intervals; `None` if no figure is within the bounds. Also returns the groups.
fn typical<'a>(
    all: impl Iterator<Item = &'a Cost>,
    [min, max]: [f64; 2],
    group: impl Fn(&Cost) -> String,
) -> Option<(TypicalCost, Vec<String>)> {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut intervals = Vec::new();
    for cost in all {
        let of = &cost.estimate;
        if of.value >= min && of.value <= max {
            groups.entry(group(cost)).or_default().push(of.value);
            // An end beyond what is possible says only that the figure is imprecise.
            intervals.push([of.low.clamp(min, of.value), of.high.clamp(of.value, max)]);
        }
    }
    let (low, high) = ends(intervals.into_iter())?;
    let names = groups.keys().cloned().collect();
    let value = median(groups.into_values().filter_map(median).collect())?;
    Some((TypicalCost { value, low, high, of: String::new() }, names))
}

fn ends(intervals: impl Iterator<Item = [f64; 2]>) -> Option<(f64, f64)> {
    intervals.map(|[low, high]| (low, high)).reduce(|(low, high), (l, h)| (low.min(l), high.max(h)))
}

/// The median; of an even number, the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = if values.len().is_multiple_of(2) { values.get(values.len() / 2 - 1)? } else { upper };
    Some(f64::midpoint(*lower, *upper))
}

fn over(types: &[String]) -> String {
    match types.len() {
        0 | 1 => String::new(),
        _ => format!(", the median of the core types {}", types.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::{Estimate, Measured};
    use model::CpuId;

    fn cost(
        probe: &str,
        figure: &str,
        unit: CostUnit,
        [low, value, high]: [f64; 3],
        parameters: &[(&str, &str)],
    ) -> Cost {
        Cost {
            probe: probe.into(),
            figure: figure.into(),
            pair: None,
            cpus: vec![CpuId(0)],
            core_types: Vec::new(),
            parameters: parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            unit,
            estimate: Estimate { value, low, high },
            systematic: None,
            next: None,
            repetitions: 10,
            disturbed: 0,
            misplaced: 0,
            control: None,
            precise: true,
        }
    }

    fn costs(figures: Vec<Cost>) -> Costs {
        let conditions = [("kernel_release", "6.17.0"), ("microcode", "0x1")];
        let conditions = conditions.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let at = "2026-11-26T16:00:00Z".to_owned();
        Costs { measured: Measured { at, conditions, ..Measured::default() }, figures }
    }

    #[test]
    fn a_switch_is_the_pipe_on_one_cpu_and_the_median_of_the_core_types() {
        let of = |figure, at: [f64; 3], pair, core_type| Cost {
            pair: Some(pair),
            core_types: vec![core_type],
            ..cost("switch", figure, CostUnit::Ns, at, &[])
        };
        let (fast, slow) = (CoreType::Performance, CoreType::Efficient);
        let futex = of("futex", [1400.0, 1500.0, 1600.0], PairClass::SameCpu, fast);
        assert_eq!(costs(vec![futex.clone()]).switch_ns().unwrap().value, 1500.0);
        let all = costs(vec![
            futex,
            of("pipe", [7000.0, 8000.0, 9000.0], PairClass::SameL3, fast),
            of("pipe", [1900.0, 2000.0, 2100.0], PairClass::SameCpu, fast),
            of("pipe", [2900.0, 3000.0, 3300.0], PairClass::SameCpu, slow),
        ]);
        let switch = all.switch_ns().unwrap();
        assert_eq!((switch.value, switch.low, switch.high), (2500.0, 1900.0, 3300.0));
        assert!(switch.of.ends_with("the median of the core types efficient and performance"), "{}", switch.of);
    }

    #[test]
    fn figures_that_no_machine_has_are_not_used() {
        for value in [-5.0, 0.0, 1.0, 1e9] {
            let pipe = cost("switch", "pipe", CostUnit::Ns, [value; 3], &[]);
            assert_eq!(costs(vec![pipe]).switch_ns(), None, "{value}");
        }
        for value in [-1.0, 0.0, 0.3, 2.5] {
            let gain = cost("smt", "gain", CostUnit::Ratio, [value; 3], &[]);
            assert_eq!(costs(vec![gain]).smt_gain(None), None, "{value}");
        }
        let share = cost("smt", "gain", CostUnit::Share, [0.9; 3], &[]);
        assert_eq!(costs(vec![share]).smt_gain(None), None);
        assert_eq!(Costs::default().switch_ns(), None);
    }

    #[test]
    fn the_gain_is_the_median_over_kinds_that_are_their_own_neighbours() {
        let of =
            |kind, neighbour, at| cost("smt", "gain", CostUnit::Ratio, at, &[("kind", kind), ("neighbour", neighbour)]);
        let all = costs(vec![
            of("integer", "integer", [1.08, 1.1, 1.12]),
            of("integer", "memory", [1.8, 1.9, 2.0]),
            of("float", "float", [1.2, 1.25, 1.3]),
            of("memory", "memory", [1.9, 2.02, 2.09]),
        ]);
        let gain = all.smt_gain(None).unwrap();
        assert_eq!((gain.value, gain.low, gain.high), (1.25, 1.08, 2.0));
        assert_eq!(gain.of, "the median of 3 kinds of work, each as its own neighbour");
        assert_eq!(all.smt_gain(Some(CoreType::Efficient)), None);
    }

    #[test]
    fn a_table_is_stale_after_a_change_of_kernel_or_microcode_and_not_if_they_are_unknown() {
        let table = costs(Vec::new());
        let with = |all: [(&'static str, &'static str); 2]| {
            table.stale("this recording", move |name| all.iter().find(|(of, _)| *of == name).map(|(_, value)| *value))
        };
        assert_eq!(with([("kernel_release", "6.17.0"), ("microcode", "0x1")]), None);
        assert_eq!(with([("smt_control", "off"), ("governor", "x")]), None);
        assert_eq!(
            with([("kernel_release", "6.18.0"), ("microcode", "0x1")]).unwrap(),
            "measured under kernel 6.17.0, this recording is of 6.18.0: run `corewise bench all` again"
        );
        assert!(with([("kernel_release", "6.17.0"), ("microcode", "0x2")]).unwrap().contains("microcode 0x1"));
    }
}
