//! What two SMT siblings do to each other: how much slower each becomes, what both do together, and what is left of a core at 50 % reported
//! utilisation. Two different cores of the same type are the contrast: what they do to each other is none of SMT.
//!
//! The kinds of work are checked kernels; each neighbour works during all of the measured time ([`crate::concurrent`]), and its work counts as
//! well. A reported utilisation counts CPUs; with one thread on every core it is 50 %, though `1 / g` of what the core can do is used, if `g`
//! is what two siblings do over what one does alone. So `1 - 1 / g` is left, not 50 %.

use crate::concurrent::{Bank, Load, step};
use crate::plan::{Calculation, Formula, Plan, Probe, Wanted};
use crate::probes::switch::places;
use crate::setup::{Pair, Setup};
use crate::work::{KERNELS, Kernel};
use model::CpuId;
use std::io;
use topology::{Cost, CostUnit, PairClass};

/// The kinds of work, and the kernel of each.
const KINDS: [(&str, &str); 3] = [("integer", "integer"), ("float", "float"), ("memory", "stream")];
/// The neighbours that only spin.
const SPINNING: [(&str, Load); 2] = [("pause", Load::SpinWithPause), ("spin", Load::Spin)];
/// Chunks of a repetition.
const CHUNKS: usize = 20;
/// The most pairs of siblings of one core type.
const SIBLINGS_OF_TYPE: usize = 2;
/// The most core types. With [`SIBLINGS_OF_TYPE`] and one pair of cores each there are at most 12 pairs with 27 series each, however large the machine is.
const TYPES: usize = 4;

/// What two CPUs do together over what one of them does alone, from the times of an iteration: of the first alone and with its neighbour, of
/// the second alone and with its neighbour. Each work counts in units of its own alone, so that different kinds can be added.
const GAIN: Calculation = Calculation { name: "gain", of: |times| gain(times).unwrap_or(f64::NAN) };
/// What is left of a core at 50 % reported utilisation, from the same times: 1 - 1 / g.
const HEADROOM: Calculation =
    Calculation { name: "headroom", of: |times| gain(times).map_or(f64::NAN, |gain| 1.0 - 1.0 / gain) };

/// The null control of a gain, from the same times with nothing as the neighbour: half the gain is 1.
const EMPTY: Calculation =
    Calculation { name: "half the gain", of: |times| gain(times).map_or(f64::NAN, |gain| gain / 2.0) };

fn gain(times: &[f64]) -> Option<f64> {
    times.chunks_exact(2).map(|of| (of[1] > 0.0).then(|| of[0] / of[1])).sum()
}

/// See the module.
pub struct Smt;

impl Probe for Smt {
    fn name(&self) -> &'static str {
        "smt"
    }

    fn about(&self) -> &'static str {
        "what two siblings of a core do to each other, by kinds of work, and what is left of a core at 50 % reported utilisation"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("time", "an iteration of `kind` on the first CPU while the second one sleeps"),
            (
                "slowdown",
                "the time of an iteration of `kind` while the other CPU does `neighbour`, over that while it sleeps; `measured` names the CPU whose time it is",
            ),
            (
                "gain",
                "the throughput of both CPUs over that of one alone: 2 if they do nothing to each other. Work of two kinds is counted in units of what each does alone; spinning is no work and has no gain",
            ),
            (
                "headroom",
                "the share of a core that is left at 50 % reported utilisation (one thread on every core): 1 - 1 / gain",
            ),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let mut plan = Plan::default();
        let bank = Bank::default();
        let pairs = pairs(setup);
        for pair in &pairs {
            plan_pair(&mut plan, &bank, *pair);
        }
        if !pairs.iter().any(|pair| pair.class == PairClass::Sibling) {
            plan.left_out.push("left out: the gain by SMT, since no two of the measured CPUs are siblings".to_owned());
        }
        if !pairs.iter().any(|pair| pair.class != PairClass::Sibling) {
            plan.left_out
                .push("left out: the contrast of two different cores, since no core type has two of them".to_owned());
        }
        if !pairs.is_empty() {
            plan.notes.push("other processes on a neighbour's CPU slow the measured CPU down without a sign in its own counts: stop what else runs, and see that the control is 1".to_owned());
        }
        Ok(plan)
    }

    fn judge(&self, _setup: &Setup, costs: &[Cost]) -> Vec<String> {
        costs.iter().filter_map(broken_law).collect()
    }
}

