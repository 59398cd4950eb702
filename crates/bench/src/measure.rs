//! Measures a plan: rounds in random order until every interval is narrow enough or the time is over.
//!
//! A round measures each series once, in random order, so that what changes slowly changes all series of a round alike. Figures are
//! calculated by round. Repetitions that something disturbed, or that did not run where they should, are thrown away and counted; the series
//! is measured again in the same round, at most [`TRIES`] times.
//!
//! Rounds without and with a recorder alternate in blocks. Figures are those without. The recording shows for each repetition where its
//! threads ran, and how often they moved.

use crate::estimate::{median_interval, next_interval};
use crate::plan::{CpuUse, Formula, Plan, Repetition, Series, Wanted};
use crate::recorded::{Placements, Recorder, Verified};
use crate::setup::{Setup, Ticks};
use crate::thread::Evidence;
use crate::watch::{Watch, Watched};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use topology::{Cost, Estimate};

/// How often a series is tried in a round.
const TRIES: u32 = 3;
/// The fewest rounds of a figure.
pub const LEAST_ROUNDS: usize = 10;
/// The rounds that an interval needs.
const FEWEST_ROUNDS: usize = 6;
/// The most rounds: after that, an interval becomes narrower too slowly.
const MOST_ROUNDS: usize = 2_000;
/// The share of the time that is spent in recorded rounds.
const RECORDED_SHARE: f64 = 0.2;
/// How many blocks of recorded rounds there are.
const RECORDED_BLOCKS: u32 = 2;
/// A repetition is disturbed if a thread was ready without running, or others ran on the CPU that its threads share, for more than this share of it.
const MAX_READY_SHARE: f64 = 0.005;
/// A thread that slept more often than this was woken by the step itself.
const LEAST_SLEPT: i64 = 5;
/// Waits for a CPU that are no sign of a disturbance, ns: a timer's interrupt and what it wakes.
const MAX_READY_NS: i64 = 15_000;

/// How long and how closely to measure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Half the width of the 95 % interval as a share of the figure, that is narrow enough.
    pub precision: f64,
    /// The most time for the plan.
    pub budget: Duration,
}

/// How far a measurement is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Time since the start.
    pub elapsed: Duration,
    /// The most time that it takes.
    pub budget: Duration,
    /// Figures whose interval is narrow enough.
    pub precise: usize,
    /// All figures.
    pub figures: usize,
}

/// What was measured of a plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measurement {
    /// The figures that have enough repetitions.
    pub costs: Vec<Cost>,
    /// What is missing, one sentence each.
    pub lacks: Vec<String>,
    /// The notes of the plan, and what the probe finds in the figures ([`crate::Probe::judge`]), one sentence each.
    pub notes: Vec<String>,
    /// What a recording of the rounds showed; `None` without one.
    pub verified: Option<Verified>,
    /// Why there is no such recording, if it failed.
    pub not_verified: Option<String>,
    /// The share of repetitions that were disturbed, 0 to 1.
    pub disturbed_share: f64,
    /// What the recorder adds to a step: the median over series of the ratio of the recorded to the other rounds, with the smallest and the largest.
    pub recording_ratio: Option<[f64; 3]>,
    /// What else happened on the machine meanwhile.
    pub watched: Watched,
    /// Whether it was stopped early.
    pub stopped: bool,
}

/// The values of a series.
struct Taken {
    /// By round; `None` if it has no undisturbed one.
    timed: Vec<Option<f64>>,
    recorded: Vec<f64>,
    disturbed: u32,
    misplaced: u32,
    failed: Option<String>,
}

