//! Laws of measuring, with steps whose true values are known.

#![allow(missing_docs)]

use bench::{
    Check, Evidence, Formula, Measurement, Options, Plan, Recorder, Repetition, Run, Runs, Setup, Wanted, measure,
};
use model::CpuId;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use topology::{CostUnit, Machine};

const CPU: CpuId = CpuId(0);

/// A machine whose steal no one reads: its only CPU has a number that this machine lacks.
fn setup(seed: u64) -> Setup {
    let machine = Machine::of_cpus([CpuId(9999)]);
    Setup { machine, cpus: vec![CpuId(9999)], quick: false, added_ns: None, seed }
}

fn evidence() -> Evidence {
    Evidence {
        tid: 7,
        span_ns: [0, 1_000_000],
        expected: vec![CPU],
        found: [CPU; 2],
        moves: 0,
        ready_ns: Some(0),
        ran_ns: 1_000_000,
        preempted: 0,
        slept: 0,
        as_meant: true,
        disturbed: false,
    }
}

fn repetition(value: f64) -> Repetition {
    Repetition { value, threads: vec![evidence()] }
}

/// Values around a mean, skewed as times are: most a little below it, few far above.
fn noisy(seed: u64, mean: f64, spread: f64) -> impl FnMut() -> io::Result<Repetition> + Send + 'static {
    let mut random = fastrand::Rng::with_seed(seed);
    move || {
        let skewed = -random.f64().max(1e-9).ln() - std::f64::consts::LN_2;
        Ok(repetition(mean + spread * skewed))
    }
}

/// How long a measurement may take. Each ends when its figures are precise or, if one never is, after the most rounds: so what it does follows
/// from its seed, and not from the time.
const BUDGET: Duration = Duration::from_secs(600);

fn run(plan: Plan, seed: u64) -> Measurement {
    let options = Options { precision: 0.01, budget: BUDGET };
    measure("test", plan, &setup(seed), &options, None, &|| false, &mut |_| {})
}

fn of(formula: Formula) -> Wanted {
    Wanted::new("figure", &[CPU], CostUnit::Ns, formula)
}

/// What was added on purpose comes back within the interval, and the null control holds zero, in at least 90 of 100 measurements.
#[test]
fn an_added_time_comes_back_and_nothing_stays_nothing() {
    let (mut found, mut null) = (0, 0);
    for seed in 0..100 {
        let mut plan = Plan::default();
        let plain = plan.series("plain", noisy(seed, 1000.0, 30.0));
        let again = plan.series("again", noisy(seed + 1000, 1000.0, 30.0));
        let longer = plan.series("longer", noisy(seed + 2000, 1050.0, 30.0));
        plan.figure(of(Formula::difference(longer, plain)).control(Formula::difference(again, plain)));
        let done = run(plan, seed);
        found += u32::from(done.costs[0].estimate.holds(50.0));
        null += u32::from(done.costs[0].control.unwrap().holds(0.0));
    }
    assert!(found >= 90 && null >= 90, "{found} {null}");
}

/// What known work showed of the method becomes a part of each figure of the step: a fixed part and one that grows with the figure.
#[test]
fn by_how_much_the_method_is_off_is_said_of_figures_and_differences() {
    let mut plan = Plan::default();
    let step = plan.series("step", noisy(1, 2000.0, 0.0));
    let longer = plan.series("longer", noisy(2, 7000.0, 0.0));
    // Of 1 us, 20 ns too much came back; of 5 us, 100 ns too little.
    let (short, long) = (plan.series("short", noisy(3, 20.0, 0.0)), plan.series("long", noisy(4, -100.0, 0.0)));
    plan.checks.insert(step, Check { short: Formula::of(short), long: Formula::of(long) });
    let formulas =
        [Formula::of(step), Formula::difference(longer, step), Formula::of(longer), Formula::ratio(longer, step)];
    formulas.into_iter().for_each(|formula| plan.figure(of(formula)));
    let found: Vec<Option<f64>> = run(plan, 1).costs.iter().map(|cost| cost.systematic).collect();
    // 2 % of the figure and 20 ns.
    assert_eq!(found, [Some(60.0), Some(120.0), None, None]);
}

