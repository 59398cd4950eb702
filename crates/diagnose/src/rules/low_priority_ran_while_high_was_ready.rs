//! Threads that waited for others of lower priority.

use super::{MIN_SHARE, nice_without_effect};
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Claim, Confidence, Finding};
use crate::pools::Processes;
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use engine::EngineError;
use model::tables::{self, critical_by_thread, priority_residency, ran_instead, ready_wait, waits};
use model::words::{ms, plural};
use model::{Fix, Ns, Policy, ThreadKey, Tid};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "low-priority-ran-while-high-was-ready",
    about: "a thread was ready while a lower-priority thread ran on the CPU that it waited for",
    page: Page {
        description: "Threads that were ready in the run queue of a CPU on which a thread of lower priority ran.",
        rationale: "Fair scheduling gives a lower-priority thread less CPU time, but not none: urgent work is delayed while the other has its \
                  turn. With real-time priorities this should not happen at all.",
        certainty: "Both priorities are recorded; a thread with several priorities counts with its worst one. Time queued behind an unknown thread, \
               or one of unknown priority, counts only for the upper bound. Busy threads that share a CPU contrary to their \
               nice values are left to nice-without-effect: there, their groups decide. A thread for which others of its process wait even longer is no background work. Kernel threads are left out: users do not set their \
               priorities.",
        fix: "Run background work below every nice value (SCHED_IDLE; on Windows EcoQoS or a background mode), or defer it, rather than \
               raising the priority of urgent threads.",
        example: "A (nice 0) is ready for 3 ms while B (nice 10) runs on its CPU.",
    },
    tables: &[
        &tables::RAN_INSTEAD,
        &tables::PRIORITY_RESIDENCY,
        &tables::READY_WAIT,
        &tables::CRITICAL_BY_THREAD,
        &tables::WAITS,
        &tables::CPUS,
    ],
    thresholds: &[&MIN_SHARE],
    explains: &[],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

/// What else delays the path (lower bound), and caches that stay warm (upper bound).
const RANGE: Range = Range { low: 0.55, high: 1.6 };

/// The time behind each thread of lower priority, by its key and TID.
type Lower = BTreeMap<(ThreadKey, Tid), Ns>;

