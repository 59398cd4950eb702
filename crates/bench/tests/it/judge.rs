//! What a probe finds in its own figures is part of its measurement.

#![allow(missing_docs)]

use bench::{Calculation, Evidence, Formula, Measurement, Options, PROBES, Plan, Repetition, Setup, Wanted, measure};
use model::CpuId;
use std::time::Duration;
use topology::{CostUnit, Machine, PairClass};

/// Measures a gain of this value under the name of a probe, on a machine whose steal no one reads.
fn measured(probe: &str, gain: f64) -> Measurement {
    let cpu = CpuId(9999);
    let evidence = Evidence {
        tid: 7,
        span_ns: [0, 1_000_000],
        expected: vec![cpu],
        found: [cpu; 2],
        moves: 0,
        ready_ns: Some(0),
        ran_ns: 0,
        preempted: 0,
        slept: 0,
        as_meant: true,
        disturbed: false,
    };
    let mut plan = Plan::default();
    plan.notes.push("a note of the plan".to_owned());
    let series = plan.series("both", move || Ok(Repetition { value: gain, threads: vec![evidence.clone()] }));
    let figure = Wanted::new("gain", &[cpu], CostUnit::Ratio, Formula::of(series)).pair(PairClass::Sibling);
    plan.figure(figure.with("kind", "integer").with("neighbour", "float"));
    let setup = Setup { machine: Machine::of_cpus([cpu]), cpus: vec![cpu], quick: false, added_ns: None, seed: 1 };
    // It ends when the figure is precise.
    let options = Options { precision: 0.01, budget: Duration::from_secs(600) };
    let mut done = measure(probe, plan, &setup, &options, None, &|| false, &mut |_| {});
    // What else happened on this machine is no judgement.
    done.notes.retain(|note| !note.starts_with("meanwhile:"));
    done
}

#[test]
fn a_broken_law_is_among_the_notes_of_the_measurement() {
    let broken = measured("smt", 2.1).notes;
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert_eq!(broken[0], "a note of the plan");
    assert!(broken[1].contains("2.100 [2.100, 2.100], above the most that is possible (2)"), "{broken:?}");
    assert_eq!(measured("smt", 1.9).notes, ["a note of the plan"]);
    assert_eq!(measured("another", 2.1).notes, ["a note of the plan"], "no law of this probe");
}

#[test]
fn a_function_of_series_needs_all_of_them_and_a_result() {
    let inverse = Calculation { name: "inverse", of: |values| values[0] / values[1] };
    let formula = Formula::Function(vec![4, 2], inverse);
    assert_eq!(formula.series().collect::<Vec<_>>(), [4, 2]);
    assert_eq!(formula.in_round(&|series| Some(series as f64)), Some(2.0));
    assert_eq!(formula.in_round(&|series| (series == 4).then_some(1.0)), None, "a series has no value in this round");
    assert_eq!(formula.in_round(&|_| Some(0.0)), None, "nothing is divided by");
}

#[test]
fn every_figure_is_described() {
    let setup = Setup::of(topology::live(), None, true, 1).unwrap();
    for probe in PROBES {
        let words = probe.figures();
        for wanted in probe.plan(&setup).unwrap().figures {
            let is_described = words.iter().any(|(figure, words)| *figure == wanted.figure && !words.is_empty());
            assert!(is_described, "{} {}", probe.name(), wanted.figure);
        }
    }
}
