//! Threads that share their core with others of lower priority.

use super::{LEAST_SHARE, NO_SIBLINGS, SMT_GAIN, shares_cores};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, priority_residency, smt_beside, smt_cores, thread_by_cpu};
use model::words::ms;
use model::{CpuId, Fix};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "smt-neighbour-noisy",
    about: "a thread shared its core with one of much lower priority, which slowed it",
    page: Page {
        finds: "Threads that ran while a sibling of their core ran a thread of much lower priority.",
        matters: "Priorities decide who gets a CPU, not who gets a core: what runs on the sibling at nice 19 takes as much of the core's \
                  units and caches as the urgent thread beside it, which is a third slower for it.",
        sure: "Who ran beside whom is known, and both priorities, a thread's own at its worst, the neighbour's at its best. How much two siblings slow each other is \
               assumed, and depends on the code; counters of both would tell.",
        mend: "Keep background work off the siblings: a mask, a cpuset, core scheduling (prctl(2) with PR_SCHED_CORE).",
        example: "B, at nice 19, runs for 4 ms on the sibling of the CPU on which A runs.",
    },
    tables: &[&tables::SMT_BESIDE, &tables::SMT_CORES, &tables::PRIORITY_RESIDENCY, &tables::THREAD_BY_CPU],
    thresholds: &[&SMT_GAIN, &LEAST_GAP, &LEAST_SHARE],
    explains: &[],
    look,
};

const LEAST_GAP: Threshold = Threshold {
    name: "least_gap",
    unit: Unit::Count,
    value: 5.0,
    reason: "priorities between the two: five nice values are a third of the weight (1024 to 335), so somebody meant them to differ",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    match shares_cores(given)? {
        None => return Ok(Looked::Lacks(NO_SIBLINGS.to_owned())),
        Some(false) => return Ok(Looked::At(Vec::new())),
        Some(true) => {}
    }
    let prios = priorities(given)?;
    if prios.values().all(Option::is_none) {
        return Ok(Looked::Lacks("the source tells no priorities".to_owned()));
    }
    let is_lower = |other: i64, thread: i64| {
        let of = |thread| prios.get(&thread).copied().flatten();
        let gap = of(other).zip(of(thread)).map(|((best, _), (_, worst))| best.saturating_sub(worst));
        gap.is_some_and(|gap| gap as f64 >= given.threshold(&LEAST_GAP))
    };
    let mut beside = BTreeMap::new();
    given.each(smt_beside::Table, |row| {
        let [thread, tid, other, ns] =
            row.all([smt_beside::THREAD, smt_beside::TID, smt_beside::BESIDE_THREAD, smt_beside::BESIDE_NS]);
        if is_lower(other, thread) {
            add(&mut beside, (thread, tid), ns);
        }
    })?;
    let part = (1.0 - given.threshold(&SMT_GAIN) / 2.0).clamp(0.0, 0.5);
    let least = given.share(&LEAST_SHARE).max(1);
    beside.retain(|_, ns| *ns as f64 * part >= least as f64);
    let claims: Vec<_> =
        beside.iter().map(|((thread, tid), ns)| given.claim(*thread, *tid, (*ns as f64 * part) as i64)).collect();
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(Looked::At(Vec::new()));
    };
    let cpus = of_other_cores(given, most.thread)?;
    if cpus.is_empty() {
        // There is but one core: nowhere to go.
        return Ok(Looked::At(Vec::new()));
    }
    let (mut by, mut shown) = (BTreeMap::new(), Shown::default());
    given.each(smt_beside::Table, |row| {
        let [thread, tid, other, other_tid, ns] = row.all([
            smt_beside::THREAD,
            smt_beside::TID,
            smt_beside::BESIDE_THREAD,
            smt_beside::BESIDE_TID,
            smt_beside::BESIDE_NS,
        ]);
        if is_lower(other, thread) && beside.contains_key(&(thread, tid)) {
            add(&mut by, (other, other_tid), ns);
            shown.push(ns, row, &[&smt_beside::BESIDE_NS]);
        }
    })?;
    let noisy: Vec<_> = by.iter().map(|((thread, tid), ns)| given.claim(*thread, *tid, *ns)).collect();
    let noisy = threads(&noisy);
    let ns = beside.get(&(most.thread, most.tid)).copied().unwrap_or(0);
    let what = format!("Keep {} off the cores on which {} runs", noisy.name, most.name);
    let title =
        format!("{} ran for {} ms beside {}, of much lower priority, on one core", most.name, ms(ns), noisy.name);
    let change = Fix::Affinity { threads: noisy, cpus };
    Ok(Looked::At(vec![Finding {
        title,
        range_ns: [0, ns / 2],
        confidence: Confidence::Low,
        evidence: shown.finish(),
        assumptions: vec![
            format!(
                "two busy siblings do {} of what one does alone (the lower end: twice as much; the upper: no more than one)",
                given.threshold(&SMT_GAIN)
            ),
            "nobody else comes to the sibling instead".to_owned(),
        ],
        ..given.finding(claims, change, what)
    }]))
}

/// The best and the worst priority (the least and the greatest number) at which each thread ran; `None` where some of it is not
/// told.
fn priorities(given: &Given<'_>) -> Result<BTreeMap<i64, Option<(i64, i64)>>, EngineError> {
    let mut prios: BTreeMap<i64, Option<(i64, i64)>> = BTreeMap::new();
    given.each(priority_residency::Table, |row| {
        if row.get(priority_residency::RUNNING_NS) > 0 {
            let prio = row.get(priority_residency::PRIO);
            let of = prios.entry(row.get(priority_residency::THREAD)).or_insert(prio.map(|p| (p, p)));
            *of = of.zip(prio).map(|((best, worst), p)| (best.min(p), worst.max(p)));
        }
    })?;
    Ok(prios)
}

/// The CPUs of all cores but that on which a thread ran most.
fn of_other_cores(given: &Given<'_>, thread: i64) -> Result<Vec<CpuId>, EngineError> {
    let (mut core_of, mut core) = (BTreeMap::new(), None);
    given.each(smt_cores::Table, |row| {
        core = Some(row.get(smt_cores::FIRST_CPU));
        for cpu in cpus(row.get(smt_cores::CPUS)) {
            core_of.insert(cpu, core);
        }
    })?;
    let mut ran = BTreeMap::new();
    given.each(thread_by_cpu::Table, |row| {
        if row.get(thread_by_cpu::THREAD) == thread {
            let core =
                u32::try_from(row.get(thread_by_cpu::CPU)).ok().and_then(|cpu| core_of.get(&cpu).copied().flatten());
            add(&mut ran, core, row.get(thread_by_cpu::RUNNING_NS));
        }
    })?;
    let own = ran.into_iter().max_by_key(|(_, ns)| *ns).and_then(|(core, _)| core);
    Ok(core_of.into_iter().filter(|(_, core)| *core != own).map(|(cpu, _)| CpuId(cpu)).collect())
}

/// The numbers of a list such as `0-1,4`.
fn cpus(list: &str) -> impl Iterator<Item = u32> {
    /// More CPUs than a machine has are no list of them.
    const MOST: u32 = 1 << 16;
    list.split(',')
        .filter_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (from.trim().parse::<u32>().ok()?, to.trim().parse::<u32>().ok()?);
            (to < MOST).then_some(from..=to)
        })
        .flatten()
}
