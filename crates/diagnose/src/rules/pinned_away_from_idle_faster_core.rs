//! Threads whose mask keeps them on slower cores while a faster one is idle.

use super::{LEAST_SHARE, ONE_TYPE, has_core_types};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use crate::slower::{NO_MASKS, SLOWER_SPEED, slower};
use engine::EngineError;
use model::Fix;
use model::tables::{self, priority_residency, slower_cores};
use model::words::ms;
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    id: "pinned-away-from-idle-faster-core",
    about: "a thread ran on a slower core while faster ones were idle on which its mask does not let it run",
    page: Page {
        finds: "Threads that ran on a core of a slower type while whole cores of a faster type were idle, but none on which they are allowed.",
        matters: "A mask that was right for one machine leaves a thread on slow cores of another, whatever stands idle; and where the slowest \
                  of several is waited for, all are as slow as it.",
        sure: "Masks, what ran and what was idle are known from the recording. Threads at a nice value above 0, or of \
               SCHED_IDLE, are left out: on slower cores they are where they were put on purpose. The kernel's own threads of one CPU cannot \
               be moved. How much slower a slower core is, is told by the kernel's capacities, \
               else by what the thread itself ran on both (cpu_bursts), else by what others did, else it is assumed.",
        mend: "Remove the mask. To spare energy, say that the work is not urgent (EcoQoS, a utilisation clamp) and let the scheduler place it.",
        example: "A may run on the efficient cores only, and does for 4 ms while a performance core is idle.",
    },
    tables: &[&tables::SLOWER_CORES, &tables::CPU_BURSTS, &tables::PRIORITY_RESIDENCY, &tables::CPUS],
    thresholds: &[&WORST_PRIO, &SLOWER_SPEED, &LEAST_SHARE],
    explains: &[],
    look,
};

const WORST_PRIO: Threshold = Threshold {
    name: "worst_prio",
    unit: Unit::Count,
    value: 120.0,
    reason: "the dynamic priority of nice 0: what somebody set below that may be meant to run slowly",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !has_core_types(given)? {
        return Ok(Looked::Lacks(ONE_TYPE.to_owned()));
    }
    let mut background = BTreeSet::new();
    given.each(priority_residency::Table, |row| {
        let prio = row.get(priority_residency::PRIO).filter(|_| row.get(priority_residency::RUNNING_NS) > 0);
        if prio.is_some_and(|prio| prio as f64 > given.threshold(&WORST_PRIO)) {
            background.insert(row.get(priority_residency::THREAD));
        }
    })?;
    let counts = |thread| !background.contains(&thread) && !given.is_of_one_cpu(thread);
    let Some(slower) = slower(given, slower_cores::FASTER_NOT_ALLOWED_NS, slower_cores::NOT_ALLOWED_COST_NS, counts)?
    else {
        return Ok(Looked::Lacks(NO_MASKS.to_owned()));
    };
    let Some((_, saving, ns)) = slower.most else { return Ok(Looked::At(Vec::new())) };
    let change = Fix::Affinity { threads: threads(&slower.claims), cpus: Vec::new() };
    let finding = given.finding(slower.claims, change, "Let the scheduler choose the core".to_owned());
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} ran for {} ms on a slower core while faster ones were idle on which it may not run",
            finding.threads.first().map_or("", |c| c.name.as_str()),
            ms(ns)
        ),
        range_ns: saving.range,
        confidence: Confidence::High,
        evidence: slower.shown.finish(),
        assumptions: vec![
            saving.words(given),
            "the mask is no requirement of the program, and saves no energy that is worth the time".to_owned(),
        ],
        ..finding
    }]))
}
