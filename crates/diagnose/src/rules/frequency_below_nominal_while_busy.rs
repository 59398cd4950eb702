//! Threads that were always busy on CPUs with a reduced clock.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, frequency_residency, thread_by_frequency};
use model::words::ms;
use model::{CpuId, Fix, Ns, ThreadKey, Tid};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "frequency-below-nominal-while-busy",
    about: "a busy thread ran at a frequency far below what its cores can reach",
    page: Page {
        description: "Threads that ran for most of the analysed time, and for part of it at a frequency below what their type of core sustains with \
                 all cores busy.",
        rationale: "Work that does not wait for memory slows down in proportion to the clock. A governor that saves energy (powersave, \
                  EcoQoS), a power or thermal limit, and a forgotten frequency cap all look the same to the program.",
        certainty: "Frequencies are those in the recording: the requested ones, which the firmware may not have granted. The nominal frequency is \
               not recorded; it is taken as a share of the highest frequency seen on any core of the type. A thread that pauses \
               often is left out, as its governor may be right. Code that waits for memory gains less.",
        fix: "Find out what limits the clock: the governor, its limits, heat. Raise the minimum frequency, or let urgent threads request performance.",
        example: "A runs all the time, at first at 4 GHz and then at 1 GHz.",
    },
    tables: &[&tables::THREAD_BY_FREQUENCY, &tables::FREQUENCY_RESIDENCY],
    thresholds: &[&NOMINAL_SHARE, &MIN_BUSY, &MIN_SHARE],
    explains: &[],
    worst: Fits::Running,
    shares_out_work: false,
    check,
};

const NOMINAL_SHARE: Threshold = Threshold {
    name: "nominal_share",
    unit: Unit::Ratio,
    value: 0.6,
    reason: "of the highest frequency seen on the type of core: desktop and server CPUs sustain 0.6 to 0.75 of their highest turbo with all \
             cores busy; this is the cautious end",
};

const MIN_BUSY: Threshold = Threshold {
    name: "min_busy",
    unit: Unit::Ratio,
    value: 0.8,
    reason: "of the analysed time, in which the thread ran: Linux governors aim at 0.8 (schedutil's headroom of 1.25), so a thread above it is \
             not slow because it has little to do",
};

/// What a thread ran in total and below the nominal frequency.
#[derive(Default)]
struct Ran {
    tid: Tid,
    all: Ns,
    below: Ns,
    /// What the nominal and the highest frequency would have saved.
    saved: f64,
    saved_at_highest: f64,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let mut highest: BTreeMap<String, i64> = BTreeMap::new();
    ctx.each_row(frequency_residency::Table, |row| {
        if let Some(khz) = row.get(frequency_residency::KHZ).filter(|khz| *khz > 0) {
            let max = highest.entry(row.get(frequency_residency::CORE_TYPE).to_owned()).or_insert(khz);
            *max = khz.max(*max);
        }
    })?;
    if highest.is_empty() {
        return Ok(RuleOutcome::MissingData(
            "the source does not record frequencies (the event power:cpu_frequency)".to_owned(),
        ));
    }
    let share = ctx.threshold(&NOMINAL_SHARE).min(1.0);
    let mut ran: BTreeMap<ThreadKey, Ran> = BTreeMap::new();
    let busy = ctx.threshold(&MIN_BUSY) * ctx.span().len().as_f64();
    ctx.each_row(thread_by_frequency::Table, |row| {
        let (thread, tid, ns) =
            row.all((thread_by_frequency::THREAD, thread_by_frequency::TID, thread_by_frequency::RUNNING_NS));
        let sums = ran.entry(thread).or_default();
        (sums.tid, sums.all) = (tid, sums.all + ns);
        let Some((khz, highest)) =
            row.get(thread_by_frequency::KHZ).zip(highest.get(row.get(thread_by_frequency::CORE_TYPE)).copied())
        else {
            return;
        };
        let nominal = highest as f64 * share;
        if (khz as f64) < nominal {
            sums.below += ns;
            sums.saved += ns.as_f64() * (1.0 - khz as f64 / nominal);
            sums.saved_at_highest += ns.as_f64() * (1.0 - khz as f64 / highest as f64);
        }
    })?;
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1)).as_f64();
    ran.retain(|_, sums| sums.all.as_f64() >= busy && sums.saved >= least);
    let claims: Vec<_> = ran.iter().map(|(key, sums)| ctx.claim(*key, sums.tid, Ns::whole(sums.saved))).collect();
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let mut evidence = EvidenceRows::default();
    ctx.each_row(thread_by_frequency::Table, |row| {
        if ran.contains_key(&row.get(thread_by_frequency::THREAD)) {
            evidence.push(row.get(thread_by_frequency::RUNNING_NS), row, &[&thread_by_frequency::RUNNING_NS]);
        }
    })?;
    let (cpus, khz) = slow_cpus(ctx, &highest, share)?;
    let (below, upper) =
        ran.get(&most.thread).map_or((Ns::ZERO, Ns::ZERO), |sums| (sums.below, Ns::whole(sums.saved_at_highest)));
    let change = Fix::LeastFrequency { cpus, khz };
    let what = format!("Run the CPUs of {} at their nominal frequency or above", threads(&claims).name);
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} was busy all the time and ran for {} ms below {share} of the frequency that its cores reach",
            most.name,
            ms(below)
        ),
        range_ns: [Ns::ZERO, upper],
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            format!("the nominal frequency is {share} of the highest seen (upper bound: the highest is sustained)"),
            "running time is inversely proportional to the clock (lower bound: the thread waited for memory)"
                .to_owned(),
            "the recorded frequencies are those that the cores had".to_owned(),
        ],
        ..ctx.finding(claims, change, what)
    }]))
}

/// The CPUs that were busy below their nominal frequency, and the lowest of these nominal frequencies.
fn slow_cpus(
    ctx: &RuleContext<'_>,
    highest: &BTreeMap<String, i64>,
    share: f64,
) -> Result<(Vec<CpuId>, u64), EngineError> {
    let (mut cpus, mut least) = (BTreeSet::new(), None::<u64>);
    ctx.each_row(frequency_residency::Table, |row| {
        let Some((khz, highest)) =
            row.get(frequency_residency::KHZ).zip(highest.get(row.get(frequency_residency::CORE_TYPE)).copied())
        else {
            return;
        };
        let nominal = highest as f64 * share;
        if (khz as f64) < nominal && row.get(frequency_residency::BUSY_NS) > Ns::ZERO {
            cpus.extend(u32::try_from(row.get(frequency_residency::CPU)).ok().map(CpuId));
            least = Some(least.map_or(nominal as u64, |khz| khz.min(nominal as u64)));
        }
    })?;
    Ok((cpus.into_iter().collect(), least.unwrap_or(0)))
}