/// Measures a plan. `stop` ends it early with what there is.
pub fn measure(
    probe: &str,
    mut plan: Plan,
    setup: &Setup,
    options: &Options,
    recorder: Option<&mut dyn Recorder>,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Measurement {
    let mut taken: Vec<Taken> = plan
        .series
        .iter()
        .map(|_| Taken { timed: Vec::new(), recorded: Vec::new(), disturbed: 0, misplaced: 0, failed: None })
        .collect();
    let start = Instant::now();
    let mut watch = Watch::start(&setup.cpus);
    let mut rounds = Rounds { random: fastrand::Rng::with_seed(setup.seed), setup, stop };
    for (series, taken) in plan.series.iter_mut().zip(&mut taken) {
        if !stop() {
            rounds.warm_up(series, taken);
        }
    }
    let mut recorder = recorder;
    let mut placements = Placements::default();
    let (mut blocks, mut precise) = (0, BTreeSet::new());
    let (lacks, mut not_verified) = (std::mem::take(&mut plan.left_out), None);
    let report = |precise: usize| Progress {
        elapsed: start.elapsed(),
        budget: options.budget,
        precise,
        figures: plan.figures.len(),
    };
    let mut count = 0;
    while !stop() && count < MOST_ROUNDS {
        let spent = start.elapsed().as_secs_f64() / options.budget.as_secs_f64().max(1e-9);
        let all_precise = precise.len() == plan.figures.len() && count >= LEAST_ROUNDS;
        // With fewer rounds than an interval needs, the time would have been spent for nothing.
        if all_precise || (spent >= 1.0 && count >= FEWEST_ROUNDS) || spent >= 2.0 {
            break;
        }
        // A recorded block is due in the middle of each part of the time, but only after the figures have something to be compared with.
        let due = f64::from(blocks) < f64::from(RECORDED_BLOCKS) * (spent + 0.25).min(1.0) && count >= 3;
        if let Some(recorder) = recorder.as_deref_mut().filter(|_| due && blocks < RECORDED_BLOCKS) {
            blocks += 1;
            let most = options.budget.mul_f64(RECORDED_SHARE / f64::from(RECORDED_BLOCKS));
            if let Err(why) = rounds.recorded(&mut plan.series, &mut taken, recorder, most, &mut placements) {
                not_verified = Some(why);
                blocks = RECORDED_BLOCKS;
            }
            continue;
        }
        let needed: BTreeSet<usize> = plan
            .figures
            .iter()
            .enumerate()
            .filter(|(i, _)| !precise.contains(i))
            .flat_map(|(_, figure)| {
                let checks = plan.checks_of(&figure.formula).flat_map(|(_, of)| [&of.short, &of.long]);
                figure.control.iter().chain([&figure.formula]).chain(checks).flat_map(Formula::series)
            })
            .collect();
        rounds.timed(&mut plan.series, &mut taken, &needed);
        watch.look();
        count += 1;
        if count >= LEAST_ROUNDS && count % 5 == 0 {
            for (i, figure) in plan.figures.iter().enumerate() {
                if estimate(&figure.formula, &taken).is_some_and(|(of, _)| is_precise(&of, figure, &taken, options)) {
                    precise.insert(i);
                }
            }
        }
        progress(report(precise.len()));
    }
    // Figures that need few rounds are verified too.
    if let Some(recorder) = recorder.filter(|_| blocks == 0 && !stop())
        && let Err(why) = rounds.recorded(
            &mut plan.series,
            &mut taken,
            recorder,
            options.budget.mul_f64(RECORDED_SHARE),
            &mut placements,
        )
    {
        not_verified = Some(why);
    }
    let mut done = finish(probe, &plan, setup, options, taken, placements, lacks, stop());
    done.not_verified = not_verified;
    done.watched = watch.end();
    done.notes.extend(done.watched.sentence());
    done
}

struct Rounds<'a> {
    random: fastrand::Rng,
    setup: &'a Setup,
    stop: &'a dyn Fn() -> bool,
}

