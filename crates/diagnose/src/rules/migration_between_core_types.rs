//! Threads that move back and forth between core types.

use super::{MIN_RATE_NS, MIN_SHARE, ONE_TYPE, has_core_types};
use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, migrations, ready_wait, thread_by_core_type};
use model::words::{ms, plural};
use model::{CoreType, Fix, Ns, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "migration-between-core-types",
    about: "a thread changed its core type so often that the migrations themselves cost time",
    page: Page {
        description: "Threads that moved to a core of a faster or slower type more often, per second of their running time, than the scheduler's \
                tick would move them.",
        rationale: "Each such migration is a switch and a cold cache (core types share no L2), and the thread's speed changes each time: \
                  frame times and latencies vary although nothing else does.",
        certainty: "Migrations are counted. The cost of one is taken from a benchmark that only migrates: threads with much data in their \
               caches lose more. The cost of running on slower cores is not included.",
        fix: "Let the scheduler choose the core type by a hint, instead of pinning the thread: a utilisation clamp, a nice value, EcoQoS.",
        example: "A alternates between a performance and an efficient core, 2 000 times per second.",
    },
    tables: &[&tables::MIGRATIONS, &tables::READY_WAIT, &tables::THREAD_BY_CORE_TYPE, &tables::CPUS],
    thresholds: &[&MAX_PER_SECOND, &MOVE_NS, &MIN_SHARE],
    explains: &[],
    worst: Fits::RunningSlower,
    shares_out_work: false,
    check,
};

const MAX_PER_SECOND: Threshold = Threshold {
    name: "max_per_second",
    unit: Unit::PerSecond,
    value: 250.0,
    reason: "migrations per second of a thread's running time: load balancing at a tick of 4 ms does not move a thread more often",
};

const MOVE_NS: Threshold = Threshold {
    name: "move_ns",
    unit: Unit::Ns,
    value: 3830.0,
    reason: "one migration: a benchmark of 4 threads took 11.18 s with a million migrations and 7.35 s without (an i7-13700KF)",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !has_core_types(ctx)? {
        return Ok(RuleOutcome::MissingData(ONE_TYPE.to_owned()));
    }
    let mut running = BTreeMap::new();
    ctx.each_row(ready_wait::Table, |row| {
        add(&mut running, row.get(ready_wait::THREAD), row.get(ready_wait::RUNNING_NS))
    })?;
    let (mut claims, mut evidence, mut moves) = (Vec::new(), EvidenceRows::default(), BTreeMap::new());
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    ctx.each_row(migrations::Table, |row| {
        let (thread, tid, faster, slower) =
            row.all((migrations::THREAD, migrations::TID, migrations::TO_FASTER, migrations::TO_SLOWER));
        let count = faster.saturating_add(slower);
        let ran = running.get(&thread).copied().unwrap_or(Ns::ZERO);
        let lost = Ns::whole(count as f64 * ctx.threshold(&MOVE_NS));
        if count as f64 > ctx.threshold(&MAX_PER_SECOND) * ran.as_f64() / 1e9 && ran >= MIN_RATE_NS && lost >= least {
            claims.push(ctx.claim(thread, tid, lost));
            moves.insert(thread, (count, ran));
            evidence.push(lost, row, &[&migrations::TO_FASTER, &migrations::TO_SLOWER, &migrations::MIGRATIONS]);
        }
    })?;
    let Some(most) = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread))).cloned() else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let (count, ran) = moves.get(&most.thread).copied().unwrap_or_default();
    let change =
        Fix::CoreType { threads: threads(std::slice::from_ref(&most)), prefer: preferred_type(ctx, most.thread)? };
    let finding = ctx.finding(claims, change, format!("Keep {} on one type of core", most.name));
    Ok(RuleOutcome::Findings(vec![Finding {
        title: format!(
            "{} changed its core type {} in {} ms of running: about {} ms were lost to migrations",
            most.name,
            plural(count.unsigned_abs(), "time"),
            ms(ran),
            ms(most.recoverable_ns)
        ),
        range_ns: [Ns::ZERO, finding.recoverable_ns],
        confidence: Confidence::Low,
        evidence: evidence.finish(),
        assumptions: vec![
            format!("each migration costs {} ns (lower bound: nothing)", ctx.threshold(&MOVE_NS)),
            "the program's own cache misses are not included".to_owned(),
        ],
        ..finding
    }]))
}

/// Efficient if the thread ran there for longer than on all faster cores, else performance.
fn preferred_type(ctx: &RuleContext<'_>, thread: ThreadKey) -> Result<CoreType, EngineError> {
    let (mut slow, mut fast) = (Ns::ZERO, Ns::ZERO);
    ctx.each_row(thread_by_core_type::Table, |row| {
        if row.get(thread_by_core_type::THREAD) == thread {
            let to = if ["efficient", "low_power"].contains(&row.get(thread_by_core_type::CORE_TYPE)) {
                &mut slow
            } else {
                &mut fast
            };
            *to += row.get(thread_by_core_type::RUNNING_NS);
        }
    })?;
    Ok(if slow > fast { CoreType::Efficient } else { CoreType::Performance })
}
