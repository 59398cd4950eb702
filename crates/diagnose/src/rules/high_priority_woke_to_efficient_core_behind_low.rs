//! Threads of high priority on slower cores, since ones of lower priority had the faster ones.

use super::{LEAST_SHARE, ONE_TYPE, has_core_types};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, add, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use crate::slower::{NO_MASKS, SLOWER_SPEED, slower};
use engine::EngineError;
use model::tables::{self, priority_residency, run_lengths, slower_cores, thread_by_core_type};
use model::words::ms;
use model::{CoreType, Fix};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "high-priority-woke-to-efficient-core-behind-low",
    about: "a thread was woken onto a slower core while ones of lower priority ran on the faster ones",
    page: Page {
        finds: "Threads that ran on a core of a slower type, in runs that began with a waking, while none of the faster cores was idle, and on one \
                where they are allowed a thread of lower priority ran.",
        matters: "Where there are many cores, low priority no longer keeps work out of the way: it takes the fast cores, and what is urgent and \
                  wakes later gets a slow one, since the scheduler looks for an idle core, not for one that it could take away.",
        sure: "Both priorities, who ran where, and where threads are allowed are known. That the urgent one could have had the \
               faster core is assumed. What began otherwise than with a waking is left out.",
        mend: "Say of the background work that it is not urgent (SCHED_IDLE, EcoQoS, a utilisation clamp), so that it takes the slower cores, \
               or defer it.",
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
    thresholds: &[&WOKEN_SHARE, &SLOWER_SPEED, &LEAST_SHARE],
    explains: &[],
    look,
};

const WOKEN_SHARE: Threshold = Threshold {
    name: "woken_share",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "of a thread's running time on slower cores, in runs that began with a waking: with less of it the waking did not \
             decide where it ran",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !has_core_types(given)? {
        return Ok(Looked::Lacks(ONE_TYPE.to_owned()));
    }
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was woken".to_owned()));
    }
    let worst = best_and_worst(given)?;
    if worst.is_empty() {
        return Ok(Looked::Lacks("the source tells no priorities".to_owned()));
    }
    let woken = woken(given)?;
    let woken = |thread| woken.get(&thread).is_some_and(|part| *part >= given.threshold(&WOKEN_SHARE));
    let Some(slower) = slower(given, slower_cores::FASTER_LOWER_NS, slower_cores::LOWER_COST_NS, woken)? else {
        return Ok(Looked::Lacks(NO_MASKS.to_owned()));
    };
    let Some((first, saving, ns)) = slower.most else { return Ok(Looked::At(Vec::new())) };
    let own = worst.get(&first).map_or(i64::MAX, |(best, _)| *best);
    let mut lower = BTreeMap::new();
    given.each(thread_by_core_type::Table, |row| {
        let [thread, tid, running] =
            row.all([thread_by_core_type::THREAD, thread_by_core_type::TID, thread_by_core_type::RUNNING_NS]);
        let is_lower = worst.get(&thread).is_some_and(|(_, worst)| *worst > own);
        if is_lower && ["performance", "middle"].contains(&row.get(thread_by_core_type::CORE_TYPE)) {
            add(&mut lower, (thread, tid), running);
        }
    })?;
    let lower: Vec<_> = lower.iter().map(|((thread, tid), ns)| given.claim(*thread, *tid, *ns)).collect();
    let lower = threads(&lower);
    let what = format!("Say that {} is not urgent", lower.name);
    let title = format!(
        "{} was woken onto slower cores, and ran there for {} ms while {}, of lower priority, had a faster one",
        given.name(first),
        ms(ns),
        lower.name
    );
    let change = Fix::CoreType { threads: lower, prefer: CoreType::Efficient };
    Ok(Looked::At(vec![Finding {
        title,
        range_ns: [0, saving.range[1]],
        confidence: Confidence::Medium,
        evidence: slower.shown.finish(),
        assumptions: vec![
            saving.words(given),
            "the faster core would have been the thread's own; the lower end: another would have taken it".to_owned(),
        ],
        ..given.finding(slower.claims, change, what)
    }]))
}

/// The best and the worst priority (the least and the greatest number) at which each thread ran, where told.
fn best_and_worst(given: &Given<'_>) -> Result<BTreeMap<i64, (i64, i64)>, EngineError> {
    let mut prios: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    given.each(priority_residency::Table, |row| {
        if let (Some(prio), true) = (row.get(priority_residency::PRIO), row.get(priority_residency::RUNNING_NS) > 0) {
            let of = prios.entry(row.get(priority_residency::THREAD)).or_insert((prio, prio));
            *of = (of.0.min(prio), of.1.max(prio));
        }
    })?;
    Ok(prios)
}

/// Of each thread's running time on slower cores than the fastest the part in runs that began with a waking.
fn woken(given: &Given<'_>) -> Result<BTreeMap<i64, f64>, EngineError> {
    let (mut fastest, mut ran, mut after_wake) = (0, BTreeMap::new(), BTreeMap::new());
    given.each(thread_by_core_type::Table, |row| fastest = row.get(thread_by_core_type::CORE_CLASS).max(fastest))?;
    given.each(run_lengths::Table, |row| {
        if row.get(run_lengths::CORE_CLASS).is_some_and(|class| class < fastest) {
            add(&mut ran, row.get(run_lengths::THREAD), row.get(run_lengths::RUNNING_NS));
            add(&mut after_wake, row.get(run_lengths::THREAD), row.get(run_lengths::AFTER_WAKE_NS.or_zero()));
        }
    })?;
    let part = |(thread, all): (i64, i64)| {
        let woken = after_wake.get(&thread).copied().unwrap_or(0);
        (thread, woken as f64 / all.max(1) as f64)
    };
    Ok(ran.into_iter().map(part).collect())
}
