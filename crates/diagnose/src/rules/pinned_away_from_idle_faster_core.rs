//! Threads whose affinity keeps them on slower cores while a faster one is idle.

use super::{MIN_SHARE, ONE_TYPE, has_core_types};
use crate::context::{RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::slower::{NO_MASKS, SLOWER_SPEED, slower};
use engine::EngineError;
use model::tables::{self, priority_residency, slower_cores};
use model::words::ms;
use model::{Fix, Ns};
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    id: "pinned-away-from-idle-faster-core",
    about: "a thread ran on a slower core while faster cores were idle that its affinity excludes",
    page: Page {
        description: "Threads that ran on a core of a slower type while whole cores of a faster type were idle, but none on which they are allowed.",
        rationale: "An affinity that was right for one machine can keep a thread on the slow cores of another, even if fast ones are idle. If others \
                  wait for the slowest of several threads, all are as slow as that one.",
        certainty: "Affinities, running threads and idle cores are recorded. Threads with a nice value above 0, or of \
               SCHED_IDLE, are left out: they are on slower cores on purpose. Per-CPU kernel threads cannot be moved. How much slower a \
               core is comes from the kernel's capacities; if these are unknown, from the thread's own bursts on both types (cpu_bursts), then \
               from other threads' bursts, then from an assumed value.",
        fix: "Remove the affinity. To save energy, mark the work as not urgent (EcoQoS, a utilisation clamp) and let the scheduler place it.",
        example: "A may run on the efficient cores only, and does so for 4 ms while a performance core is idle.",
    },
    tables: &[&tables::SLOWER_CORES, &tables::CPU_BURSTS, &tables::PRIORITY_RESIDENCY, &tables::CPUS],
    thresholds: &[&WORST_PRIO, &SLOWER_SPEED, &MIN_SHARE],
    explains: &[],
    worst: Fits::RunningSlower,
    shares_out_work: false,
    check,
};

const WORST_PRIO: Threshold = Threshold {
    name: "worst_prio",
    unit: Unit::Count,
    value: 120.0,
    reason: "the dynamic priority of nice 0: a thread below it may be meant to run slowly",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !has_core_types(ctx)? {
        return Ok(RuleOutcome::MissingData(ONE_TYPE.to_owned()));
    }
    let mut background = BTreeSet::new();
    ctx.each_row(priority_residency::Table, |row| {
        let prio = row.get(priority_residency::PRIO).filter(|_| row.get(priority_residency::RUNNING_NS) > Ns::ZERO);
        if prio.is_some_and(|prio| prio as f64 > ctx.threshold(&WORST_PRIO)) {
            background.insert(row.get(priority_residency::THREAD));
        }
    })?;
    let counts = |thread| !background.contains(&thread) && !ctx.is_per_cpu_kthread(thread);
    let Some(slower) = slower(ctx, slower_cores::FASTER_NOT_ALLOWED_NS, slower_cores::NOT_ALLOWED_COST_NS, counts)?
    else {
        return Ok(RuleOutcome::MissingData(NO_MASKS.to_owned()));
    };
    let Some((_, saving, ns)) = slower.most else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let change = Fix::Affinity { threads: threads(&slower.claims), cpus: Vec::new() };
    let finding = ctx.finding(slower.claims, change, "Let the scheduler choose the core".to_owned());
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} ran for {} ms on a slower core while faster cores were idle that its affinity excludes",
            finding.threads.first().map_or("", |c| c.name.as_str()),
            ms(ns)
        ),
        range_ns: saving.range,
        confidence: Confidence::High,
        evidence: slower.evidence.finish(),
        assumptions: vec![
            saving.words(ctx),
            "the affinity is not a requirement of the program, and saves no energy that is worth the time".to_owned(),
        ],
        ..finding
    }]))
}