/// A machine that becomes slower while it is measured changes the values, but not the ratio of neighbours in time.
#[test]
fn a_drift_of_the_machine_does_not_change_ratios() {
    let calls = Arc::new(AtomicU32::new(0));
    let drifting = |value: f64| {
        let calls = Arc::clone(&calls);
        move || Ok(repetition(value * (1.0 + f64::from(calls.fetch_add(1, Ordering::Relaxed)) / 200.0)))
    };
    let mut plan = Plan::default();
    let (slow, fast) = (plan.series("slow", drifting(300.0)), plan.series("fast", drifting(100.0)));
    plan.figure(of(Formula::ratio(slow, fast)));
    let ratio = run(plan, 5).costs[0].estimate;
    assert!(ratio.holds(3.0) && ratio.half_width() < 0.05, "{ratio:?}");
}

#[test]
fn what_ran_elsewhere_or_waited_is_thrown_away_and_counted() {
    let calls = AtomicU32::new(0);
    let step = move || {
        let mut done = repetition(10.0);
        match calls.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => (done.value, done.threads[0].found[1]) = (1e9, CpuId(5)),
            1 => (done.value, done.threads[0].ready_ns) = (1e9, Some(400_000)),
            _ => {}
        }
        Ok(done)
    };
    let mut plan = Plan::default();
    let series = plan.series("sometimes elsewhere", step);
    plan.figure(of(Formula::of(series)));
    let done = run(plan, 1);
    let cost = &done.costs[0];
    assert_eq!((cost.estimate.low, cost.estimate.high), (10.0, 10.0));
    assert!(cost.misplaced >= 9 && cost.disturbed >= 9, "{cost:?}");
    assert!((0.3..0.7).contains(&done.disturbed_share), "{}", done.disturbed_share);
}

#[test]
fn threads_that_share_a_cpu_wait_for_each_other() {
    let step = || {
        let mut done = repetition(10.0);
        done.threads[0].ready_ns = Some(500_000);
        Ok(done)
    };
    let mut plan = Plan::default();
    let series = plan.sharing("shares", step);
    plan.figure(of(Formula::of(series)));
    assert_eq!(run(plan, 1).costs[0].disturbed, 0);

    // But if both together ran for less than the whole time, something else ran.
    let mut plan = Plan::default();
    let calls = AtomicU32::new(0);
    let series = plan.sharing("with others", move || {
        let mut done = repetition(10.0);
        done.threads[0].ran_ns =
            if calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { 500_000 } else { 990_000 };
        Ok(done)
    });
    plan.figure(of(Formula::of(series)));
    assert!(run(plan, 1).costs[0].disturbed >= 9);
}

#[test]
fn waits_of_threads_that_the_scheduler_places_are_measured() {
    // Neither a thread that waited for a CPU nor time in which none ran is thrown away.
    let mut plan = Plan::default();
    let series = plan.scheduled("placed by the scheduler", || {
        let mut done = repetition(10.0);
        (done.threads[0].ready_ns, done.threads[0].ran_ns) = (Some(500_000), 500_000);
        Ok(done)
    });
    plan.figure(of(Formula::of(series)));
    assert_eq!(run(plan, 1).costs[0].disturbed, 0);
}

#[test]
fn a_step_that_fails_is_said_and_the_others_go_on() {
    let mut plan = Plan::default();
    let fails = plan.series("the one that fails", || Err(io::Error::other("no such CPU")));
    let works = plan.series("works", noisy(1, 10.0, 0.1));
    plan.figure(of(Formula::of(fails)));
    plan.figure(of(Formula::of(works)));
    let done = run(plan, 1);
    assert_eq!(done.costs.len(), 1);
    assert!(
        done.lacks.iter().any(|lack| lack == "the one that fails was not measured: no such CPU"),
        "{:?}",
        done.lacks
    );
}

#[test]
fn a_measurement_that_is_stopped_keeps_what_it_has() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let mut plan = Plan::default();
    let series = plan.series("counted", move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(repetition(1.0))
    });
    plan.figure(of(Formula::of(series)));
    let options = Options { precision: 0.0, budget: BUDGET };
    let stop = || calls.load(Ordering::Relaxed) >= 9;
    let done = measure("test", plan, &setup(1), &options, None, &stop, &mut |_| {});
    assert!(done.stopped && done.costs.len() == 1, "{done:?}");
}