/// The law: two CPUs do at most twice what one does alone. Returns what broke it by more than the figure's interval and by more than the same
/// work alone differs from itself.
fn broken_law(cost: &Cost) -> Option<String> {
    let own = cost.control.map_or(1.0, |control| control.high.max(1.0 / control.low.max(0.1)).max(1.0));
    (cost.figure == "gain" && cost.estimate.low > 2.0 * own).then(|| {
        let of = |name: &str| cost.parameters.get(name).map_or("", String::as_str);
        format!(
            "the gain of {} with {} on CPUs {} is {:.3} [{:.3}, {:.3}], above the most that is possible (2): the time alone was disturbed, or the frequency rose in between; do not use it",
            of("kind"),
            of("neighbour"),
            places(&cost.cpus),
            cost.estimate.value,
            cost.estimate.low,
            cost.estimate.high
        )
    })
}

/// The pairs to measure: of each core type with siblings some of them, and of each core type the nearest two different cores.
fn pairs(setup: &Setup) -> Vec<Pair> {
    let mut classes = setup.by_class();
    // The fastest last: these are kept.
    classes.drain(..classes.len().saturating_sub(TYPES));
    let most = if setup.quick { 1 } else { SIBLINGS_OF_TYPE };
    let mut pairs = Vec::new();
    for (_, cpus) in classes {
        let pair = |from: CpuId, to: CpuId| Pair { class: setup.machine.pair_class(from, to), from, to };
        let own: Vec<Pair> =
            cpus.iter().flat_map(|a| cpus.iter().filter(move |b| *b > a).map(move |b| pair(*a, *b))).collect();
        pairs.extend(own.iter().filter(|pair| pair.class == PairClass::Sibling).take(most));
        // Classes are in order from near to far.
        pairs.extend(own.iter().filter(|pair| pair.class != PairClass::Sibling).min_by_key(|pair| pair.class));
    }
    pairs
}

fn kernel(name: &str) -> &'static Kernel {
    KERNELS.iter().find(|kernel| kernel.name == name).unwrap_or(&KERNELS[0])
}

