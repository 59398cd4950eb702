//! Threads whose ideal CPU is none of those where they may run.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, add, threads};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, ideal_cpu, ready_wait, thread_by_cpu};
use model::words::ms;
use model::{CpuId, Fix};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "ideal-cpu-outside-affinity",
    about: "a thread waited while CPUs were free, and its ideal CPU was none of those where it may run",
    page: Page {
        finds: "Threads that were ready behind others while a CPU was idle on which they are allowed, and whose ideal CPU (ideal processor) was \
                none of those for most of their running time.",
        matters: "The scheduler looks at the ideal CPU first, and from there. Where that may not be used it can fall back on the CPU of last \
                  time, for all such threads of a program on the same one: they take turns there while others idle.",
        sure: "Masks, ideal CPUs and what was idle are known. That the ideal CPU was the reason is inferred from the two coming together.",
        mend: "Set an ideal CPU within the mask for each thread, whenever the mask is set.",
        example: "A may run on CPUs 0 and 1, its ideal CPU is 2: it waits 2 ms behind B on CPU 0, while CPU 1 is idle.",
    },
    tables: &[&tables::IDEAL_CPU, &tables::READY_WAIT, &tables::THREAD_BY_CPU],
    thresholds: &[&OUTSIDE_SHARE, &LEAST_SHARE],
    explains: &[],
    look,
};

const OUTSIDE_SHARE: Threshold = Threshold {
    name: "outside_share",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "a choice, of its running time: with less of it the ideal CPU is not what explains its waiting",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let (mut outside, mut told) = (BTreeMap::new(), false);
    let (mut claims, mut shown) = (Vec::new(), Shown::default());
    given.each(ideal_cpu::Table, |row| {
        told = true;
        outside.insert(row.get(ideal_cpu::THREAD), row.get(ideal_cpu::NOT_ALLOWED_NS));
    })?;
    if !told {
        return Ok(Looked::Lacks("the source tells no ideal CPUs: recordings of Windows do".to_owned()));
    }
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was ready".to_owned()));
    }
    let least = given.share(&LEAST_SHARE).max(1);
    given.each(ready_wait::Table, |row| {
        let [thread, tid, running, same, other, untold] = row.all([
            ready_wait::THREAD,
            ready_wait::TID,
            ready_wait::RUNNING_NS,
            ready_wait::FREE_SAME_TYPE_NS.or_zero(),
            ready_wait::FREE_OTHER_TYPE_NS.or_zero(),
            ready_wait::PERMISSION_UNKNOWN_NS.or_zero(),
        ]);
        let barred = outside.get(&thread).copied().unwrap_or(0);
        let ns = same.saturating_add(other).saturating_sub(untold).max(0);
        if barred > 0 && barred as f64 >= given.threshold(&OUTSIDE_SHARE) * running as f64 && ns >= least {
            claims.push(given.claim(thread, tid, ns));
            shown.push(
                ns,
                row,
                &[
                    &ready_wait::FREE_SAME_TYPE_NS,
                    &ready_wait::FREE_OTHER_TYPE_NS,
                    &ready_wait::READY_NS,
                    &ready_wait::RUNNING_NS,
                ],
            );
        }
    })?;
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(Looked::At(Vec::new()));
    };
    given.each(ideal_cpu::Table, |row| {
        if row.get(ideal_cpu::THREAD) == most.thread {
            shown.push(i64::MAX, row, &[&ideal_cpu::NOT_ALLOWED_NS, &ideal_cpu::IDEAL_NS]);
        }
    })?;
    // Where it ran it may run.
    let mut ran = BTreeMap::new();
    given.each(thread_by_cpu::Table, |row| {
        if let (true, Ok(cpu)) =
            (row.get(thread_by_cpu::THREAD) == most.thread, u32::try_from(row.get(thread_by_cpu::CPU)))
        {
            add(&mut ran, cpu, row.get(thread_by_cpu::RUNNING_NS));
        }
    })?;
    let cpu = ran.into_iter().max_by_key(|(cpu, ns)| (*ns, std::cmp::Reverse(*cpu))).map_or(0, |(cpu, _)| cpu);
    let change = Fix::IdealCpu { threads: threads(std::slice::from_ref(&most)), cpu: CpuId(cpu) };
    let finding =
        given.finding(claims, change, "Choose ideal CPUs within the masks, a different one for each thread".to_owned());
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} was ready for {} ms while CPUs were idle where it may run; its ideal CPU is one where it may not",
            most.name,
            ms(most.recoverable_ns)
        ),
        range_ns: [0, finding.recoverable_ns],
        confidence: Confidence::Medium,
        evidence: shown.finish(),
        assumptions: vec![
            "with an ideal CPU that it may use, it would have come to one of those that were idle".to_owned(),
            "an idle CPU would have run it at the same speed; the lower end: it would have waited anyhow".to_owned(),
        ],
        ..finding
    }]))
}
