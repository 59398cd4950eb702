//! Drawn traces: the same seed gives the same trace, the traces have consistent time accounting, and the truths are true.

use engine::{PassOptions, Session};
use faults::kinds::{Fault, KINDS, Kind};
use faults::{Dose, Drawn, Set, draw, write};
use model::EventKind;
use std::collections::{BTreeMap, BTreeSet};

const MS: i64 = 1_000_000;

fn drawn(kinds: &[&Kind], dose: Dose, seed: u64) -> Drawn {
    draw(kinds, dose, Set::Training, seed).unwrap_or_else(|why| panic!("{kinds:?}, seed {seed}: {why}"))
}

fn kind(fault: Fault) -> &'static Kind {
    KINDS.iter().find(|kind| kind.fault == fault).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let [one, other] = [7, 7].map(|seed| drawn(&[&KINDS[3]], Dose::Full, seed));
    assert_eq!(one.batch.events, other.batch.events);
    assert_eq!(one.batch.names, other.batch.names);
    assert_eq!(one.truths, other.truths);
}

#[test]
fn the_two_sets_of_seeds_give_different_traces() {
    let ends =
        |set| (0..20).map(move |seed| draw(&[], Dose::Full, set, seed).unwrap().span_ns).collect::<BTreeSet<_>>();
    assert!(ends(Set::Training).is_disjoint(&ends(Set::Reported)));
}

#[test]
fn a_slight_fault_costs_less_than_a_full_one() {
    for kind in KINDS {
        for seed in 0..2 {
            let full = drawn(&[kind], Dose::Full, seed);
            assert_eq!(full.truths.len(), 1);
            assert!(!full.truths[0].threads.is_empty(), "{}", kind.rule);
            assert!(full.truths[0].injected_ns > 5 * MS, "{}, seed {seed}: {:?}", kind.rule, full.truths);
            let slight = drawn(&[kind], Dose::Slight, seed);
            assert!(slight.truths[0].injected_ns < full.truths[0].injected_ns, "{}, seed {seed}", kind.rule);
        }
    }
}

#[test]
fn a_healthy_trace_has_no_truth_and_marks_its_frames() {
    for seed in 0..6 {
        let healthy = drawn(&[], Dose::Full, seed);
        assert!(healthy.truths.is_empty());
        assert!(healthy.span_ns > 200 * MS);
        let marks = healthy.batch.events.iter().filter(|e| matches!(e.what, EventKind::Mark(_))).count();
        assert!(marks >= 80 && marks % 2 == 0, "at least 40 frames, each with start and end: {marks}");
    }
}

#[test]
fn every_fourth_seed_has_deleted_switches() {
    for seed in 0..8 {
        assert_eq!(drawn(&[], Dose::Full, seed).deleted > 0, seed % 4 == 3, "seed {seed}");
    }
}

#[test]
fn samples_tell_spinning_from_work() {
    let of = |kind: &Kind| {
        let drawn = drawn(&[kind], Dose::Full, 0);
        let stack = |e: &model::Event| if let EventKind::CpuSample { stack, .. } = e.what { Some(stack) } else { None };
        let mut by_function = BTreeMap::<String, usize>::new();
        for stack in drawn.batch.events.iter().filter_map(stack) {
            let function = drawn.batch.stacks[stack.0 as usize - 1][0].function;
            *by_function.entry(drawn.batch.names[function.0 as usize - 1].to_string()).or_default() += 1;
        }
        let most = drawn.machine.cpus() * (drawn.span_ns * 99 / 1_000_000_000 + 1) as usize;
        assert!((1..=most).contains(&by_function.values().sum()), "at most 99 a second of each CPU");
        by_function
    };
    let spins = "gomp_team_barrier_wait_end";
    assert!(of(kind(Fault::SpinningBarrier)).get(spins).is_some_and(|samples| *samples > 10));
    assert_eq!(of(kind(Fault::StaticPartition)).keys().collect::<Vec<_>>(), ["work"]);
}

#[test]
fn a_delayed_periodic_thread_costs_lateness_and_not_time() {
    for seed in 0..4 {
        let drawn = drawn(&[kind(Fault::DelayedPeriod)], Dose::Full, seed);
        let end = |batch: &model::Batch| batch.events.last().map_or(0, |e| e.at.0);
        let longer = end(&drawn.batch) - end(&drawn.fixed);
        // A missed period makes the run a period longer.
        assert!(longer < drawn.truths[0].injected_ns / 2, "seed {seed}: {longer} ns, {:?}", drawn.truths);
    }
}

#[test]
fn a_server_of_one_thread_serves_all_clients() {
    for seed in 0..4 {
        let drawn = drawn(&[kind(Fault::SerialServer)], Dose::Full, seed);
        let stores = |batch: &model::Batch| {
            let is_answer = |wake: &model::Wake| batch.names[wake.name.0 as usize - 1].starts_with("client");
            let wakers = batch.events.iter().filter_map(|e| match e.what {
                EventKind::Wake(wake) if is_answer(&wake) && wake.waker != model::Tid::IDLE => Some(wake.waker),
                _ => None,
            });
            wakers.collect::<BTreeSet<_>>().len()
        };
        assert_eq!(stores(&drawn.batch), 1, "seed {seed}");
        assert!(stores(&drawn.fixed) > 1, "seed {seed}");
    }
}

#[test]
fn two_faults_have_separate_costs() {
    let both = drawn(&[&KINDS[6], &KINDS[8]], Dose::Full, 1);
    assert_eq!(both.truths.len(), 2);
    assert!(both.truths.iter().all(|t| t.injected_ns > 0), "{:?}", both.truths);
    assert!(both.truths[0].injected_ns >= both.truths[1].injected_ns);
}

#[test]
fn drawn_traces_have_consistent_time_accounting() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, kind) in KINDS.iter().enumerate() {
        let path = folder.path().join(kind.rule);
        let drawn = drawn(&[kind], Dose::Full, seed as u64);
        write(&drawn, &path).unwrap();
        let session = Session::open(&path, PassOptions::default()).unwrap();
        let summary = session.summary();
        assert!(summary.laws.iter().all(|law| law.residual_ns == 0), "{}: {:?}", kind.rule, summary.laws);
        // Without deleted switches there are no inconsistent switches.
        assert_eq!(summary.inconsistent_switches > 0, drawn.deleted > 0, "{}", kind.rule);
    }
}
