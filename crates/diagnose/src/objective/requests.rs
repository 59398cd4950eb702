//! The time of the requests that a thread answers.

use super::path::ObjectivePath;
use super::windows::LateWindows;
use super::{Objective, ObjectiveKind};
use crate::context::{RuleContext, add};
use crate::program::Program;
use engine::critical::Outside;
use engine::{EngineError, PathWindow};
use model::tables::requests;
use model::{Span, ThreadKey, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The least part of the analysed time that slow requests take above the median, to be stated besides another objective.
const MIN_ABOVE: f64 = 0.05;

/// The name of the thread that answers most requests.
pub(super) fn busiest(ctx: &RuleContext<'_>) -> Result<String, EngineError> {
    let mut counts = BTreeMap::new();
    if ctx.summary().ready_known {
        ctx.each_row(requests::Table, |row| add(&mut counts, row.get(requests::THREAD), 1))?;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(thread, _)| ctx.full_name(thread).to_owned());
    most.ok_or_else(|| {
        EngineError::NotFound(
            "--objective requests: the trace has no requests (`corewise tables` describes what requests are)"
                .to_owned(),
        )
    })
}

/// The objective of the thread with this name or TID: of several, the one that answers most.
pub(super) fn objective(ctx: &RuleContext<'_>, name: &str, outside: &Outside) -> Result<ObjectivePath, EngineError> {
    let (mut counts, mut names) = (BTreeMap::new(), BTreeSet::new());
    let wanted = name.parse().ok().map(Tid);
    if ctx.summary().ready_known {
        ctx.each_row(requests::Table, |row| {
            let (thread, tid) = row.all((requests::THREAD, requests::TID));
            names.insert(ctx.full_name(thread));
            if ctx.full_name(thread) == name || wanted == Some(tid) {
                add(&mut counts, (thread, tid), 1);
            }
        })?;
    }
    let Some(((thread, tid), _)) = counts.into_iter().max_by_key(|(_, count)| *count) else {
        return Err(EngineError::NotFound(if names.is_empty() {
            format!(
                "--objective requests:{name}: the trace has no requests (`corewise tables` describes what requests are)"
            )
        } else {
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            format!("--objective requests:{name}: no thread of this name or TID answers requests; these do: {names}")
        }));
    };
    of_thread(ctx, (thread, tid), windows(ctx, thread)?, outside)
}

/// The requests of the program's thread that answers most, if slow ones take a part of the analysed time that matters; else `None`.
pub(super) fn slow(ctx: &RuleContext<'_>, program: &Program) -> Result<Option<ObjectivePath>, EngineError> {
    let mut counts = BTreeMap::new();
    if ctx.summary().ready_known {
        ctx.each_row(requests::Table, |row| add(&mut counts, row.all((requests::THREAD, requests::TID)), 1))?;
    }
    counts.retain(|(thread, _), _| program.is_own(*thread) && !program.is_of_recorder(*thread));
    let Some((of, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else { return Ok(None) };
    let windows = windows(ctx, of.0)?;
    if windows.above_median().as_f64() < MIN_ABOVE * ctx.span().len().as_f64() || !windows.are_uneven() {
        return Ok(None);
    }
    of_thread(ctx, of, windows, &ctx.outside(program)?).map(Some)
}

/// The requests that a thread answers. All of a request's time counts.
fn windows(ctx: &RuleContext<'_>, thread: ThreadKey) -> Result<LateWindows, EngineError> {
    let mut late = LateWindows::default();
    ctx.each_row(requests::Table, |row| {
        if row.get(requests::THREAD) == thread {
            let [start, end, response] = row.all([requests::START_NS, requests::END_NS, requests::RESPONSE_NS]);
            let span = Span { start, end: end.max(start) };
            late.push(PathWindow { span, thread }, response);
        }
    })?;
    Ok(late)
}

fn of_thread(
    ctx: &RuleContext<'_>,
    (thread, tid): (ThreadKey, Tid),
    windows: LateWindows,
    outside: &Outside,
) -> Result<ObjectivePath, EngineError> {
    let objective = Objective {
        name: Some(ctx.name(thread)),
        thread: Some(thread),
        tid: Some(tid),
        ..Objective::of(ObjectiveKind::Requests)
    };
    ObjectivePath::of_windows(ctx, objective, windows, outside)
}
