//! Pools of which one thread runs alone at the end, while the others are done: chunks-too-large.

use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Confidence, Finding};
use crate::pools::Processes;
use crate::range::Range;
use crate::serial::{Pool, Sharing};
use engine::EngineError;
use model::tables::pools;
use model::words::{ms, percent, plural};
use model::{Fix, Ns};

/// The last thread runs alone for at least this part of the time. With less, the pieces are of the size that eight for each thread have.
const MIN_ALONE: f64 = 0.15;

/// The last piece of a pool is not always divided as well as the others.
const RANGE: Range = Range { low: 0.5, high: 1.45 };

/// Returns a finding for each pool whose last thread ran alone for at least `least` ns more than it should have.
pub(crate) fn find(ctx: &RuleContext<'_>, least: Ns) -> Result<Vec<Finding>, EngineError> {
    let pools = Pool::all(ctx, &Processes::new(ctx)?)?;
    pools
        .into_iter()
        .filter(|pool| pool.sharing == Sharing::LastPiece)
        .filter_map(|pool| finding(ctx, &pool, least).transpose())
        .collect()
}

fn finding(ctx: &RuleContext<'_>, pool: &Pool, least: Ns) -> Result<Option<Finding>, EngineError> {
    let working = pool.working().count();
    let last = &pool.members[0];
    // The others of the pool can do a part of it.
    let saved = last.saving((working - 1) as f64);
    if saved < least || last.serial().as_f64() < MIN_ALONE * ctx.span().len().as_f64() {
        return Ok(None);
    }
    let mut evidence = EvidenceRows::default();
    ctx.each_row(pools::Table, |row| {
        if pool.working().any(|member| member.thread == row.get(pools::THREAD)) {
            evidence.push(row.get(pools::ALONE_NS), row, &[&pools::RUNNING_NS, &pools::TOGETHER_NS, &pools::ALONE_NS]);
        }
    })?;
    let claims: Vec<_> = pool.working().map(|member| ctx.claim(member.thread, member.tid, saved)).collect();
    let chunks = u32::try_from(working * 8).unwrap_or(u32::MAX);
    let name = &pool.name;
    let change = Fix::Chunks { region: format!("the work of {name}"), chunks };
    Ok(Some(Finding {
        title: format!(
            "{} named {name} shared work until all but one were done; the last one ran alone for {} ms ({} of the time) while CPUs were idle",
            plural(working as u64, "thread"),
            ms(last.serial()),
            percent(last.serial(), ctx.span().len())
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            "what the last thread did alone can be divided among the threads of the pool (lower bound: half of that is gained)".to_owned(),
            "upper bound: the threads also wait less for each other".to_owned(),
        ],
        ..ctx.finding(claims, change, format!("Give {name} smaller pieces of work, taken one by one"))
    }))
}
