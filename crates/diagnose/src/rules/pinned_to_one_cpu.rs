//! Threads that waited for their pinned CPUs while other CPUs were idle.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::Confidence;
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use crate::slower::{NO_MASKS, SLOWER_SPEED, Saving};
use crate::speeds::Speeds;
use engine::EngineError;
use model::tables::{self, ready_wait, slower_cores, thread_by_cpu};
use model::words::ms;
use model::{CpuId, Fix, Ns, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "pinned-to-one-cpu",
    about: "a thread waited for the CPU to which it is pinned while other CPUs were idle",
    page: Page {
        description: "Threads that were ready while the only idle CPUs were outside their affinity.",
        rationale: "A pinned thread is queued behind whatever runs on its CPU, and a pinned set of threads is as fast as its busiest CPU: \
                  the scheduler cannot balance the load.",
        certainty: "Affinities and running threads are recorded. If the CPU is of a slower type than the idle ones, what those would have \
               saved of its running time is included in the estimate. Migration costs a cold cache, which is not included. Per-CPU kernel \
               threads (their names end in /N or /N:…) cannot be moved and are not reported.",
        fix: "Remove the affinity, or widen it to a set of CPUs that share a cache.",
        example: "A and B are pinned to CPU 0, and CPU 1 is idle: each waits while the other runs.",
    },
    tables: &[&tables::READY_WAIT, &tables::THREAD_BY_CPU, &tables::SLOWER_CORES, &tables::CPU_BURSTS],
    thresholds: &[&SLOWER_SPEED, &MIN_SHARE],
    // A thread that may run on one CPU only waits for that CPU, whichever other thread has it.
    explains: &["serialised-on-one-cpu"],
    worst: Fits::Ready,
    shares_out_work: true,
    check,
};

/// How the gains of programs lay to the best estimate.
const RANGE: Range = Range { low: 0.55, high: 1.6 };

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let (mut claims, mut evidence, mut has_data) = (Vec::new(), EvidenceRows::default(), false);
    let mut waited = BTreeMap::new();
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    let (speeds, mut slow) = (Speeds::new(ctx)?, BTreeMap::new());
    ctx.each_row(slower_cores::Table, |row| {
        let (thread, ns) = row.all((slower_cores::THREAD, slower_cores::FASTER_NOT_ALLOWED_NS));
        let costed = row.get(slower_cores::NOT_ALLOWED_COST_NS).map(|cost| (cost, ns));
        slow.insert(thread, Saving::of(ctx, &speeds, thread, [ns, Ns::ZERO], costed));
    })?;
    ctx.each_row(ready_wait::Table, |row| {
        let Some(ns) = row.get(ready_wait::FREE_NOT_ALLOWED_NS) else { return };
        has_data = true;
        let (thread, tid) = row.all((ready_wait::THREAD, ready_wait::TID));
        if ns >= least && !ctx.is_per_cpu_kthread(thread) {
            let best = slow.get(&thread).map_or(Ns::ZERO, |saving| saving.best);
            waited.insert(thread, ns);
            claims.push(ctx.claim(thread, tid, ns + best));
            evidence.push(ns, row, &[&ready_wait::FREE_NOT_ALLOWED_NS, &ready_wait::READY_NS, &ready_wait::RUNNING_NS]);
        }
    })?;
    if !has_data {
        let why = if ctx.summary().ready_known {
            NO_MASKS
        } else {
            "the source has no wakeups, so it is unknown which threads were ready"
        };
        return Ok(RuleOutcome::MissingData(why.to_owned()));
    }
    if claims.is_empty() {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let mut cpus: BTreeMap<ThreadKey, Vec<CpuId>> = claims.iter().map(|c| (c.thread, Vec::new())).collect();
    ctx.each_row(thread_by_cpu::Table, |row| {
        if let (Some(cpus), Ok(cpu)) =
            (cpus.get_mut(&row.get(thread_by_cpu::THREAD)), u32::try_from(row.get(thread_by_cpu::CPU)))
        {
            cpus.push(CpuId(cpu));
        }
    })?;
    let change = Fix::Affinity { threads: threads(&claims), cpus: Vec::new() };
    let mut finding = ctx.finding(claims, change, "Let the scheduler choose the CPU".to_owned());
    let first = finding.threads.first();
    let place = match first.and_then(|c| cpus.get(&c.thread)).map(Vec::as_slice) {
        Some([one]) => format!("CPU {}, the only one on which it ran", one.0),
        _ => "the CPUs on which it is allowed".to_owned(),
    };
    finding.title = format!(
        "{} was ready for {} ms without {place}, while the only idle CPUs were outside its affinity",
        first.map_or("", |c| c.name.as_str()),
        ms(first.and_then(|c| waited.get(&c.thread)).copied().unwrap_or(Ns::ZERO))
    );
    finding.range_ns = RANGE.of(finding.recoverable_ns);
    finding.confidence = Confidence::High;
    finding.evidence = evidence.finish();
    finding.assumptions = vec![
        "an idle CPU would have run it at the same speed or, if it is faster, saved part of its time on slower cores (lower \
         bound: another thread would have taken that CPU for part of the time; upper bound: it would also have been queued behind fewer \
         threads, with fewer switches)"
            .to_owned(),
        "the affinity is not a requirement of the program (a device's queue, a NUMA node's memory)".to_owned(),
    ];
    Ok(RuleOutcome::Findings(vec![finding]))
}
