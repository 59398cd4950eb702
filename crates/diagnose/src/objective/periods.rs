//! The lateness of a periodic thread.

use super::path::ObjectivePath;
use super::windows::LateWindows;
use super::{Objective, ObjectiveKind};
use crate::context::{RuleContext, add};
use crate::pools::Processes;
use crate::priorities::{FIRST_FAIR_PRIO, real_time};
use crate::unmarked::interpreter_lock;
use engine::critical::Outside;
use engine::{EngineError, PathWindow};
use model::tables::{periods, ready_wait};
use model::{Ns, Span, ThreadKey, Tid};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// With fewer periods, a thread is not known to be what the program is about.
const MIN_PERIODS: i64 = 20;
/// The minimum part of the analysed time that the periods cover.
const MIN_COVERED: f64 = 0.5;
/// The minimum part of the analysed time that the thread runs: one that works less only looks whether there is work.
const MIN_RUNNING: f64 = 0.001;
/// The minimum part of the running time of its process and of processes with a thread of its name: the timer of a runtime, and a process that
/// only watches its workers, have less.
const MIN_OF_PROCESSES: f64 = 0.04;
/// The maximum part of its periods that it is blocked within its work: one that waits for most of a period is paced by what it waits for.
const MAX_BLOCKED: f64 = 0.25;
/// The minimum of the mean of `steady`.
const MIN_STEADY: f64 = 0.9;
/// The minimum part of the periods whose length is within 10 % of the mean.
const MIN_ALIKE: f64 = 0.8;
/// A thread has no slack if this part of its periods have less than a tenth of the period left when its work is done: each delay brings it
/// nearer to being late.
const MIN_TIGHT: f64 = 0.005;
/// The part of the periods without time left from which on a thread works all the time.
const MAX_TIGHT: f64 = 0.9;
/// Three times as long, in steps of the logarithm.
const THREE_TIMES: i64 = 11;
/// With fewer such periods, they are accidents.
const MIN_TIGHT_COUNT: i64 = 2;

/// The sums of a thread's periods.
#[derive(Default)]
struct Sums {
    tid: Tid,
    count: i64,
    period: Ns,
    running: Ns,
    blocked: Ns,
    steady: f64,
    /// The number of periods whose work ended after them, and of those that it left less than a tenth of their time.
    late: i64,
    tight: i64,
    /// How many periods are shorter than a given length, by its logarithm in steps of a tenth.
    lengths: BTreeMap<i64, i64>,
    /// The same of all response times, and of those that take a quarter of their period or more.
    responses: BTreeMap<i64, i64>,
    long_responses: BTreeMap<i64, i64>,
}

/// The logarithm of a time in steps of a tenth.
fn step(of: Ns) -> i64 {
    (of.max(Ns(1)).as_f64().ln() * 10.0) as i64
}

impl Sums {
    /// Whether most periods have about the same length.
    fn are_alike(&self) -> bool {
        let commonest = self.lengths.iter().max_by_key(|(_, count)| **count).map_or(0, |(step, _)| *step);
        let near: i64 = self.lengths.range(commonest - 1..=commonest + 1).map(|(_, count)| *count).sum();
        near as f64 >= MIN_ALIKE * self.count as f64
    }

    /// Whether nearly no period leaves it time: it works all the time, with short pauses.
    fn is_always_busy(&self) -> bool {
        self.tight as f64 >= MAX_TIGHT * self.count as f64
    }

    /// How many response times take a quarter of the period or more, and three times as long as the median.
    fn spikes(&self) -> i64 {
        let (mut seen, mut median) = (0, i64::MAX);
        for (step, count) in &self.responses {
            seen += count;
            if 2 * seen >= self.count {
                median = *step;
                break;
            }
        }
        self.long_responses.range(median.saturating_add(THREE_TIMES)..).map(|(_, count)| *count).sum()
    }
}

/// The periodic threads of a trace.
pub(super) struct PeriodicThreads(BTreeMap<ThreadKey, Sums>);

impl PeriodicThreads {
    /// Reads the table `periods`.
    pub(super) fn new(ctx: &RuleContext<'_>) -> Result<Self, EngineError> {
        let mut threads = BTreeMap::<ThreadKey, Sums>::new();
        if !ctx.summary().ready_known {
            return Ok(Self(threads));
        }
        ctx.each_row(periods::Table, |row| {
            let (thread, tid, period) = row.all((periods::THREAD, periods::TID, periods::PERIOD_NS));
            let [running, blocked] = row.all([periods::RUNNING_NS, periods::BLOCKED_NS]);
            let sums = threads.entry(thread).or_default();
            (sums.tid, sums.count) = (tid, sums.count + 1);
            sums.period += period;
            sums.running += running;
            sums.blocked += blocked;
            sums.steady += row.get(periods::STEADY);
            let response = row.get(periods::RESPONSE_NS);
            sums.late += i64::from(response > period);
            sums.tight += i64::from(response >= period - period / 10);
            add(&mut sums.lengths, step(period), 1);
            add(&mut sums.responses, step(response), 1);
            if response >= period / 4 {
                add(&mut sums.long_responses, step(response), 1);
            }
        })?;
        Ok(Self(threads))
    }

