//! The time of marked frames.

use super::path::ObjectivePath;
use super::windows::LateWindows;
use super::{Objective, ObjectiveKind};
use crate::context::{RuleContext, add};
use crate::pools::Processes;
use engine::critical::Outside;
use engine::{EngineError, PathWindow, mark_name_matches};
use model::tables::{mark_stretches, marks, periods, waits};
use model::{Ns, Span, ThreadKey};
use std::collections::BTreeMap;

/// With fewer marks, the program is not known to be about them.
const MIN_FRAMES: i64 = 20;
/// Frames that take at least this part of the time between their begins follow each other without a pause.
const MAX_OF_DISTANCE: f64 = 0.9;
/// The part of the frames that leave less than a tenth of their time, from which on they have no slack.
const MIN_TIGHT: f64 = 0.1;
/// With fewer such frames, they are accidents.
const MIN_TIGHT_COUNT: usize = 2;
/// The maximum number of frames from which the deadline is estimated.
const MAX_ESTIMATED: usize = 1 << 16;

/// How names of marks of frames begin, in lower case. Android names its frames after the function that draws them.
const FRAMES: [&str; 2] = ["frame", "choreographer#doframe"];

/// The name of the marks that are frames, if the trace has such.
pub(super) fn of_frames(ctx: &RuleContext<'_>) -> Result<Option<String>, EngineError> {
    let mut counts = BTreeMap::<String, i64>::new();
    ctx.each_row(marks::Table, |row| {
        if let (Some(name), Some(_)) = (row.get(marks::NAME), row.get(marks::THREAD)) {
            let lower = name.to_lowercase();
            let is_frame = FRAMES.iter().any(|begin| {
                lower.strip_prefix(begin).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphabetic()))
            });
            if is_frame {
                // Frames with numbers in their names are one kind.
                let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
                let kind = if kind.len() < name.len() { format!("{kind}*") } else { name.to_owned() };
                *counts.entry(kind).or_default() += row.get(marks::COUNT);
            }
        }
    })?;
    let commonest = counts.into_iter().max_by_key(|(_, count)| *count);
    Ok(commonest.filter(|(_, count)| *count >= MIN_FRAMES).map(|(name, _)| name))
}

/// Calls `each` for every completed mark with this name and a known thread, in order of end. A mark begins when its thread was due, if it set
/// the mark after it had waited for a CPU.
fn each_frame(
    ctx: &RuleContext<'_>,
    name: &str,
    due: &BTreeMap<ThreadKey, Vec<Ns>>,
    mut each: impl FnMut(PathWindow),
) -> Result<(), EngineError> {
    let mut ended = BTreeMap::<ThreadKey, Ns>::new();
    ctx.each_row(mark_stretches::Table, |row| {
        let [start, end] = row.all([mark_stretches::START_NS, mark_stretches::END_NS]);
        if let (Some(thread), Some(of), true) =
            (row.get(mark_stretches::THREAD), row.get(mark_stretches::NAME), row.get(mark_stretches::ENDED))
            && start < end
            && mark_name_matches(name, of)
        {
            let due = due.get(&thread).and_then(|all| all[..all.partition_point(|due| *due <= start)].last());
            let before = ended.insert(thread, end);
            let start = due.copied().filter(|due| before.is_none_or(|before| before <= *due)).unwrap_or(start);
            each(PathWindow { span: Span::new(start, end), thread });
        }
    })
}

