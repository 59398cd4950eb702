//! Threads that waited while the only free CPUs were parked.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use engine::EngineError;
use model::tables::{self, parking, ready_wait};
use model::words::{ms, plural};
use model::{CpuId, Fix, Ns};

pub(super) const RULE: Rule = Rule {
    id: "parked-while-ready",
    about: "a thread was ready while the only free CPUs were parked",
    page: Page {
        description: "Threads that were ready while, of the CPUs on which they are allowed, only parked ones ran no thread.",
        rationale: "Parked CPUs save energy as long as the others have capacity. A burst of work finds too few CPUs, waits, and ends before the \
                  next load check unparks any: a stall of tens of milliseconds that does not show in averages.",
        certainty: "Which CPUs were parked and which threads were ready is known. The time to unpark and wake a CPU is not in the estimate.",
        fix: "Park fewer CPUs, or none while the program runs.",
        example: "A and B share CPU 0 while CPU 1 is parked: each waits for 2 ms.",
    },
    tables: &[&tables::READY_WAIT, &tables::PARKING],
    thresholds: &[&MIN_SHARE],
    explains: &[],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData(
            "the source has no wakeups, so it is unknown which threads were ready".to_owned(),
        ));
    }
    let (mut claims, mut evidence, mut has_data) = (Vec::new(), EvidenceRows::default(), false);
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    ctx.each_row(ready_wait::Table, |row| {
        let Some(ns) = row.get(ready_wait::FREE_PARKED_NS) else { return };
        has_data = true;
        let (thread, tid) = row.all((ready_wait::THREAD, ready_wait::TID));
        // A per-CPU kernel thread waits for its CPU in any case.
        if ns >= least && !ctx.is_per_cpu_kthread(thread) {
            claims.push(ctx.claim(thread, tid, ns));
            evidence.push(ns, row, &[&ready_wait::FREE_PARKED_NS, &ready_wait::READY_NS]);
        }
    })?;
    if !has_data {
        return Ok(RuleOutcome::MissingData("the source does not record which CPUs were parked".to_owned()));
    }
    if claims.is_empty() {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let mut cpus = Vec::new();
    ctx.each_row(parking::Table, |row| {
        if row.get(parking::PARKED_NS.or_zero()) > Ns::ZERO {
            cpus.extend(u32::try_from(row.get(parking::CPU)).ok().map(CpuId));
        }
    })?;
    let many = plural(cpus.len() as u64, "CPU");
    let change = Fix::Unpark { cpus };
    let finding = ctx.finding(claims, change, "Unpark these CPUs".to_owned());
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} was ready for {} ms while the only free CPUs were parked ({many} at some point)",
            finding.threads.first().map_or("", |c| c.name.as_str()),
            ms(finding.recoverable_ns)
        ),
        range_ns: [Ns::ZERO, finding.recoverable_ns],
        confidence: Confidence::High,
        evidence: evidence.finish(),
        assumptions: vec![
            "a parked CPU would have run it immediately and at the same speed".to_owned(),
            "lower bound: another thread would have taken that CPU".to_owned(),
        ],
        ..finding
    }]))
}
