//! How fast each type of core is, by kinds of work: alone, while all CPUs do the same, and by how many cores are busy.
//!
//! A type is measured on its first core. That the types of the machine description are right is not assumed: [`Speed::judge`] compares them
//! with the measured speeds.

use crate::concurrent::{Bank, Load, step};
use crate::plan::{Calculation, Formula, Plan, Probe, Wanted};
use crate::setup::Setup;
use crate::work::{ADDS, KERNELS, Kernel};
use model::{CoreType, CpuId};
use std::io;
use topology::{Cost, CostUnit};

/// Chunks of a repetition: several milliseconds, since a hypervisor's quota or a change of frequency takes about one.
const CHUNKS: usize = 40;
/// The most core types: with all kernels and both loads there are at most 164 series, however large the machine is.
const TYPES: usize = 4;
/// The kernels that memory has no part in, which core types are judged by.
const COMPUTE: [&str; 7] = ["add", "integer", "multiply", "divide", "float", "vector", "branchy"];
/// Core types whose speeds certainly differ by less than this share are as fast as each other.
const ALIKE: f64 = 0.05;
/// The most memory of a kernel on all CPUs together, bytes, if a quarter of the available memory is not less.
const MOST_BYTES: u64 = 4 << 30;

/// Cycles a second, from the time of an iteration of `add` in ns: [`ADDS`] additions that need the one before, one cycle each.
const FREQUENCY: Calculation = Calculation {
    name: "frequency",
    of: |times| times.first().filter(|ns| **ns > 0.0).map_or(f64::NAN, |ns| ADDS as f64 * 1e9 / ns),
};
/// The difference of two of these.
const FREQUENCY_DIFFERENCE: Calculation =
    Calculation { name: "frequency difference", of: |times| (FREQUENCY.of)(times) - (FREQUENCY.of)(&times[1..]) };

/// See the module.
pub struct Speed;

impl Probe for Speed {
    fn name(&self) -> &'static str {
        "speed"
    }

    fn about(&self) -> &'static str {
        "how fast each core type is, by kinds of work, alone and while all CPUs are busy, and how the frequency falls"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "speed",
                "the speed of the first CPU's core type over that of the second one's, which the machine description calls the fastest",
            ),
            ("time", "an iteration of the kernel on a CPU of the core type, alone"),
            (
                "together",
                "the time of an iteration while all CPUs do the same over that alone: the median of the type's CPUs",
            ),
            (
                "frequency",
                "cycles a second with this many cores busy: an estimate from a chain of additions, one cycle each",
            ),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let most = available_bytes().map_or(MOST_BYTES, |bytes| MOST_BYTES.min(bytes / 4));
        Ok(planned(setup, most))
    }

    fn judge(&self, setup: &Setup, costs: &[Cost]) -> Vec<String> {
        swapped_types(setup, costs)
    }
}

/// Memory that can be used without swapping, bytes (`MemAvailable`, proc_meminfo(5)).
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// The core types that are measured, slowest first as the machine description has them, each with its CPUs.
fn types(setup: &Setup) -> Vec<(CoreType, Vec<CpuId>)> {
    let mut types = setup.by_class();
    types.drain(..types.len().saturating_sub(TYPES));
    types
}

