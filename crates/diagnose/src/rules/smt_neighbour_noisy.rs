//! Threads that share their core with lower-priority ones.

use super::{MAX_LOSS, MIN_SHARE, NO_SIBLINGS, SMT_GAIN, gain_words, loss, shares_cores};
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, priority_residency, smt_cores, smt_pairs, thread_by_cpu};
use model::words::ms;
use model::{CpuId, Fix, Ns, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "smt-neighbour-noisy",
    about: "a thread shared its core with a thread of much lower priority, which slowed it down",
    page: Page {
        description: "Threads that ran while an SMT sibling of their CPU ran a thread of much lower priority.",
        rationale: "Priorities decide which thread gets a CPU, not which gets a core: a thread at nice 19 on the sibling takes as much of the core's \
                  units and caches as the urgent thread, which is slowed down by a third.",
        certainty: "Which threads ran at the same time is known, and both priorities: a thread counts with its worst one, the neighbour with its best. \
               How much two siblings slow each other down is assumed, and depends on the code; performance counters of both would show it.",
        fix: "Keep background work off the siblings: an affinity, a cpuset, core scheduling (prctl(2) with PR_SCHED_CORE).",
        example: "B, at nice 19, runs for 4 ms on the sibling of the CPU on which A runs.",
    },
    tables: &[&tables::SMT_PAIRS, &tables::SMT_CORES, &tables::PRIORITY_RESIDENCY, &tables::THREAD_BY_CPU],
    thresholds: &[&SMT_GAIN, &MIN_GAP, &MIN_SHARE],
    explains: &[],
    worst: Fits::Running,
    shares_out_work: false,
    check,
};

const MIN_GAP: Threshold = Threshold {
    name: "min_gap",
    unit: Unit::Count,
    value: 5.0,
    reason: "priority levels between the two: five nice values are a third of the weight (1024 to 335), so the difference is intended",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    match shares_cores(ctx)? {
        None => return Ok(RuleOutcome::MissingData(NO_SIBLINGS.to_owned())),
        Some(false) => return Ok(RuleOutcome::Findings(Vec::new())),
        Some(true) => {}
    }
    let prios = priorities(ctx)?;
    if prios.values().all(Option::is_none) {
        return Ok(RuleOutcome::MissingData("the source does not record priorities".to_owned()));
    }
    let is_lower = |other: ThreadKey, thread: ThreadKey| {
        let priority = |thread| prios.get(&thread).copied().flatten();
        let gap = priority(other).zip(priority(thread)).map(|((best, _), (_, worst))| best.saturating_sub(worst));
        gap.is_some_and(|gap| gap as f64 >= ctx.threshold(&MIN_GAP))
    };
    let mut shared = BTreeMap::new();
    ctx.each_row(smt_pairs::Table, |row| {
        let (thread, tid, other, ns) =
            row.all((smt_pairs::THREAD, smt_pairs::TID, smt_pairs::SIBLING_THREAD, smt_pairs::OVERLAP_NS));
        if is_lower(other, thread) {
            add(&mut shared, (thread, tid), ns);
        }
    })?;
    let part = loss(ctx.threshold(&SMT_GAIN));
    let most_part = ctx.interval(&SMT_GAIN).map_or(MAX_LOSS, |[low, _]| loss(low));
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    shared.retain(|_, ns| ns.as_f64() * part >= least.as_f64());
    let claims: Vec<_> = shared.iter().map(|((thread, tid), ns)| ctx.claim(*thread, *tid, ns.scaled(part))).collect();
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let cpus = cpus_of_other_cores(ctx, most.thread)?;
    if cpus.is_empty() {
        // There is only one core.
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let (mut by, mut evidence) = (BTreeMap::new(), EvidenceRows::default());
    ctx.each_row(smt_pairs::Table, |row| {
        let (thread, tid, other, other_tid, ns) = row.all((
            smt_pairs::THREAD,
            smt_pairs::TID,
            smt_pairs::SIBLING_THREAD,
            smt_pairs::SIBLING_TID,
            smt_pairs::OVERLAP_NS,
        ));
        if is_lower(other, thread) && shared.contains_key(&(thread, tid)) {
            add(&mut by, (other, other_tid), ns);
            evidence.push(ns, row, &[&smt_pairs::OVERLAP_NS]);
        }
    })?;
    let noisy: Vec<_> = by.iter().map(|((thread, tid), ns)| ctx.claim(*thread, *tid, *ns)).collect();
    let noisy = threads(&noisy);
    let ns = shared.get(&(most.thread, most.tid)).copied().unwrap_or(Ns::ZERO);
    let what = format!("Keep {} off the cores on which {} runs", noisy.name, most.name);
    let title = format!("{} shared its core for {} ms with {}, of much lower priority", most.name, ms(ns), noisy.name);
    let change = Fix::Affinity { threads: noisy, cpus };
    Ok(RuleOutcome::Findings(vec![Finding {
        title,
        range_ns: [Ns::ZERO, ns.scaled(most_part)],
        confidence: Confidence::Low,
        evidence: evidence.finish(),
        assumptions: gain_words(ctx)
            .into_iter()
            .chain(["no other thread runs on the sibling instead".to_owned()])
            .collect(),
        ..ctx.finding(claims, change, what)
    }]))
}

/// The best and worst priority (the lowest and highest number) at which each thread ran; `None` if part of it is not recorded.
fn priorities(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, Option<(i64, i64)>>, EngineError> {
    let mut prios: BTreeMap<ThreadKey, Option<(i64, i64)>> = BTreeMap::new();
    ctx.each_row(priority_residency::Table, |row| {
        if row.get(priority_residency::RUNNING_NS) > Ns::ZERO {
            let prio = row.get(priority_residency::PRIO);
            let range = prios.entry(row.get(priority_residency::THREAD)).or_insert(prio.map(|p| (p, p)));
            *range = range.zip(prio).map(|((best, worst), p)| (best.min(p), worst.max(p)));
        }
    })?;
    Ok(prios)
}

/// The CPUs of all cores except the one on which a thread ran most.
fn cpus_of_other_cores(ctx: &RuleContext<'_>, thread: ThreadKey) -> Result<Vec<CpuId>, EngineError> {
    let (mut core_of, mut core) = (BTreeMap::new(), None);
    ctx.each_row(smt_cores::Table, |row| {
        core = Some(row.get(smt_cores::FIRST_CPU));
        for cpu in cpus(row.get(smt_cores::CPUS)) {
            core_of.insert(cpu, core);
        }
    })?;
    let mut ran = BTreeMap::new();
    ctx.each_row(thread_by_cpu::Table, |row| {
        if row.get(thread_by_cpu::THREAD) == thread {
            let core =
                u32::try_from(row.get(thread_by_cpu::CPU)).ok().and_then(|cpu| core_of.get(&cpu).copied().flatten());
            add(&mut ran, core, row.get(thread_by_cpu::RUNNING_NS));
        }
    })?;
    let own = ran.into_iter().max_by_key(|(_, ns)| *ns).and_then(|(core, _)| core);
    Ok(core_of.into_iter().filter(|(_, core)| *core != own).map(|(cpu, _)| CpuId(cpu)).collect())
}

/// Parses a CPU list such as `0-1,4`.
fn cpus(list: &str) -> impl Iterator<Item = u32> {
    /// A list with larger numbers is invalid.
    const MAX_CPU: u32 = 1 << 16;
    list.split(',')
        .filter_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (from.trim().parse::<u32>().ok()?, to.trim().parse::<u32>().ok()?);
            (to < MAX_CPU).then_some(from..=to)
        })
        .flatten()
}
