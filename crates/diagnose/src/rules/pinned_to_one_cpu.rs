//! Threads that waited where they were pinned, while other CPUs were idle.

use super::{LEAST_SHARE, LEFT_RUNNABLE, SWITCH};
use crate::finding::Confidence;
use crate::given::{Given, Shown, threads};
use crate::rule::{Looked, Page, Rule};
use crate::slower::{NO_MASKS, SLOWER_SPEED, Saving};
use crate::speeds::Speeds;
use engine::EngineError;
use model::tables::{self, ready_wait, slower_cores, thread_by_cpu};
use model::words::ms;
use model::{CpuId, Fix};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "pinned-to-one-cpu",
    about: "a thread waited for the CPU on which it is pinned while CPUs were idle on which it may not run",
    page: Page {
        finds: "Threads that were ready while the only idle CPUs were those on which their affinity does not let them run.",
        matters: "A pinned thread waits behind whatever runs on its CPU, and a pinned set of threads is as fast as its fullest CPU: \
                  the scheduler may not help.",
        sure: "Masks and what ran are known from the recording. Where the CPU is of a slower type than idle ones, what those would have \
               saved of its running is in the estimate too. Moving costs a cold cache, which is not. The kernel's \
               own threads of one CPU (their names end in /N or /N:…) cannot be moved and are not told of.",
        mend: "Remove the mask, or widen it to a set of CPUs that share a cache.",
        example: "A and B are pinned on CPU 0, and CPU 1 is idle: each waits while the other runs.",
    },
    tables: &[&tables::READY_WAIT, &tables::THREAD_BY_CPU, &tables::SLOWER_CORES, &tables::CPU_BURSTS],
    thresholds: &[&SLOWER_SPEED, &SWITCH, &LEAST_SHARE],
    // Who may run on one CPU only takes turns there, whoever else has it.
    explains: &["serialised-on-one-cpu"],
    look,
};

/// So much of the ready time of a thread that never sleeps is after it lost its CPU while it could run.
const NEVER_SLEEPS: f64 = 0.95;

/// What a thread may gain at most.
struct Gain {
    /// Not to wait.
    waits: i64,
    running: i64,
    /// It may spin for whom it takes turns with.
    never_sleeps: bool,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let (mut claims, mut shown, mut told, mut gains) = (Vec::new(), Shown::default(), false, Vec::new());
    let mut waited = BTreeMap::new();
    let least = given.share(&LEAST_SHARE).max(1);
    let (speeds, mut slow) = (Speeds::new(given)?, BTreeMap::new());
    given.each(slower_cores::Table, |row| {
        let [thread, ns] = row.all([slower_cores::THREAD, slower_cores::FASTER_NOT_ALLOWED_NS]);
        let costed = row.get(slower_cores::NOT_ALLOWED_COST_NS).map(|cost| (cost, ns));
        slow.insert(thread, Saving::of(given, &speeds, thread, [ns, 0], costed));
    })?;
    given.each(ready_wait::Table, |row| {
        let Some(ns) = row.get(ready_wait::FREE_NOT_ALLOWED_NS) else { return };
        told = true;
        let [thread, tid] = row.all([ready_wait::THREAD, ready_wait::TID]);
        if ns >= least && !given.is_of_one_cpu(thread) {
            let [best, upper] = slow.get(&thread).map_or([0; 2], |saving| [saving.best, saving.range[1]]);
            waited.insert(thread, ns);
            claims.push(given.claim(thread, tid, ns.saturating_add(best)));
            let [ready, times, running] =
                row.all([ready_wait::READY_NS.or_zero(), ready_wait::READY_COUNT.or_zero(), ready_wait::RUNNING_NS]);
            let switching = (times as f64 * 2.0 * given.threshold(&SWITCH)) as i64;
            let turns: i64 = row.all(LEFT_RUNNABLE).iter().sum();
            gains.push(Gain {
                waits: ready.saturating_add(upper).saturating_add(switching),
                running,
                never_sleeps: turns as f64 >= NEVER_SLEEPS * ready as f64,
            });
            shown.push(ns, row, &[&ready_wait::FREE_NOT_ALLOWED_NS, &ready_wait::READY_NS, &ready_wait::RUNNING_NS]);
        }
    })?;
    if !told {
        let why = if given.summary().ready_known {
            NO_MASKS
        } else {
            "the source has no wakings, so nobody knows who was ready"
        };
        return Ok(Looked::Lacks(why.to_owned()));
    }
    if claims.is_empty() {
        return Ok(Looked::At(Vec::new()));
    }
    let mut cpus: BTreeMap<i64, Vec<CpuId>> = claims.iter().map(|c| (c.thread, Vec::new())).collect();
    given.each(thread_by_cpu::Table, |row| {
        if let (Some(of), Ok(cpu)) =
            (cpus.get_mut(&row.get(thread_by_cpu::THREAD)), u32::try_from(row.get(thread_by_cpu::CPU)))
        {
            of.push(CpuId(cpu));
        }
    })?;
    let change = Fix::Affinity { threads: threads(&claims), cpus: Vec::new() };
    let mut finding = given.finding(claims, change, "Let the scheduler choose the CPU".to_owned());
    let first = finding.threads.first();
    let place = match first.and_then(|c| cpus.get(&c.thread)).map(Vec::as_slice) {
        Some([one]) => format!("CPU {}, the only one on which it ran", one.0),
        _ => "the CPUs on which it is allowed".to_owned(),
    };
    finding.title = format!(
        "{} was ready for {} ms without {place}, while only CPUs were idle where it may not run",
        first.map_or("", |c| c.name.as_str()),
        ms(first.and_then(|c| waited.get(&c.thread)).copied().unwrap_or(0))
    );
    // Where others take the work on, it does no more of it than they.
    let each = gains.iter().fold(0, |sum: i64, of| sum.saturating_add(of.running)) / gains.len().max(1) as i64;
    let ran = |of: &Gain| if of.never_sleeps { of.running } else { (of.running - each).max(0) };
    let most = gains.iter().map(|of| of.waits.saturating_add(ran(of))).max().unwrap_or(0);
    finding.range_ns = [0, most.max(finding.recoverable_ns)];
    finding.confidence = Confidence::High;
    finding.evidence = shown.finish();
    finding.assumptions = vec![
        "an idle CPU would have run it at the same speed, or, of a faster type, sooner by what it ran on a slower core; the lower \
         end: somebody else would have taken that CPU; the upper: it would never have waited, saved two switches each time, and done no more of the \
         work than others that waited so, or nothing where it never sleeps: all that it ran may have been spinning for whoever had the CPU"
            .to_owned(),
        "the mask is no requirement of the program (a device's queue, a NUMA node's memory)".to_owned(),
    ];
    Ok(Looked::At(vec![finding]))
}
