//! Threads whose ideal CPU is outside their affinity.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, ideal_cpu, ready_wait, thread_by_cpu};
use model::words::ms;
use model::{CpuId, Fix, Ns};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "ideal-cpu-outside-affinity",
    about: "a thread waited while CPUs were free, and its ideal CPU was outside its affinity",
    page: Page {
        description: "Threads that were queued behind others while a CPU on which they are allowed was idle, and whose ideal CPU (ideal processor) was \
                outside their affinity for most of their running time.",
        rationale: "The scheduler tries the ideal CPU first, then its neighbours. If the ideal CPU is not allowed, it may fall back on the previous \
                  CPU, which may be the same one for all such threads of a program: they share it while others are idle.",
        certainty: "Affinities, ideal CPUs and idle CPUs are recorded. That the ideal CPU is the reason is inferred from their coincidence.",
        fix: "Set an ideal CPU within the affinity for each thread, whenever the affinity is set.",
        example: "A may run on CPUs 0 and 1, its ideal CPU is 2: it is queued behind B on CPU 0 for 2 ms, while CPU 1 is idle.",
    },
    tables: &[&tables::IDEAL_CPU, &tables::READY_WAIT, &tables::THREAD_BY_CPU],
    thresholds: &[&OUTSIDE_SHARE, &MIN_SHARE],
    explains: &[],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

const OUTSIDE_SHARE: Threshold = Threshold {
    name: "outside_share",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "of its running time; heuristic: with less, the ideal CPU does not explain the waiting",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let (mut outside, mut has_data) = (BTreeMap::new(), false);
    let (mut claims, mut evidence) = (Vec::new(), EvidenceRows::default());
    ctx.each_row(ideal_cpu::Table, |row| {
        has_data = true;
        outside.insert(row.get(ideal_cpu::THREAD), row.get(ideal_cpu::NOT_ALLOWED_NS));
    })?;
    if !has_data {
        return Ok(RuleOutcome::MissingData(
            "the source does not record ideal CPUs; recordings of Windows do".to_owned(),
        ));
    }
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which threads were ready".to_owned(),
        ));
    }
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, tid, running, same, other, not_recorded) = row.all((
            ready_wait::THREAD,
            ready_wait::TID,
            ready_wait::RUNNING_NS,
            ready_wait::FREE_SAME_TYPE_NS.or_zero(),
            ready_wait::FREE_OTHER_TYPE_NS.or_zero(),
            ready_wait::PERMISSION_UNKNOWN_NS.or_zero(),
        ));
        let outside_ns = outside.get(&thread).copied().unwrap_or(Ns::ZERO);
        let ns = (same + other - not_recorded).max(Ns::ZERO);
        if outside_ns > Ns::ZERO
            && outside_ns.as_f64() >= ctx.threshold(&OUTSIDE_SHARE) * running.as_f64()
            && ns >= least
        {
            claims.push(ctx.claim(thread, tid, ns));
            evidence.push(
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
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    ctx.each_row(ideal_cpu::Table, |row| {
        if row.get(ideal_cpu::THREAD) == most.thread {
            evidence.push(Ns::MAX, row, &[&ideal_cpu::NOT_ALLOWED_NS, &ideal_cpu::IDEAL_NS]);
        }
    })?;
    // CPUs where it ran are allowed.
    let mut ran = BTreeMap::new();
    ctx.each_row(thread_by_cpu::Table, |row| {
        if let (true, Ok(cpu)) =
            (row.get(thread_by_cpu::THREAD) == most.thread, u32::try_from(row.get(thread_by_cpu::CPU)))
        {
            add(&mut ran, cpu, row.get(thread_by_cpu::RUNNING_NS));
        }
    })?;
    let cpu = ran.into_iter().max_by_key(|(cpu, ns)| (*ns, std::cmp::Reverse(*cpu))).map_or(0, |(cpu, _)| cpu);
    let change = Fix::IdealCpu { threads: threads(std::slice::from_ref(&most)), cpu: CpuId(cpu) };
    let finding = ctx.finding(
        claims,
        change,
        "Choose ideal CPUs within the affinity, a different one for each thread".to_owned(),
    );
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} was ready for {} ms while CPUs were idle on which it may run; its ideal CPU is outside its affinity",
            most.name,
            ms(most.recoverable_ns)
        ),
        range_ns: [Ns::ZERO, finding.recoverable_ns],
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            "with an ideal CPU that it may use, it would have been placed on one of the idle CPUs".to_owned(),
            "an idle CPU would have run it at the same speed (lower bound: it would have waited anyway)".to_owned(),
        ],
        ..finding
    }]))
}