struct Drawn(Result<Runs, String>);

impl Recorder for Drawn {
    fn start(&mut self) -> Result<(), String> {
        self.0.as_ref().map(drop).map_err(Clone::clone)
    }

    fn finish(&mut self) -> Result<Runs, String> {
        self.0.clone()
    }
}

fn recorded(drawn: Result<Runs, String>) -> Measurement {
    let mut plan = Plan::default();
    let series = plan.series("moves", || {
        let mut done = repetition(1.0);
        done.threads[0].moves = 1;
        done.threads[0].expected.push(CpuId(1));
        Ok(done)
    });
    plan.figure(of(Formula::of(series)));
    // Of recorded rounds there is at least one, and else as many as fit into a part of this time.
    let options = Options { precision: 0.01, budget: Duration::from_millis(60) };
    measure("test", plan, &setup(1), &options, Some(&mut Drawn(drawn)), &|| false, &mut |_| {})
}

#[test]
fn the_recording_shows_each_move() {
    let run = |start_ns, end_ns, cpu| Run { start_ns, end_ns, cpu: CpuId(cpu) };
    let runs = |of: Vec<Run>| Ok(Runs([(7, of)].into()));
    let done = recorded(runs(vec![run(-5, 400_000, 0), run(400_000, 2_000_000, 1)]));
    let found = done.verified.unwrap();
    assert!(found.threads > 0 && found.as_expected == found.threads && found.moves_found == found.moves_requested);
    // There may be too few rounds for one.
    assert!(done.recording_ratio.is_none_or(|ratio| ratio == [1.0; 3]), "{:?}", done.recording_ratio);

    let stayed = recorded(runs(vec![run(-5, 2_000_000, 0)])).verified.unwrap();
    assert_eq!((stayed.as_expected, stayed.moves_found), (0, 0), "moves that did not happen are seen");
    let elsewhere = recorded(runs(vec![run(-5, 400_000, 0), run(400_000, 2_000_000, 3)])).verified.unwrap();
    assert_eq!(elsewhere.as_expected, 0);
}

/// Where a repetition ran is verified although something disturbed it, as all are on a busy machine.
#[test]
fn the_recording_shows_the_moves_of_disturbed_repetitions() {
    let mut plan = Plan::default();
    let series = plan.series("moves", || {
        let mut done = repetition(1.0);
        (done.threads[0].moves, done.threads[0].disturbed) = (1, true);
        done.threads[0].expected.push(CpuId(1));
        Ok(done)
    });
    plan.figure(of(Formula::of(series)));
    let run = |start_ns, end_ns, cpu| Run { start_ns, end_ns, cpu: CpuId(cpu) };
    let runs = Runs([(7, vec![run(-5, 400_000, 0), run(400_000, 2_000_000, 1)])].into());
    let options = Options { precision: 0.01, budget: Duration::from_millis(60) };
    let recorder = &mut Drawn(Ok(runs));
    let done = measure("test", plan, &setup(1), &options, Some(recorder), &|| false, &mut |_| {});
    let found = done.verified.unwrap();
    assert!(done.costs.is_empty() && found.threads > 0, "{found:?}");
    assert_eq!((found.as_expected, found.moves_found), (found.threads, found.moves_requested));
}

#[test]
fn without_a_recording_the_figures_stand_and_it_is_said() {
    let mut plan = Plan::default();
    let series = plan.series("steps", || Ok(repetition(1.0)));
    plan.figure(of(Formula::of(series)));
    let options = Options { precision: 0.01, budget: BUDGET };
    let recorder = &mut Drawn(Err("no permission".to_owned()));
    let done = measure("test", plan, &setup(1), &options, Some(recorder), &|| false, &mut |_| {});
    assert_eq!((done.costs.len(), done.verified), (1, None));
    assert_eq!((done.lacks.len(), done.not_verified.as_deref()), (0, Some("no permission")));
}
