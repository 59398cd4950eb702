//! Threads that wake at a steady period, find nothing, and so divide the idle time of a CPU.

use crate::context::{RuleContext, add};
use crate::finding::Confidence;
use crate::idleness::{BREAK_EVEN_NS, Cause, LostIdleness, MIN_LOST};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, periods, wakers};
use model::words::{grouped, ms, plural, time};
use model::{Fix, Ns, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "polling-thread",
    about: "a thread woke at a steady period and found nothing, so that a CPU could not stay in a deep idle state",
    page: Page {
        description: "Threads that a timer wakes at a steady period (table `periods`), that run briefly and wake hardly any other thread, and \
                without which idle periods of a CPU that are too short for its deepest idle state would have been long enough (table \
                `lost_idleness`).",
        rationale: "An idle state saves energy only if the CPU stays in it for its break-even time. A thread that looks every few hundred \
                  microseconds whether there is work keeps a CPU from that even if it needs hardly any CPU time.",
        certainty: "The periods, the runs and the idle periods are recorded. That the thread finds nothing is inferred: it runs briefly and \
               wakes no other thread. A thread that only reads a sensor looks the same. Where the machine's description has no idle states \
               of its own, the break-even time is assumed. Energy is \
               estimated only where that of packages was measured: from nothing to what they used at their busiest power in the lost time.",
        fix: "Wait for the event instead (futex, epoll, eventfd, a blocking read); if it must be a timer, sleep for longer.",
        example: "A looks for work every 100 µs, and a CPU is never idle for longer.",
    },
    tables: &[
        &tables::LOST_IDLENESS,
        &tables::PERIODS,
        &tables::WAKERS,
        &tables::IDLE_RESIDENCY,
        &tables::CPUS,
        &tables::ENERGY,
        &tables::POWER_OVER_TIME,
    ],
    thresholds: &[&MIN_LOST, &BREAK_EVEN_NS, &MIN_PERIODS, &SHORT_RUN_NS, &MAX_WAKES],
    explains: &[],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

const MIN_PERIODS: Threshold = Threshold {
    name: "min_periods",
    unit: Unit::Count,
    value: 20.0,
    reason: "with fewer, the average run says little",
};

const SHORT_RUN_NS: Threshold = Threshold {
    name: "short_run_ns",
    unit: Unit::Ns,
    value: 50_000.0,
    reason: "average per period: a look takes a few system calls; 11 µs in the pathology short_sleeps",
};

const MAX_WAKES: Threshold = Threshold {
    name: "max_wakes",
    unit: Unit::Ratio,
    value: 0.1,
    reason: "wakeups of other threads per period; heuristic: a thread that hands over work in every tenth period is not only looking",
};

#[derive(Default)]
struct Periods {
    count: i64,
    length: Ns,
    running: Ns,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData("the source has no wakeups, so periods are unknown".to_owned()));
    }
    let lost = LostIdleness::new(ctx, Cause::Thread, false)?;
    let least = ctx.share_ns(&MIN_LOST);
    let mut periodic = BTreeMap::<ThreadKey, Periods>::new();
    ctx.each_row(periods::Table, |row| {
        let thread = row.get(periods::THREAD);
        if ctx.is_kernel_thread(thread) || lost.by_thread.get(&thread).is_none_or(|of| of.ns < least) {
            return;
        }
        let [length, running] = row.all([periods::PERIOD_NS, periods::RUNNING_NS]);
        let sums = periodic.entry(thread).or_default();
        sums.count += 1;
        sums.length += length;
        sums.running += running;
    })?;
    let mut woke = BTreeMap::<ThreadKey, i64>::new();
    ctx.each_row(wakers::Table, |row| {
        if let Some(waker) = row.get(wakers::WAKER).filter(|waker| periodic.contains_key(waker)) {
            add(&mut woke, waker, row.get(wakers::WAKINGS));
        }
    })?;
    let finds_nothing = |thread: ThreadKey, of: &mut Periods| {
        let wakes = woke.get(&thread).copied().unwrap_or(0) as f64;
        of.count as f64 >= ctx.threshold(&MIN_PERIODS)
            && of.running.as_f64() <= ctx.threshold(&SHORT_RUN_NS) * of.count as f64
            && wakes <= ctx.threshold(&MAX_WAKES) * of.count as f64
    };
    periodic.retain(|thread, of| finds_nothing(*thread, of));
    let threads: Vec<_> = lost
        .by_thread
        .iter()
        .filter(|(thread, _)| periodic.contains_key(*thread))
        .map(|(key, of)| (*key, *of))
        .collect();
    let Some((thread, most)) = threads.iter().max_by_key(|(thread, of)| (of.ns, std::cmp::Reverse(*thread))).copied()
    else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let Some(of) = periodic.get(&thread) else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let counted_at = lost.counted_at;
    let others = match threads.len() - 1 {
        0 => String::new(),
        n => format!("; {} did so, too", plural(n as u64, "other thread")),
    };
    let title = format!(
        "{} woke every {} for {} on average, and woke other threads {} in {}: {} ms of idleness were lost, in {} \
         idle periods shorter than {}{others}",
        ctx.name(thread),
        time(of.length / of.count.max(1)),
        time(of.running / of.count.max(1)),
        plural(woke.get(&thread).copied().unwrap_or(0).unsigned_abs(), "time"),
        plural(of.count.unsigned_abs(), "period"),
        ms(most.ns),
        grouped(most.short),
        time(counted_at)
    );
    let finding = lost.finding(
        ctx,
        &threads,
        |threads| Fix::Sleep { threads, length: counted_at },
        |name| format!("Let {name} wait for the event, or sleep for longer"),
        Confidence::Medium,
        title,
    );
    Ok(RuleOutcome::Findings(vec![finding]))
}