/// The series and figures of two CPUs.
fn plan_pair(plan: &mut Plan, bank: &Bank, pair: Pair) {
    let name = |what: &str| format!("{what} on {}", places(&pair.cpus()));
    let mut series = |what: String, first: Load, second: Load, measured: usize| {
        plan.series(name(&what), step(bank, vec![(pair.from, first), (pair.to, second)], vec![measured], CHUNKS))
    };
    let loads = KINDS.map(|(kind, of)| (kind, Load::Kernel(kernel(of))));
    // By kind: on the first CPU, on the second one, and once more on the first one.
    let alone = loads.map(|(kind, load)| {
        [
            series(format!("{kind} alone on the first"), load, Load::Sleep, 0),
            series(format!("{kind} alone on the second"), Load::Sleep, load, 1),
            series(format!("{kind} alone again on the first"), load, Load::Sleep, 0),
        ]
    });
    // By kinds: the first one's time, the second one's time.
    let mut both = Vec::new();
    for (i, (kind, load)) in loads.iter().enumerate() {
        for (k, (neighbour, other)) in loads.iter().enumerate().skip(i) {
            let first = series(format!("{kind} with {neighbour}, the first"), *load, *other, 0);
            let second = series(format!("{kind} with {neighbour}, the second"), *load, *other, 1);
            both.push((i, k, first, second));
        }
    }
    let mut spun = Vec::new();
    for (i, (kind, load)) in loads.iter().enumerate() {
        for (neighbour, other) in SPINNING {
            spun.push((i, neighbour, series(format!("{kind} with {neighbour}"), *load, other, 0)));
        }
    }
    let figure = |figure, unit, formula, kind: &str, neighbour: &str| {
        Wanted::new(figure, &pair.cpus(), unit, formula)
            .pair(pair.class)
            .with("kind", kind)
            .with("neighbour", neighbour)
    };
    let mut slowdown = |with: usize, kind: usize, on: usize, neighbour: &str| {
        let [first, _, again] = alone[kind];
        let of = figure("slowdown", CostUnit::Ratio, Formula::ratio(with, alone[kind][on]), KINDS[kind].0, neighbour);
        plan.figure(of.with("measured", ["first", "second"][on]).control(Formula::ratio(again, first)));
    };
    for (i, k, first, second) in &both {
        slowdown(*first, *i, 0, KINDS[*k].0);
        slowdown(*second, *k, 1, KINDS[*i].0);
    }
    for (i, neighbour, with) in &spun {
        slowdown(*with, *i, 0, neighbour);
    }
    for (i, (kind, _)) in KINDS.iter().enumerate() {
        let [first, _, again] = alone[i];
        let time = figure("time", CostUnit::Ns, Formula::of(first), kind, "none");
        plan.figure(time.control(Formula::difference(again, first)));
    }
    for (i, k, first, second) in &both {
        let (kind, neighbour) = (KINDS[*i].0, KINDS[*k].0);
        let [alone_first, _, again] = alone[*i];
        let times = vec![alone_first, *first, alone[*k][1], *second];
        // With an empty neighbour each does what it does alone.
        let [other_first, _, other_again] = alone[*k];
        let empty = match i == k {
            true => Formula::ratio(alone_first, again),
            false => Formula::Function(vec![alone_first, again, other_first, other_again], EMPTY),
        };
        let gain = Formula::Function(times.clone(), GAIN);
        plan.figure(figure("gain", CostUnit::Ratio, gain, kind, neighbour).control(empty));
        if i == k && pair.class == PairClass::Sibling {
            let empty = Formula::Function(vec![alone_first, again], HEADROOM);
            let left = figure("headroom", CostUnit::Share, Formula::Function(times, HEADROOM), kind, neighbour);
            plan.figure(left.control(empty).enough(0.01));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::drawn::{HYBRID, setup};
    use model::CoreType;
    use topology::Estimate;

    #[test]
    fn siblings_and_two_cores_of_each_type_are_measured() {
        let found: Vec<(PairClass, u32, u32)> =
            pairs(&setup(HYBRID, false)).iter().map(|pair| (pair.class, pair.from.0, pair.to.0)).collect();
        let classes: Vec<PairClass> = found.iter().map(|of| of.0).collect();
        use PairClass::{SameCluster, SameL3, Sibling};
        assert_eq!(classes, [SameCluster, Sibling, Sibling, SameL3], "{found:?}");
        assert!(found[0].1 >= 8 && found[3].2 < 8, "both of one type: {found:?}");
        let plan = Smt.plan(&setup(HYBRID, true)).unwrap();
        assert_eq!((plan.series.len(), plan.left_out.len()), (3 * 27, 0));
        let count = |figure| plan.figures.iter().filter(|of| of.figure == figure).count();
        assert_eq!([count("slowdown"), count("gain"), count("time"), count("headroom")], [54, 18, 9, 3]);
        assert!(plan.figures.iter().all(|of| of.control.is_some()), "each figure has a null control");
    }

    #[test]
    fn a_large_machine_has_a_bounded_plan_and_a_small_one_says_what_it_lacks() {
        let siblings: Vec<String> = (0..64).map(|i| format!("\"{i},{}\"", i + 64)).collect();
        let large = format!("[[cpus]]\nids = \"0-127\"\nsiblings = [{}]\nl3 = [\"0-127\"]\n", siblings.join(", "));
        assert_eq!(Smt.plan(&setup(&large, false)).unwrap().series.len(), 3 * 27);
        let small = Smt.plan(&setup("[[cpus]]\nids = \"0-1\"\n", false)).unwrap();
        assert!(small.left_out[0].contains("no two of the measured CPUs are siblings"), "{:?}", small.left_out);
        assert!(small.figures.iter().all(|of| of.figure != "headroom"), "different cores leave a core to each other");
        let one = Smt.plan(&setup("[[cpus]]\nids = \"0\"\n", false)).unwrap();
        assert_eq!((one.series.len(), one.left_out.len()), (0, 2));
    }

    #[test]
    fn the_figures_have_the_names_that_they_are_described_by() {
        let described: Vec<&str> = Smt.figures().iter().map(|(name, _)| *name).collect();
        assert_eq!(described, ["time", "slowdown", "gain", "headroom"]);
        let plan = Smt.plan(&setup(HYBRID, false)).unwrap();
        assert!(plan.figures.iter().all(|of| described.contains(&of.figure)));
        let gain = plan.figures.iter().find(|of| of.figure == "gain").unwrap();
        assert_eq!(gain.parameters.keys().collect::<Vec<_>>(), ["kind", "neighbour"]);
    }

    /// Capabilities 34 and 35: 60.4 s on different cores, 124.9 s on one core is a throughput of 0.967; a gain of 1.331 leaves 24.9 %.
    #[test]
    fn gain_and_headroom_are_those_of_the_documents() {
        let times = [60.404, 124.8585, 60.404, 124.8585];
        assert!(((GAIN.of)(&times) - 0.967).abs() < 0.001);
        let slower = 2.0 / 1.331;
        assert!(((HEADROOM.of)(&[1.0, slower, 1.0, slower]) - (1.0 - 1.0 / 1.331)).abs() < 1e-9);
        assert!((GAIN.of)(&[1.0, 0.0, 1.0, 1.0]).is_nan());
    }

    /// Work that shares a core cannot be faster than alone, so that its gain is at most 2; a figure above that by noise alone is not accused.
    #[test]
    fn a_gain_above_two_is_said_unless_its_interval_explains_it() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..1000 {
            let alone = [0.1 + random.f64() * 100.0, 0.1 + random.f64() * 100.0];
            let with = alone.map(|alone| alone * (1.0 + 3.0 * random.f64()));
            let of = (GAIN.of)(&[alone[0], with[0], alone[1], with[1]]);
            assert!(of > 0.0 && of <= 2.0, "{of}");
        }
        let cost = |low: f64| Cost {
            probe: "smt".to_owned(),
            figure: "gain".to_owned(),
            pair: Some(PairClass::Sibling),
            cpus: vec![CpuId(0), CpuId(1)],
            core_types: vec![CoreType::Uniform; 2],
            parameters: [("kind", "integer"), ("neighbour", "float")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
            unit: CostUnit::Ratio,
            estimate: Estimate { value: 2.1, low, high: 2.2 },
            systematic: None,
            next: None,
            repetitions: 10,
            disturbed: 0,
            misplaced: 0,
            control: None,
            precise: true,
        };
        let setup = setup(HYBRID, false);
        assert_eq!(Smt.judge(&setup, &[cost(1.99)]), Vec::<String>::new());
        let noisy = Cost { control: Some(Estimate { value: 1.0, low: 0.97, high: 1.01 }), ..cost(2.05) };
        assert_eq!(Smt.judge(&setup, &[noisy]), Vec::<String>::new(), "alone twice differs by as much");
        let said = Smt.judge(&setup, &[cost(2.05)]);
        assert!(said[0].starts_with("the gain of integer with float on CPUs 0-1 is 2.100 [2.050, 2.200]"), "{said:?}");
    }
}
