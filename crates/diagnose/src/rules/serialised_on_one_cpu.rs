//! Threads that waited for each other on one CPU while another one was idle.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Severity};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, cpus, ran_instead, ready_wait, thread_by_cpu};
use model::words::ms;
use model::{CpuId, Fix, Ns, ThreadKey, pool_name};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "serialised-on-one-cpu",
    about: "threads shared one CPU while another CPU on which they may run was idle",
    page: Page {
        description: "Threads that were queued behind another thread while a CPU of the same type on which they are allowed was idle.",
        rationale: "Two threads that could run at the same time run one after the other: the work takes as long as on half the CPUs. \
                  The scheduler does this for short times after a wakeup by the thread that runs there, if it takes the two for \
                  a pipeline, and for long times if load is not balanced (isolated CPUs, an ideal CPU that is not allowed).",
        certainty: "Running threads, idle CPUs and affinities are known. If the affinity of a thread was not recorded, it may be pinned: such time \
               counts only for the upper bound and never makes a finding more than low. A single wait that ends with the scheduler's next tick is \
               also low. If a thread mostly waits for microseconds, longer waits in between are not detected.",
        fix: "Separate the two: use affinities that do not overlap, or a wakeup that does not announce that the waker is about to wait.",
        example: "B is woken on CPU 0, where A runs, and waits 2 ms while CPU 1 is idle.",
    },
    tables: &[&tables::READY_WAIT, &tables::RAN_INSTEAD, &tables::THREAD_BY_CPU, &tables::CPUS],
    thresholds: &[&MIN_SHARE, &MIN_WAIT_NS, &ONCE_NS],
    explains: &[],
    worst: Fits::Ready,
    shares_out_work: true,
    check,
};

const MIN_WAIT_NS: Threshold = Threshold {
    name: "min_wait_ns",
    unit: Unit::Ns,
    value: 500_000.0,
    reason: "average per ready interval: below it, Linux does not migrate a thread (sched_migration_cost_ns), and wakeups cost a healthy server \
             about as much: some microseconds each, part of which an idle CPU needs to wake up",
};

const ONCE_NS: Threshold = Threshold {
    name: "once_ns",
    unit: Unit::Ns,
    value: 5_000_000.0,
    reason: "a thread that waited for no longer in total, mostly in one wait, was ready before the scheduler's tick (4 ms at 250 Hz) had \
             looked for an idle CPU: this is chance, so the severity is low",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which threads were ready".to_owned(),
        ));
    }
    let (mut claims, mut evidence, mut upper, mut by_chance) = (Vec::new(), EvidenceRows::default(), Ns::ZERO, true);
    let (least, min_wait) = (ctx.share_ns(&MIN_SHARE).max(Ns(1)), ctx.threshold(&MIN_WAIT_NS));
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, tid, free, not_recorded) = row.all((
            ready_wait::THREAD,
            ready_wait::TID,
            ready_wait::FREE_SAME_TYPE_NS.or_zero(),
            ready_wait::PERMISSION_UNKNOWN_NS.or_zero(),
        ));
        if free >= least && free.as_f64() >= min_wait * row.get(ready_wait::READY_COUNT.or_zero()) as f64 {
            claims.push(ctx.claim(thread, tid, (free - not_recorded).max(Ns::ZERO)));
            upper = free.max(upper);
            by_chance &=
                free.as_f64() <= ctx.threshold(&ONCE_NS) && row.get(ready_wait::MAX_READY_NS.or_zero()) * 2 >= free;
            evidence.push(
                free,
                row,
                &[
                    &ready_wait::FREE_SAME_TYPE_NS,
                    &ready_wait::PERMISSION_UNKNOWN_NS,
                    &ready_wait::READY_NS,
                    &ready_wait::READY_COUNT,
                ],
            );
        }
    })?;
    let Some(most) = claims.iter().max_by_key(|c| c.recoverable_ns).cloned() else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let mut queued_behind = BTreeMap::new();
    ctx.each_row(ran_instead::Table, |row| {
        if let (true, Some(ran_instead)) = (
            row.get(ran_instead::THREAD) == most.thread,
            row.get(ran_instead::RAN_INSTEAD).filter(|key| *key > ThreadKey::IDLE),
        ) {
            add(&mut queued_behind, ran_instead, row.get(ran_instead::READY_NS));
        }
    })?;
    let ran_instead = queued_behind.into_iter().max_by_key(|(_, ns)| *ns).map(|(key, _)| key);
    let cpus = other_cpus(ctx, ran_instead)?;
    // A TID differs in each run, so that threads of one name cannot be given different CPUs one by one.
    let is_alike = ran_instead.is_some_and(|key| pool_name(&ctx.name(key)) == pool_name(&most.name));
    let change = match is_alike {
        true => Fix::Spread { threads: threads(&claims) },
        false => Fix::Affinity { threads: threads(std::slice::from_ref(&most)), cpus },
    };
    let other = ran_instead.map_or_else(|| "others".to_owned(), |key| ctx.name(key));
    let mut finding = ctx.finding(claims, change, format!("Keep {} and {other} on different CPUs", most.name));
    let is_known = finding.recoverable_ns >= least;
    let ready = if is_known { finding.recoverable_ns } else { upper };
    let condition = if is_known { "" } else { ", if its affinity allows that CPU" };
    finding.title =
        format!("{} was queued behind {other} for {} ms while a CPU was idle{condition}", most.name, ms(ready));
    finding.range_ns = [if is_known { finding.recoverable_ns / 2 } else { Ns::ZERO }, upper];
    finding.confidence = if is_known { Confidence::High } else { Confidence::Low };
    if by_chance {
        finding.severity = Severity::Low;
    }
    finding.evidence = evidence.finish();
    finding.assumptions = vec![
        "the idle CPU would have run it at the same speed (a cold cache is not counted)".to_owned(),
        "neither thread waits for the other's results (lower bound: one does half of the time)".to_owned(),
    ];
    Ok(RuleOutcome::Findings(vec![finding]))
}

/// All CPUs except the one on which the other thread ran most; none if no others are known.
fn other_cpus(ctx: &RuleContext<'_>, other: Option<ThreadKey>) -> Result<Vec<CpuId>, EngineError> {
    let (mut on, mut all) = (BTreeMap::new(), Vec::new());
    ctx.each_row(thread_by_cpu::Table, |row| {
        if Some(row.get(thread_by_cpu::THREAD)) == other {
            add(&mut on, row.get(thread_by_cpu::CPU), row.get(thread_by_cpu::RUNNING_NS));
        }
    })?;
    let taken = on.into_iter().max_by_key(|(_, ns)| *ns).map(|(cpu, _)| cpu);
    ctx.each_row(cpus::Table, |row| {
        let cpu = row.get(cpus::CPU);
        all.extend(u32::try_from(cpu).ok().filter(|_| Some(cpu) != taken).map(CpuId));
    })?;
    Ok(all)
}