/// The sums of a thread that waited.
#[derive(Default)]
struct Waited {
    tid: Tid,
    while_lower_ran: Ns,
    possibly: Ns,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which threads were ready".to_owned(),
        ));
    }
    let worst = worst_priorities(ctx)?;
    if worst.values().all(Option::is_none) {
        return Ok(RuleOutcome::MissingData("the source does not record priorities".to_owned()));
    }
    let groups_decide = nice_without_effect::pairs(ctx)?;
    let (processes, mut needed) = (Processes::new(ctx)?, BTreeMap::new());
    ctx.each_row(waits::Table, |row| {
        let thread = row.get(waits::THREAD);
        if let Some(waker) =
            row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE && processes.are_one(thread, *waker))
        {
            add(&mut needed, waker, row.get(waits::BLOCKED_NS));
        }
    })?;
    let (mut waited, mut lower, mut evidence) =
        (BTreeMap::<ThreadKey, Waited>::new(), BTreeMap::<ThreadKey, Lower>::new(), EvidenceRows::default());
    ctx.each_row(ran_instead::Table, |row| {
        let (thread, tid, ns) = row.all((ran_instead::THREAD, ran_instead::TID, ran_instead::READY_NS));
        let (ran_instead, own) = (row.get(ran_instead::RAN_INSTEAD), worst.get(&thread).copied().flatten());
        // Users do not set the priority of kernel threads, which run before programs and behind them as the kernel needs.
        if ctx.is_kernel_thread(thread) || ran_instead.is_some_and(|of| ctx.is_kernel_thread(of)) {
            return;
        }
        let sums = waited.entry(thread).or_default();
        sums.tid = tid;
        match (ran_instead, row.get(ran_instead::RAN_INSTEAD_PRIO), own) {
            (Some(ThreadKey::IDLE), ..) => {}
            _ if row.get(ran_instead::QUEUED_BEHIND) == "throttled" => {}
            (Some(ran_instead), ..)
                if processes.are_one(thread, ran_instead)
                    && needed.get(&ran_instead).is_some_and(|waited| *waited >= ns) => {}
            (Some(ran_instead), ..) if groups_decide.contains(&(thread, ran_instead)) => {}
            (Some(ran_instead), Some(prio), Some(own)) if prio > own => {
                sums.while_lower_ran += ns;
                let tid = row.get(ran_instead::RAN_INSTEAD_TID.or_zero());
                add(lower.entry(thread).or_default(), (ran_instead, tid), ns);
                evidence.push(ns, row, &[&ran_instead::READY_NS]);
            }
            (Some(_), Some(_), Some(_)) => {}
            _ => sums.possibly += ns,
        }
    })?;
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    waited.retain(|_, sums| sums.while_lower_ran >= least);
    let claims: Vec<Claim> = waited.iter().map(|(key, sums)| ctx.claim(*key, sums.tid, sums.while_lower_ran)).collect();
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let on_path = path_gain(ctx, &claims, &lower)?;
    // Those behind which the thread of the title waited.
    let lower = lower.remove(&most.thread).unwrap_or_default();
    let lower: Vec<Claim> = lower.iter().map(|((key, tid), ns)| ctx.claim(*key, *tid, *ns)).collect();
    let upper = waited.get(&most.thread).map_or(Ns::ZERO, |sums| sums.while_lower_ran + sums.possibly);
    let change = Fix::Policy { threads: threads(&lower), policy: Policy::Idle, level: None };
    let names = threads(&lower).name;
    let others = lower.iter().filter(|claim| claim.name != names).count();
    let ran =
        if others == 0 { names.clone() } else { format!("{names} and {}", plural(others as u64, "other thread")) };
    let what = format!("Run {names} at a lower priority than every other thread, or after the others");
    let finding = ctx.finding(claims, change, what);
    // Most of the time that it was ready on the path, or else what it was ready itself at most.
    let by_path = on_path > most.recoverable_ns / 2;
    let recoverable_ns = if by_path { on_path } else { most.recoverable_ns };
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} was ready for {} ms while lower-priority {ran} ran on its CPU",
            most.name,
            ms(most.recoverable_ns),
        ),
        severity: ctx.severity(recoverable_ns),
        recoverable_ns,
        range_ns: if by_path { RANGE.of(on_path) } else { [Ns::ZERO, upper] },
        confidence: Confidence::High,
        evidence: evidence.finish(),
        assumptions: vec![
            match by_path {
                true => "without the lower-priority threads, no thread of the critical path that they delayed would have been ready, not even for \
                         others of its kind, up to the time of the CPUs that they took (lower bound: 55 % of that)"
                    .to_owned(),
                false => "without the lower-priority thread, the CPU would have been free for the ready thread (lower bound: another thread would \
                          have taken it)"
                    .to_owned(),
            },
            "no thread waits for the lower-priority one (otherwise it is priority-inversion)".to_owned(),
        ],
        ..finding
    }]))
}

/// What the critical path gains without the threads of lower priority: the ready time of the delayed threads on it, up to the CPU time that
/// those of lower priority took, on CPUs that work in parallel.
fn path_gain(ctx: &RuleContext<'_>, claims: &[Claim], lower: &BTreeMap<ThreadKey, Lower>) -> Result<Ns, EngineError> {
    let delayed: BTreeSet<ThreadKey> = claims.iter().map(|claim| claim.thread).collect();
    let lower: BTreeSet<ThreadKey> = lower
        .iter()
        .filter(|(thread, _)| delayed.contains(thread))
        .flat_map(|(_, by)| by.keys().map(|(key, _)| *key))
        .collect();
    let (mut ready, mut took) = (Ns::ZERO, Ns::ZERO);
    ctx.each_row(critical_by_thread::Table, |row| {
        if delayed.contains(&row.get(critical_by_thread::THREAD)) {
            ready += row.get(critical_by_thread::READY_NS);
        }
    })?;
    ctx.each_row(ready_wait::Table, |row| {
        if lower.contains(&row.get(ready_wait::THREAD)) {
            took += row.get(ready_wait::RUNNING_NS);
        }
    })?;
    Ok(ready.min(took / ctx.cpus()?.max(1)))
}

/// The worst priority (the highest number) at which each thread was ready or ran; `None` if part of it is not recorded.
fn worst_priorities(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, Option<i64>>, EngineError> {
    let mut worst: BTreeMap<ThreadKey, Option<i64>> = BTreeMap::new();
    ctx.each_row(priority_residency::Table, |row| {
        if row.get(priority_residency::READY_NS) > Ns::ZERO {
            let prio = row.get(priority_residency::PRIO);
            let own = worst.entry(row.get(priority_residency::THREAD)).or_insert(prio);
            *own = own.zip(prio).map(|(a, b)| a.max(b));
        }
    })?;
    Ok(worst)
}