    /// The thread whose lateness the program is about: of those that are late, or else of all, the one with the most urgent real-time
    /// priority; of several, the one that is late most often, or else the one that works most.
    pub(super) fn main(
        &self,
        ctx: &RuleContext<'_>,
        is_own: impl Fn(ThreadKey) -> bool,
    ) -> Result<Option<ThreadKey>, EngineError> {
        let span = ctx.span().len().as_f64();
        let real_time = real_time(ctx)?;
        let is_candidate = |(thread, sums): &(&ThreadKey, &Sums)| {
            sums.count >= MIN_PERIODS
                && sums.period.as_f64() >= MIN_COVERED * span
                && (sums.running.as_f64() >= MIN_RUNNING * span || real_time.contains_key(thread))
                && sums.blocked.as_f64() <= MAX_BLOCKED * sums.period.as_f64()
                && sums.steady >= MIN_STEADY * sums.count as f64
                && sums.are_alike()
                && (!sums.is_always_busy() || real_time.contains_key(thread))
                && is_own(**thread)
        };
        let mut candidates: Vec<(ThreadKey, Ns)> =
            self.0.iter().filter(is_candidate).map(|(thread, sums)| (*thread, sums.running)).collect();
        if candidates.is_empty() {
            return Ok(None);
        }
        let processes = Processes::new(ctx)?;
        let waiting = interpreter_lock::waiting(ctx, &processes)?;
        candidates.retain(|(thread, _)| !waiting.contains_key(thread));
        let (mut of_process, mut named) = (BTreeMap::new(), BTreeMap::<&str, BTreeSet<Option<i64>>>::new());
        ctx.each_row(ready_wait::Table, |row| {
            let (thread, running) = row.all((ready_wait::THREAD, ready_wait::RUNNING_NS));
            add(&mut of_process, processes.process(thread), running);
            named.entry(ctx.full_name(thread)).or_default().insert(processes.process(thread));
        })?;
        candidates.retain(|(thread, running)| {
            let of_name = named.get(ctx.full_name(*thread)).into_iter().flatten();
            let all = of_name.filter_map(|process| of_process.get(process)).sum::<Ns>();
            !processes.are_recorded() || running.as_f64() >= MIN_OF_PROCESSES * all.as_f64()
        });
        let prio = |thread: &ThreadKey| real_time.get(thread).copied().unwrap_or(FIRST_FAIR_PRIO);
        Ok(candidates
            .into_iter()
            .max_by_key(|(thread, running)| {
                let late = self.often_late(*thread, real_time.contains_key(thread));
                (late > 0, Reverse(prio(thread)), late, *running)
            })
            .map(|(thread, _)| thread))
    }

    /// How many of 1000 periods of a thread are late; 0 if it is a few. With a real-time priority, also those that take much longer than the
    /// others.
    fn often_late(&self, thread: ThreadKey, is_real_time: bool) -> i64 {
        let Some(sums) = self.0.get(&thread) else { return 0 };
        let late = if is_real_time { sums.late.max(sums.spikes()) } else { sums.late };
        let late = late.saturating_mul(1000) / sums.count.max(1);
        if late as f64 >= 1000.0 * MIN_TIGHT { late } else { 0 }
    }

    /// Whether so many periods of a thread are late that it is no accident.
    pub(super) fn is_late(&self, thread: ThreadKey) -> bool {
        self.0.get(&thread).is_some_and(|sums| sums.late >= MIN_TIGHT_COUNT) && self.often_late(thread, false) > 0
    }

    /// The thread with this name or TID: of several, the one that works most.
    pub(super) fn named(&self, ctx: &RuleContext<'_>, name: &str) -> Result<ThreadKey, EngineError> {
        let tid = name.parse().ok().map(Tid);
        let is_it = |(thread, sums): &(&ThreadKey, &Sums)| ctx.full_name(**thread) == name || tid == Some(sums.tid);
        let found = self.0.iter().filter(is_it).max_by_key(|(_, sums)| sums.running).map(|(thread, _)| *thread);
        found.ok_or_else(|| {
            let names: BTreeSet<&str> = self.0.keys().map(|thread| ctx.full_name(*thread)).collect();
            let known =
                if names.is_empty() { "none".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(", ") };
            EngineError::NotFound(format!(
                "--objective period:{name}: no periodic thread has this name or TID; the periodic threads are: {known}"
            ))
        })
    }

    /// The objective of one thread.
    pub(super) fn objective(
        &self,
        ctx: &RuleContext<'_>,
        thread: ThreadKey,
        outside: &Outside,
    ) -> Result<ObjectivePath, EngineError> {
        let (mut tight, mut count) = (0_i64, 0_i64);
        ctx.each_row(periods::Table, |row| {
            if row.get(periods::THREAD) == thread {
                let [period, response] = row.all([periods::PERIOD_NS, periods::RESPONSE_NS]);
                count += 1;
                tight += i64::from(response >= period - period / 10);
            }
        })?;
        let is_tight = tight >= MIN_TIGHT_COUNT && tight as f64 >= MIN_TIGHT * count as f64;
        let is_real_time = real_time(ctx)?.contains_key(&thread);
        let no_slack = is_real_time || is_tight;
        let mut late = LateWindows::default();
        ctx.each_row(periods::Table, |row| {
            if row.get(periods::THREAD) == thread {
                let [start, period, response] = row.all([periods::START_NS, periods::PERIOD_NS, periods::RESPONSE_NS]);
                let span = Span::new(start, start + response.max(Ns::ZERO));
                let allowed = if no_slack { Ns::ZERO } else { period };
                late.push(PathWindow { span, thread }, response - allowed);
            }
        })?;
        let sums = self.0.get(&thread);
        let mean = sums.map(|sums| sums.period / sums.count.max(1));
        let objective = Objective {
            name: Some(ctx.name(thread)),
            thread: Some(thread),
            tid: sums.map(|sums| sums.tid),
            deadline_ns: if no_slack { None } else { mean },
            tight: if is_real_time { 0 } else { tight },
            ..Objective::of(ObjectiveKind::Period)
        };
        ObjectivePath::of_windows(ctx, objective, late, outside)
    }
}