impl Rounds<'_> {
    /// Measures until two values in turn differ by less than 5 %, at most five times: caches, page tables and the frequency are then as they stay.
    fn warm_up(&mut self, series: &mut Series, taken: &mut Taken) {
        let mut before: Option<f64> = None;
        for _ in 0..5 {
            match (series.step)() {
                Ok(of) => {
                    let steady = before.is_some_and(|before| (of.value / before - 1.0).abs() < 0.05);
                    before = Some(of.value);
                    if steady {
                        return;
                    }
                }
                Err(why) => {
                    taken.failed = Some(why.to_string());
                    return;
                }
            }
        }
    }

    fn order(&mut self, len: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..len).collect();
        self.random.shuffle(&mut order);
        order
    }

    /// A round of the needed series without a recorder.
    fn timed(&mut self, series: &mut [Series], taken: &mut [Taken], needed: &BTreeSet<usize>) {
        for i in self.order(series.len()) {
            let value = match needed.contains(&i) && !(self.stop)() {
                true => self.undisturbed(&mut series[i], &mut taken[i], &mut |_| ()).map(|of| of.value),
                false => None,
            };
            taken[i].timed.push(value);
        }
    }

    /// Rounds of all series during a recording.
    fn recorded(
        &mut self,
        series: &mut [Series],
        taken: &mut [Taken],
        recorder: &mut dyn Recorder,
        most: Duration,
        placements: &mut Placements,
    ) -> Result<(), String> {
        recorder.start()?;
        let start = Instant::now();
        let mut threads: Vec<(usize, Evidence)> = Vec::new();
        // One whole round, however long it takes.
        let mut rounds = 0;
        while !(self.stop)() && (rounds == 0 || start.elapsed() < most) {
            for i in self.order(series.len()) {
                let mut placed = |of: &Repetition| threads.extend(of.threads.iter().map(|thread| (i, thread.clone())));
                if let Some(of) = self.undisturbed(&mut series[i], &mut taken[i], &mut placed) {
                    taken[i].recorded.push(of.value);
                }
            }
            rounds += 1;
        }
        let runs = recorder.finish()?;
        for (i, thread) in threads {
            placements.add(&series[i].name, &thread, &runs);
        }
        Ok(())
    }

    /// A repetition that ran where it should and was not disturbed. `placed` gets the disturbed ones too: where they ran can be verified, even
    /// if the machine is so busy that there are no others.
    fn undisturbed(
        &mut self,
        series: &mut Series,
        taken: &mut Taken,
        placed: &mut dyn FnMut(&Repetition),
    ) -> Option<Repetition> {
        if taken.failed.is_some() {
            return None;
        }
        for _ in 0..TRIES {
            let before = Ticks::read().unwrap_or_default();
            let done = match (series.step)() {
                Ok(done) => done,
                Err(why) => {
                    taken.failed = Some(why.to_string());
                    return None;
                }
            };
            let stolen = Ticks::read().unwrap_or_default().stolen_since(&before, &self.setup.cpus);
            if done.threads.iter().all(Evidence::is_placed) {
                placed(&done);
                if stolen == 0 && !others_used(series.cpu_use, &done.threads) {
                    return Some(done);
                }
                taken.disturbed += 1;
            } else {
                taken.misplaced += 1;
            }
            if (self.stop)() {
                return None;
            }
        }
        None
    }
}

/// The most time that may be missing from a measured part of this length, ns.
fn max_missing_ns(len_ns: i64) -> i64 {
    MAX_READY_NS.max((len_ns as f64 * MAX_READY_SHARE) as i64)
}

/// Whether a thread waited for its CPU because of others. A move makes it wait too, until the other CPU takes it, and counts as a preemption; so
/// of a thread that moves, the preemptions are compared with its moves.
fn waited(thread: &Evidence) -> bool {
    if thread.disturbed {
        return true;
    }
    if thread.moves > 0 {
        return thread.preempted > thread.moves.cast_signed() + 1;
    }
    // From its wakeup until it runs a thread is ready too, which is part of what is measured.
    if thread.slept > LEAST_SLEPT {
        return thread.preempted > 1 + thread.slept / 50;
    }
    thread.ready_ns.is_some_and(|ready| ready > max_missing_ns(thread.len_ns()))
}

/// Whether others used the CPUs of a repetition.
fn others_used(cpu_use: CpuUse, threads: &[Evidence]) -> bool {
    match cpu_use {
        CpuUse::Own => threads.iter().any(waited),
        CpuUse::Shared => others_ran(threads),
        CpuUse::Scheduled => false,
    }
}

/// Whether others ran on the one CPU that threads share: one of them always runs.
fn others_ran(threads: &[Evidence]) -> bool {
    let begin = threads.iter().map(|thread| thread.span_ns[0]).min().unwrap_or(0);
    let end = threads.iter().map(|thread| thread.span_ns[1]).max().unwrap_or(0);
    let ran: i64 = threads.iter().map(|thread| thread.ran_ns).sum();
    end - begin - ran > max_missing_ns(end - begin)
}

/// The estimate of a formula over all rounds, and its values.
fn estimate(formula: &Formula, taken: &[Taken]) -> Option<(Estimate, Vec<f64>)> {
    let rounds = formula.series().map(|i| taken.get(i).map_or(0, |of| of.timed.len())).min()?;
    let values: Vec<f64> = (0..rounds)
        .filter_map(|round| formula.in_round(&|i| taken.get(i)?.timed.get(round).copied().flatten()))
        .collect();
    Some((median_interval(&values)?, values))
}

/// Whether an interval is narrow enough: relative to the figure or, for a difference, to the largest of the series that it is made of.
fn is_precise(of: &Estimate, figure: &Wanted, taken: &[Taken], options: &Options) -> bool {
    let part = |(factor, series): &(f64, usize)| {
        estimate(&Formula::Sum(vec![(factor.abs(), *series)]), taken).map(|(of, _)| of.value)
    };
    let largest = match &figure.formula {
        Formula::Sum(parts) if parts.len() > 1 => parts.iter().filter_map(part).fold(0.0, f64::max),
        _ => 0.0,
    };
    of.half_width() <= (of.value.abs().max(largest) * options.precision).max(figure.enough)
}