fn planned(setup: &Setup, most_bytes: u64) -> Plan {
    let mut plan = Plan::default();
    let bank = Bank::default();
    let types = types(setup);
    let firsts: Vec<CpuId> = types.iter().filter_map(|(_, cpus)| cpus.first().copied()).collect();
    let Some(fastest) = firsts.last().copied() else { return plan };
    let all = &setup.cpus;
    let mut too_large = Vec::new();
    for kernel in KERNELS {
        let load = Load::Kernel(kernel);
        let name = |what: &str, cpu: CpuId| format!("{} {what} on {}", kernel.name, cpu.0);
        let of = |figure, cpus: &[CpuId], unit, formula| {
            Wanted::new(figure, cpus, unit, formula).with("kernel", kernel.name)
        };
        let mut alone =
            |what: &str, cpu: CpuId| plan.series(name(what, cpu), step(&bank, vec![(cpu, load)], vec![0], CHUNKS));
        let times: Vec<[usize; 2]> = firsts.iter().map(|cpu| [alone("alone", *cpu), alone("again", *cpu)]).collect();
        for (cpu, [time, again]) in firsts.iter().zip(&times) {
            let found = of("time", &[*cpu], CostUnit::Ns, Formula::of(*time));
            plan.figure(found.control(Formula::difference(*again, *time)));
        }
        if let Some([fast, again]) = times.last() {
            for (cpu, [time, _]) in firsts.iter().zip(&times).filter(|(cpu, _)| **cpu != fastest) {
                let pair = setup.machine.pair_class(*cpu, fastest);
                let found = of("speed", &[*cpu, fastest], CostUnit::Ratio, Formula::ratio(*fast, *time)).pair(pair);
                plan.figure(found.control(Formula::ratio(*fast, *again)));
            }
        }
        if all.len() < 2 {
            continue;
        }
        if kernel.bytes as u64 * all.len() as u64 > most_bytes {
            too_large.push(format!("{} ({} MiB a CPU)", kernel.name, kernel.bytes >> 20));
            continue;
        }
        for ((_, cpus), [time, again]) in types.iter().zip(&times) {
            let loads: Vec<(CpuId, Load)> = all.iter().map(|cpu| (*cpu, load)).collect();
            let own: Vec<usize> = (0..all.len()).filter(|i| cpus.contains(&all[*i])).collect();
            let name = format!("{} on all CPUs, seen on those like {}", kernel.name, cpus[0].0);
            let together = plan.series(name, step(&bank, loads, own, CHUNKS));
            let found = of("together", cpus, CostUnit::Ratio, Formula::ratio(together, *time));
            plan.figure(found.with("busy_cpus", all.len()).control(Formula::ratio(*again, *time)));
        }
    }
    if !too_large.is_empty() {
        plan.left_out.push(format!(
            "left out: {} on all {} CPUs together, which would need more than {} MiB",
            too_large.join(" and "),
            all.len(),
            most_bytes >> 20
        ));
    }
    match types.as_slice() {
        [(of, _)] => plan.left_out.push(format!(
            "left out: the speed of one core type relative to another, since all measured CPUs are of the type {}",
            of.as_str()
        )),
        _ => plan.notes.push(format!(
            "each core type was measured on its first CPU: {}",
            firsts
                .iter()
                .map(|cpu| format!("{} on CPU {}", setup.core_type(*cpu).as_str(), cpu.0))
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
    frequencies(&mut plan, setup, &bank, &firsts);
    plan
}

/// The frequency of each type with 1, 2, half of and all cores busy.
fn frequencies(plan: &mut Plan, setup: &Setup, bank: &Bank, firsts: &[CpuId]) {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        plan.left_out.push("left out: the frequency, since the chain of additions is not written in this processor's instructions and may need more than a cycle each".to_owned());
        return;
    }
    let add: &'static Kernel = &KERNELS[0];
    let cores = setup.cores();
    let mut counts = vec![1, 2, cores.len() / 2, cores.len()];
    counts.retain(|count| (1..=cores.len()).contains(count));
    counts.sort_unstable();
    counts.dedup();
    for first in firsts {
        // The core itself, then others of its type, then all others.
        let is_own =
            |cpu: &CpuId| setup.machine.pair_class(*cpu, *first) == topology::PairClass::Sibling || cpu == first;
        let mut others: Vec<CpuId> = cores.iter().filter(|cpu| !is_own(cpu)).copied().collect();
        others.sort_by_key(|cpu| setup.core_type(*cpu) != setup.core_type(*first));
        let busy = |count: usize| {
            let cpus = std::iter::once(first).chain(&others).take(count);
            cpus.map(|cpu| (*cpu, Load::Kernel(add))).collect::<Vec<_>>()
        };
        let again = plan.series(format!("cycles again on {}", first.0), step(bank, busy(1), vec![0], CHUNKS));
        let mut one = None;
        for count in &counts {
            let name = format!("cycles of {count} busy cores on {}", first.0);
            let series = plan.series(name, step(bank, busy(*count), vec![0], CHUNKS));
            let one = *one.get_or_insert(series);
            let found =
                Wanted::new("frequency", &[*first], CostUnit::Hertz, Formula::Function(vec![series], FREQUENCY));
            let control = Formula::Function(vec![again, one], FREQUENCY_DIFFERENCE);
            plan.figure(found.with("busy_cores", count).control(control));
        }
    }
    plan.notes.push("frequencies are estimates: a chain of additions, one cycle each; an interrupt, a hypervisor or a quota counts as a lower frequency".to_owned());
}

/// Core types whose order is not that of the measured speeds, one sentence each: a type that is called faster but does most of the compute
/// kernels slower, by more than the intervals.
fn swapped_types(setup: &Setup, costs: &[Cost]) -> Vec<String> {
    let types = types(setup);
    let Some(((_, fastest), _)) = types.split_last() else { return Vec::new() };
    // The speed of a type relative to the one that is called the fastest: value, low, high.
    let speed = |cpus: &[CpuId], kernel: &str| -> Option<[f64; 3]> {
        if cpus == fastest.as_slice() {
            return Some([1.0; 3]);
        }
        let cost = costs.iter().find(|cost| {
            cost.figure == "speed"
                && cost.cpus.first() == cpus.first()
                && cost.parameters.get("kernel").is_some_and(|of| of == kernel)
        })?;
        Some([cost.estimate.value, cost.estimate.low, cost.estimate.high])
    };
    let mut found = Vec::new();
    for (i, (slow, slow_cpus)) in types.iter().enumerate() {
        for (fast, fast_cpus) in &types[i + 1..] {
            let both: Vec<([f64; 3], [f64; 3])> = COMPUTE
                .iter()
                .filter_map(|kernel| Some((speed(slow_cpus, kernel)?, speed(fast_cpus, kernel)?)))
                .collect();
            let slower = both.iter().filter(|(slow, fast)| slow[1] > fast[2]).count();
            let no_faster = both.iter().filter(|(slow, fast)| slow[1] > fast[2] * (1.0 - ALIKE)).count();
            if no_faster * 2 <= both.len() {
                continue;
            }
            let wrong = match slower * 2 > both.len() {
                true => "the machine description has its core types swapped",
                false => "the measured speeds do not agree with the core types of the machine description",
            };
            let mut ratios: Vec<f64> = both.iter().map(|(slow, fast)| fast[0] / slow[0]).collect();
            ratios.sort_by(f64::total_cmp);
            let list = |cpus: &[CpuId]| topology::cpulist::format(cpus.iter().copied());
            found.push(format!(
                "{wrong}: CPUs {} are called {} but are {:.2} times as fast as CPUs {}, called {} (the median of {} kernels, measured on CPUs {} and {})",
                list(fast_cpus),
                fast.as_str(),
                ratios[ratios.len() / 2],
                list(slow_cpus),
                slow.as_str(),
                both.len(),
                fast_cpus[0].0,
                slow_cpus[0].0
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::{Estimate, Machine};

    fn setup(text: &str) -> Setup {
        let machine = Machine::from_user(text).unwrap();
        let cpus = machine.cpus.iter().map(|cpu| cpu.id).collect();
        Setup { machine, cpus, quick: false, added_ns: None, seed: 1 }
    }

    const HYBRID: &str = r#"
        [[cpus]]
        ids = "0-3"
        type = "performance"
        siblings = ["0-1", "2-3"]

        [[cpus]]
        ids = "4-7"
        type = "efficient"
    "#;

    #[test]
    fn every_type_is_measured_by_all_kernels_alone_and_together() {
        let plan = planned(&setup(HYBRID), MOST_BYTES);
        let count = |figure: &str| plan.figures.iter().filter(|of| of.figure == figure).count();
        assert_eq!([count("time"), count("speed"), count("together"), count("frequency")], [24, 12, 24, 8]);
        let speed = plan.figures.iter().find(|of| of.figure == "speed").unwrap();
        assert_eq!(speed.cpus, [CpuId(4), CpuId(0)], "the efficient type relative to the performance type");
        let busy: Vec<&str> = plan
            .figures
            .iter()
            .filter(|of| of.figure == "frequency" && of.cpus == [CpuId(0)])
            .map(|of| of.parameters["busy_cores"].as_str())
            .collect();
        assert_eq!(busy, ["1", "2", "3", "6"], "6 cores, 8 CPUs");
        assert_eq!((plan.left_out.len(), plan.figures.iter().filter(|of| of.control.is_none()).count()), (0, 0));
    }

    #[test]
    fn large_kernels_are_left_out_together_where_memory_is_short() {
        let large = setup("[[cpus]]\nids = \"0-127\"\n");
        let plan = planned(&large, MOST_BYTES);
        assert!(plan.series.len() <= 164 / 4, "{}", plan.series.len());
        let said = &plan.left_out[0];
        assert!(said.starts_with("left out: chase_memory (64 MiB a CPU) on all 128 CPUs together"), "{said}");
        assert!(said.ends_with("more than 4096 MiB"), "{said}");
        assert!(plan.left_out[1].contains("all measured CPUs are of the type uniform"), "{:?}", plan.left_out);
        let short = planned(&setup(HYBRID), 64 << 20);
        assert!(short.left_out[0].contains("chase_memory (64 MiB a CPU) and stream (32 MiB a CPU)"));
        let one = planned(&setup("[[cpus]]\nids = \"0\"\n"), MOST_BYTES);
        assert!(one.figures.iter().all(|of| of.figure == "time" || of.figure == "frequency"));
    }

    #[test]
    fn the_figures_have_the_names_that_they_are_described_by() {
        let described: Vec<&str> = Speed.figures().iter().map(|(name, _)| *name).collect();
        assert_eq!(described, ["speed", "time", "together", "frequency"]);
        assert!(Speed.plan(&setup(HYBRID)).unwrap().figures.iter().all(|of| described.contains(&of.figure)));
        assert!(COMPUTE.iter().all(|name| KERNELS.iter().any(|kernel| kernel.name == *name)), "{COMPUTE:?}");
    }

    #[test]
    fn a_chain_of_additions_gives_the_frequency() {
        assert_eq!((FREQUENCY.of)(&[ADDS as f64 / 4.0]), 4e9);
        assert_eq!((FREQUENCY_DIFFERENCE.of)(&[8.0, 16.0]), 2e9);
        assert!((FREQUENCY.of)(&[0.0]).is_nan());
    }

    /// The speed of CPU 4 relative to CPU 0, by compute kernels: value and half the width.
    fn costs(speeds: &[(f64, f64)]) -> Vec<Cost> {
        let cost = |(kernel, (value, half)): (&&str, &(f64, f64))| Cost {
            probe: "speed".to_owned(),
            figure: "speed".to_owned(),
            pair: None,
            cpus: vec![CpuId(4), CpuId(0)],
            core_types: Vec::new(),
            parameters: [("kernel".to_owned(), (*kernel).to_owned())].into(),
            unit: CostUnit::Ratio,
            estimate: Estimate { value: *value, low: value - half, high: value + half },
            systematic: None,
            next: None,
            repetitions: 10,
            disturbed: 0,
            misplaced: 0,
            control: None,
            precise: true,
        };
        COMPUTE.iter().zip(speeds).map(cost).collect()
    }

    #[test]
    fn swapped_core_types_are_named() {
        let setup = setup(HYBRID);
        let said = Speed.judge(&setup, &costs(&[(1.0 / 0.42, 0.05); 7]));
        let begin = "the machine description has its core types swapped: CPUs 0-3 are called performance but are 0.42 times as fast as CPUs 4-7";
        assert!(said.len() == 1 && said[0].starts_with(begin), "{said:?}");
    }

    #[test]
    fn types_that_are_as_fast_as_each_other_are_named() {
        let said = Speed.judge(&setup(HYBRID), &costs(&[(1.0, 0.04); 7]));
        let begin = "the measured speeds do not agree with the core types of the machine description: CPUs 0-3 are called performance but are 1.00 times as fast as CPUs 4-7";
        assert!(said.len() == 1 && said[0].starts_with(begin), "{said:?}");
    }

    #[test]
    fn types_in_the_right_order_or_too_near_to_say_are_not_accused() {
        let setup = setup(HYBRID);
        let none = Vec::<String>::new();
        assert_eq!(Speed.judge(&setup, &costs(&[(0.6, 0.05); 7])), none);
        assert_eq!(Speed.judge(&setup, &costs(&[(1.0, 0.06); 7])), none, "may be slower by more than a twentieth");
        // An efficient core may be faster at some kinds of work.
        let mixed = [(1.5, 0.1), (1.5, 0.1), (1.5, 0.1), (0.7, 0.1), (0.7, 0.1), (0.7, 0.1), (0.7, 0.1)];
        assert_eq!(Speed.judge(&setup, &costs(&mixed)), none);
        assert_eq!(Speed.judge(&setup, &[]), none, "nothing was measured");
    }
}
