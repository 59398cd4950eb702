//! High-priority threads on slower cores while lower-priority threads had the faster ones.

use super::{MIN_SHARE, ONE_TYPE, has_core_types};
use crate::context::{RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::slower::{NO_MASKS, SLOWER_SPEED, slower};
use engine::EngineError;
use model::tables::{self, priority_residency, run_lengths, slower_cores, thread_by_core_type};
use model::words::ms;
use model::{CoreType, Fix, Ns, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "high-priority-woke-to-efficient-core-behind-low",
    about: "a thread was woken onto a slower core while lower-priority threads ran on the faster cores",
    page: Page {
        description: "Threads that ran on a core of a slower type, in runs that began with a wakeup, while none of the faster cores was idle and a \
                thread of lower priority ran on a faster core where they are allowed.",
        rationale: "With many cores, a low priority no longer keeps work out of the way: it occupies the fast cores, and an urgent thread that \
                  wakes later gets a slow one, because the scheduler looks for an idle core, not for one that it could preempt.",
        certainty: "Both priorities, where each thread ran, and the affinities are known. It is an assumption that the urgent thread could have had \
               the faster core. Runs that did not begin with a wakeup are left out.",
        fix: "Mark the background work as not urgent (SCHED_IDLE, EcoQoS, a utilisation clamp), so that it uses the slower cores, or defer it.",
        example: "B (nice 19) has the performance core; A (nice 0) is woken, and runs for 4 ms on the efficient one.",
    },
    tables: &[
        &tables::SLOWER_CORES,
        &tables::CPU_BURSTS,
        &tables::RUN_LENGTHS,
        &tables::PRIORITY_RESIDENCY,
        &tables::THREAD_BY_CORE_TYPE,
        &tables::CPUS,
    ],
    thresholds: &[&WOKEN_SHARE, &SLOWER_SPEED, &MIN_SHARE],
    explains: &[],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

const WOKEN_SHARE: Threshold = Threshold {
    name: "woken_share",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "of a thread's running time on slower cores, in runs that began with a wakeup: with less, the wakeup did not decide where it ran",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !has_core_types(ctx)? {
        return Ok(RuleOutcome::MissingData(ONE_TYPE.to_owned()));
    }
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which thread was woken".to_owned(),
        ));
    }
    let worst = best_and_worst(ctx)?;
    if worst.is_empty() {
        return Ok(RuleOutcome::MissingData("the source does not record priorities".to_owned()));
    }
    let woken = woken(ctx)?;
    let woken = |thread| woken.get(&thread).is_some_and(|part| *part >= ctx.threshold(&WOKEN_SHARE));
    let Some(slower) = slower(ctx, slower_cores::FASTER_LOWER_NS, slower_cores::LOWER_COST_NS, woken)? else {
        return Ok(RuleOutcome::MissingData(NO_MASKS.to_owned()));
    };
    let Some((first, saving, ns)) = slower.most else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let own = worst.get(&first).map_or(i64::MAX, |(best, _)| *best);
    let mut lower = BTreeMap::new();
    ctx.each_row(thread_by_core_type::Table, |row| {
        let (thread, tid, running) =
            row.all((thread_by_core_type::THREAD, thread_by_core_type::TID, thread_by_core_type::RUNNING_NS));
        let is_lower = worst.get(&thread).is_some_and(|(_, worst)| *worst > own);
        if is_lower && ["performance", "middle"].contains(&row.get(thread_by_core_type::CORE_TYPE)) {
            add(&mut lower, (thread, tid), running);
        }
    })?;
    let lower: Vec<_> = lower.iter().map(|((thread, tid), ns)| ctx.claim(*thread, *tid, *ns)).collect();
    let lower = threads(&lower);
    let what = format!("Mark {} as not urgent", lower.name);
    let title = format!(
        "{} was woken onto slower cores and ran there for {} ms while lower-priority {} had a faster one",
        ctx.name(first),
        ms(ns),
        lower.name
    );
    let change = Fix::CoreType { threads: lower, prefer: CoreType::Efficient };
    Ok(RuleOutcome::Findings(vec![Finding {
        title,
        range_ns: [Ns::ZERO, saving.range[1]],
        confidence: Confidence::Medium,
        evidence: slower.evidence.finish(),
        assumptions: vec![
            saving.words(ctx),
            "the thread would have had the faster core to itself (lower bound: another one would have taken it)"
                .to_owned(),
        ],
        ..ctx.finding(slower.claims, change, what)
    }]))
}

/// The best and worst priority (the lowest and highest number) at which each thread ran, where recorded.
fn best_and_worst(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, (i64, i64)>, EngineError> {
    let mut prios: BTreeMap<ThreadKey, (i64, i64)> = BTreeMap::new();
    ctx.each_row(priority_residency::Table, |row| {
        if let (Some(prio), true) =
            (row.get(priority_residency::PRIO), row.get(priority_residency::RUNNING_NS) > Ns::ZERO)
        {
            let range = prios.entry(row.get(priority_residency::THREAD)).or_insert((prio, prio));
            *range = (range.0.min(prio), range.1.max(prio));
        }
    })?;
    Ok(prios)
}

/// The share of each thread's running time on slower cores that is in runs that began with a wakeup.
fn woken(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, f64>, EngineError> {
    let (mut fastest, mut ran, mut after_wake) = (0, BTreeMap::new(), BTreeMap::new());
    ctx.each_row(thread_by_core_type::Table, |row| fastest = row.get(thread_by_core_type::CORE_CLASS).max(fastest))?;
    ctx.each_row(run_lengths::Table, |row| {
        if row.get(run_lengths::CORE_CLASS).is_some_and(|class| class < fastest) {
            add(&mut ran, row.get(run_lengths::THREAD), row.get(run_lengths::RUNNING_NS));
            add(&mut after_wake, row.get(run_lengths::THREAD), row.get(run_lengths::AFTER_WAKE_NS.or_zero()));
        }
    })?;
    let part = |(thread, all): (ThreadKey, Ns)| {
        let woken = after_wake.get(&thread).copied().unwrap_or(Ns::ZERO);
        (thread, woken.as_f64() / all.max(Ns(1)).as_f64())
    };
    Ok(ran.into_iter().map(part).collect())
}
