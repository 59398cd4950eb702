//! Threads that had work all the time on CPUs that were clocked down.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, frequency_residency, thread_by_frequency};
use model::words::ms;
use model::{CpuId, Fix};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule {
    id: "frequency-below-nominal-while-busy",
    about: "a thread that had work all the time ran at a frequency far below what its cores reach",
    page: Page {
        finds: "Threads that ran for most of the time looked at, and for some of that at a frequency below what their type of core holds with \
                all cores busy.",
        matters: "Work that is not waiting for memory takes longer by as much as the clock is slower. A governor that saves energy \
                  (powersave, EcoQoS), a limit of power or heat, or a cap that somebody set and forgot all look the same to the program.",
        sure: "Frequencies are those that the source told: what was asked for, which firmware may not have given. The nominal frequency is \
               told by nobody: it is taken as a part of the highest that any core of the type was at. A thread that pauses \
               often is left out: its governor may be right. Code that waits for memory gains less.",
        mend: "Look for what holds the clock: the governor, its bounds, heat. Raise the least frequency, or let urgent threads ask for speed.",
        example: "A runs all the time, at first at 4 GHz and then at 1 GHz.",
    },
    tables: &[&tables::THREAD_BY_FREQUENCY, &tables::FREQUENCY_RESIDENCY],
    thresholds: &[&NOMINAL_SHARE, &LEAST_BUSY, &LEAST_SHARE],
    explains: &[],
    look,
};

const NOMINAL_SHARE: Threshold = Threshold {
    name: "nominal_share",
    unit: Unit::Ratio,
    value: 0.6,
    reason: "of the highest frequency that the type of core was seen at: what desktop and server parts hold with all cores busy is \
             0.6 to 0.75 of their highest turbo; the quieter end",
};

const LEAST_BUSY: Threshold = Threshold {
    name: "least_busy",
    unit: Unit::Ratio,
    value: 0.8,
    reason: "of the time looked at, in which the thread ran: governors of Linux aim at 0.8 (schedutil's 1.25 of headroom), so \
             a thread above it is not slow because it has little to do",
};

/// What a thread ran at frequencies below the nominal one.
#[derive(Default)]
struct Ran {
    tid: i64,
    all: i64,
    below: i64,
    /// What the nominal frequency and what the highest would have saved.
    saved: f64,
    most: f64,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let mut highest: BTreeMap<String, i64> = BTreeMap::new();
    given.each(frequency_residency::Table, |row| {
        if let Some(khz) = row.get(frequency_residency::KHZ).filter(|khz| *khz > 0) {
            let of = highest.entry(row.get(frequency_residency::CORE_TYPE).to_owned()).or_insert(khz);
            *of = khz.max(*of);
        }
    })?;
    if highest.is_empty() {
        return Ok(Looked::Lacks("the source tells no frequencies (the event power:cpu_frequency)".to_owned()));
    }
    let share = given.threshold(&NOMINAL_SHARE).min(1.0);
    let mut ran: BTreeMap<i64, Ran> = BTreeMap::new();
    let busy = given.threshold(&LEAST_BUSY) * given.span().len().0 as f64;
    given.each(thread_by_frequency::Table, |row| {
        let [thread, tid, ns] =
            row.all([thread_by_frequency::THREAD, thread_by_frequency::TID, thread_by_frequency::RUNNING_NS]);
        let of = ran.entry(thread).or_default();
        (of.tid, of.all) = (tid, of.all.saturating_add(ns));
        let Some((khz, highest)) =
            row.get(thread_by_frequency::KHZ).zip(highest.get(row.get(thread_by_frequency::CORE_TYPE)).copied())
        else {
            return;
        };
        let nominal = highest as f64 * share;
        if (khz as f64) < nominal {
            of.below = of.below.saturating_add(ns);
            of.saved += ns as f64 * (1.0 - khz as f64 / nominal);
            of.most += ns as f64 * (1.0 - khz as f64 / highest as f64);
        }
    })?;
    let least = given.share(&LEAST_SHARE).max(1) as f64;
    ran.retain(|_, of| of.all as f64 >= busy && of.saved >= least);
    let claims: Vec<_> = ran.iter().map(|(key, of)| given.claim(*key, of.tid, of.saved as i64)).collect();
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(Looked::At(Vec::new()));
    };
    let mut shown = Shown::default();
    given.each(thread_by_frequency::Table, |row| {
        if ran.contains_key(&row.get(thread_by_frequency::THREAD)) {
            shown.push(row.get(thread_by_frequency::RUNNING_NS), row, &[&thread_by_frequency::RUNNING_NS]);
        }
    })?;
    let (cpus, khz) = slow_cpus(given, &highest, share)?;
    let (below, upper) = ran.get(&most.thread).map_or((0, 0), |of| (of.below, of.most as i64));
    let change = Fix::LeastFrequency { cpus, khz };
    let what = format!("Let the CPUs of {} run at their nominal frequency or above", threads(&claims).name);
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} had work all the time, and ran for {} ms below {share} of the frequency that its cores reach",
            most.name,
            ms(below)
        ),
        range_ns: [0, upper],
        confidence: Confidence::Medium,
        evidence: shown.finish(),
        assumptions: vec![
            format!("the nominal frequency is {share} of the highest seen; the upper end: the highest is held"),
            "running time is as the clock's inverse; the lower end: it waited for memory".to_owned(),
            "the source's frequencies are those that the cores had".to_owned(),
        ],
        ..given.finding(claims, change, what)
    }]))
}

/// The CPUs that were busy below their nominal frequency, and the least of those nominal frequencies.
fn slow_cpus(given: &Given<'_>, highest: &BTreeMap<String, i64>, share: f64) -> Result<(Vec<CpuId>, u64), EngineError> {
    let (mut cpus, mut least) = (BTreeSet::new(), None::<u64>);
    given.each(frequency_residency::Table, |row| {
        let Some((khz, highest)) =
            row.get(frequency_residency::KHZ).zip(highest.get(row.get(frequency_residency::CORE_TYPE)).copied())
        else {
            return;
        };
        let nominal = highest as f64 * share;
        if (khz as f64) < nominal && row.get(frequency_residency::BUSY_NS) > 0 {
            cpus.extend(u32::try_from(row.get(frequency_residency::CPU)).ok().map(CpuId));
            least = Some(least.map_or(nominal as u64, |khz| khz.min(nominal as u64)));
        }
    })?;
    Ok((cpus.into_iter().collect(), least.unwrap_or(0)))
}