/// By how much the method may be off in a figure: the fixed parts of its steps, and the greatest of the parts that grow. `None` if no step of it
/// was checked.
fn systematic(plan: &Plan, figure: &Wanted, value: f64, taken: &[Taken]) -> Option<f64> {
    let off = plan.checks_of(&figure.formula).map(|(factor, check)| {
        let (fixed, grows) = check.off(|of| Some(estimate(of, taken)?.0))?;
        Some((factor.abs() * fixed, grows))
    });
    let off: Vec<(f64, f64)> = off.collect::<Option<_>>()?;
    let grows = off.iter().map(|(_, grows)| *grows).reduce(f64::max)?;
    Some(off.iter().map(|(fixed, _)| *fixed).sum::<f64>() + grows * value.abs())
}

#[expect(clippy::too_many_arguments, reason = "the state of one measurement, taken apart")]
fn finish(
    probe: &str,
    plan: &Plan,
    setup: &Setup,
    options: &Options,
    taken: Vec<Taken>,
    placements: Placements,
    mut lacks: Vec<String>,
    stopped: bool,
) -> Measurement {
    let mut costs = Vec::new();
    let mut without = 0;
    for figure in &plan.figures {
        let Some((of, values)) = estimate(&figure.formula, &taken) else {
            without += 1;
            continue;
        };
        let series: BTreeSet<usize> = figure.formula.series().collect();
        let sum = |count: fn(&Taken) -> u32| series.iter().filter_map(|i| taken.get(*i)).map(count).sum();
        costs.push(Cost {
            probe: probe.to_owned(),
            figure: figure.figure.to_owned(),
            pair: figure.pair,
            cpus: figure.cpus.clone(),
            core_types: figure.cpus.iter().map(|cpu| setup.core_type(*cpu)).collect(),
            parameters: figure.parameters.clone(),
            unit: figure.unit,
            estimate: of,
            systematic: systematic(plan, figure, of.value, &taken),
            next: next_interval(&values),
            repetitions: values.len() as u32,
            disturbed: sum(|of| of.disturbed),
            misplaced: sum(|of| of.misplaced),
            control: figure.control.as_ref().and_then(|control| Some(estimate(control, &taken)?.0)),
            precise: is_precise(&of, figure, &taken, options),
        });
    }
    for (series, taken) in plan.series.iter().zip(&taken) {
        if let Some(why) = &taken.failed {
            lacks.push(format!("{} was not measured: {why}", series.name));
        }
    }
    if without > 0 && !stopped {
        lacks.push(format!("{without} figures have fewer than 6 undisturbed rounds: give more time with --budget, or stop what else runs"));
    }
    let mut notes = plan.notes.clone();
    notes.extend(crate::probes::probe(probe).map(|of| of.judge(setup, &costs)).unwrap_or_default());
    let of_all = |count: fn(&Taken) -> usize| taken.iter().map(count).sum::<usize>() as f64;
    let disturbed = of_all(|of| of.disturbed as usize);
    let kept = of_all(|of| of.timed.iter().flatten().count() + of.recorded.len());
    Measurement {
        costs,
        lacks,
        notes,
        verified: placements.verified(),
        not_verified: None,
        disturbed_share: if disturbed > 0.0 { disturbed / (disturbed + kept) } else { 0.0 },
        recording_ratio: recording_ratio(&taken),
        watched: Watched::default(),
        stopped,
    }
}

/// What the recorder adds, over series with enough rounds of both kinds.
fn recording_ratio(taken: &[Taken]) -> Option<[f64; 3]> {
    let median = |values: &[f64]| median_interval(values).map(|of| of.value);
    let mut ratios: Vec<f64> = taken
        .iter()
        .filter_map(|of| {
            let timed: Vec<f64> = of.timed.iter().copied().flatten().collect();
            Some(median(&of.recorded)? / median(&timed).filter(|of| *of > 0.0)?)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    Some([*ratios.get(ratios.len() / 2)?, *ratios.first()?, *ratios.last()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_recorder_adds_is_the_median_over_series_with_enough_rounds() {
        let taken = |recorded: f64, rounds: usize| Taken {
            timed: vec![Some(10.0); 8],
            recorded: vec![recorded; rounds],
            disturbed: 0,
            misplaced: 0,
            failed: None,
        };
        let all = [taken(10.0, 6), taken(12.0, 6), taken(11.0, 6), taken(90.0, 5)];
        assert_eq!(recording_ratio(&all), Some([1.1, 1.0, 1.2]), "the last one has too few rounds");
        assert_eq!(recording_ratio(&all[3..]), None);
    }
}