/// When each periodic thread was due.
fn due(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, Vec<Ns>>, EngineError> {
    let mut due = BTreeMap::<ThreadKey, Vec<Ns>>::new();
    if ctx.summary().ready_known {
        ctx.each_row(periods::Table, |row| {
            due.entry(row.get(periods::THREAD)).or_default().push(row.get(periods::START_NS))
        })?;
    }
    due.values_mut().for_each(|all| all.sort_unstable());
    Ok(due)
}

/// The objective of the marks with this name. If their threads wait between them for a timer or another program, as for the next picture of a
/// display, and begin at a steady distance, each may take that long. Otherwise they follow each other, or a pause of a fixed length, and all
/// of the time counts, from one end to the next.
pub(super) fn objective(ctx: &RuleContext<'_>, name: &str, outside: &Outside) -> Result<ObjectivePath, EngineError> {
    let (mut lengths, mut distances, mut pauses) = (Vec::new(), Vec::new(), Vec::new());
    let (mut threads, mut last, due) = (BTreeMap::new(), BTreeMap::<ThreadKey, Span>::new(), due(ctx)?);
    each_frame(ctx, name, &due, |frame| {
        add(&mut threads, frame.thread, 1);
        if lengths.len() < MAX_ESTIMATED {
            lengths.push(frame.span.len());
            if let Some(before) = last.insert(frame.thread, frame.span) {
                distances.push(frame.span.start - before.start);
                pauses.push(frame.span.start - before.end);
            }
        }
    })?;
    if lengths.is_empty() {
        return Err(EngineError::NotFound(format!(
            "--objective marks:{name}: no thread completed a mark of this name (`corewise table TRACE marks` lists all marks)"
        )));
    }
    let between: Ns = distances.iter().sum();
    let is_steady = variation(&distances) <= variation(&pauses);
    let distance = median(distances);
    let (frames, tight) = (lengths.len(), lengths.iter().filter(|length| **length >= distance - distance / 10).count());
    let length = median(lengths);
    let may_wait = length.as_f64() < MAX_OF_DISTANCE * distance.as_f64();
    let paced = may_wait
        && is_steady
        && waits_for_others(ctx, &threads)?.as_f64() >= (1.0 - MAX_OF_DISTANCE) * between.as_f64();
    // Where many use up their time, each delay makes one late, or the next one.
    let has_slack = tight < MIN_TIGHT_COUNT || (tight as f64) < MIN_TIGHT * frames as f64;
    let deadline = Some(distance).filter(|_| paced && has_slack);
    let (mut late, mut ended) = (LateWindows::default(), BTreeMap::<ThreadKey, Ns>::new());
    each_frame(ctx, name, &due, |frame| {
        let before = ended.insert(frame.thread, frame.span.end);
        match deadline {
            Some(deadline) => late.push(frame, frame.span.len() - deadline),
            None if paced => late.push(frame, frame.span.len()),
            None => {
                let start = before.unwrap_or(frame.span.start).min(frame.span.start);
                let span = Span::new(start, frame.span.end);
                late.push(PathWindow { span, ..frame }, span.len());
            }
        }
    })?;
    let objective = Objective {
        name: Some(name.to_owned()),
        thread: threads.into_iter().max_by_key(|(_, count)| *count).map(|(thread, _)| thread),
        deadline_ns: deadline,
        has_pauses: !paced,
        ..Objective::of(ObjectiveKind::Marks)
    };
    ObjectivePath::of_windows(ctx, objective, late, outside)
}

/// For how long these threads waited for a timer, a device or a thread of another process.
fn waits_for_others(ctx: &RuleContext<'_>, threads: &BTreeMap<ThreadKey, i64>) -> Result<Ns, EngineError> {
    let (processes, mut waited) = (Processes::new(ctx)?, Ns::ZERO);
    ctx.each_row(waits::Table, |row| {
        let thread = row.get(waits::THREAD);
        let by_own =
            row.get(waits::WAKER).is_some_and(|waker| waker > ThreadKey::IDLE && processes.are_one(waker, thread));
        if threads.contains_key(&thread) && !by_own {
            waited += row.get(waits::BLOCKED_NS);
        }
    })?;
    Ok(waited)
}

/// The median distance from the median.
fn variation(of: &[Ns]) -> Ns {
    let middle = median(of.to_vec());
    median(of.iter().map(|value| Ns((*value - middle).0.abs())).collect())
}

/// The median; 0 of nothing.
fn median(mut of: Vec<Ns>) -> Ns {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or(Ns::ZERO)
}
