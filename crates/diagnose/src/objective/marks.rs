//! The time of marked frames.

use super::path::{LateWindows, ObjectivePath};
use super::{Objective, ObjectiveKind};
use crate::context::{RuleContext, add};
use engine::{EngineError, PathWindow, mark_name_matches};
use model::tables::{mark_stretches, marks};
use model::{Ns, Span, ThreadKey};
use std::collections::BTreeMap;

/// With fewer marks, the program is not known to be about them.
const MIN_FRAMES: i64 = 20;
/// Frames that take at least this part of the time between their begins follow each other without a pause.
const MAX_OF_DISTANCE: f64 = 0.9;
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

/// Calls `each` for every completed mark with this name and a known thread, in order of end.
fn each_frame(ctx: &RuleContext<'_>, name: &str, mut each: impl FnMut(PathWindow)) -> Result<(), EngineError> {
    ctx.each_row(mark_stretches::Table, |row| {
        let [start, end] = row.all([mark_stretches::START_NS, mark_stretches::END_NS]);
        if let (Some(thread), Some(of), true) =
            (row.get(mark_stretches::THREAD), row.get(mark_stretches::NAME), row.get(mark_stretches::ENDED))
            && start < end
            && mark_name_matches(name, of)
        {
            each(PathWindow { span: Span::new(Ns(start), Ns(end)), thread: ThreadKey(thread) });
        }
    })
}

/// The objective of the marks with this name. If their thread waits between them, each may take as long as from one begin to the next;
/// if they follow each other, all of their time counts.
pub(super) fn objective(ctx: &RuleContext<'_>, name: &str) -> Result<ObjectivePath, EngineError> {
    let (mut lengths, mut distances, mut last) = (Vec::new(), Vec::new(), BTreeMap::<i64, i64>::new());
    let mut threads = BTreeMap::new();
    each_frame(ctx, name, |frame| {
        let start = frame.span.start.0;
        add(&mut threads, frame.thread.0, 1);
        if lengths.len() < MAX_ESTIMATED {
            lengths.push(frame.span.len().0);
            distances.extend(last.insert(frame.thread.0, start).map(|before| start - before).filter(|ns| *ns > 0));
        }
    })?;
    if lengths.is_empty() {
        return Err(EngineError::Other(format!(
            "--objective marks:{name}: no thread completed a mark of this name (`corewise table TRACE marks` lists all marks)"
        )));
    }
    let (length, distance) = (median(lengths), median(distances));
    let deadline = Some(distance).filter(|distance| (length as f64) < MAX_OF_DISTANCE * *distance as f64);
    let mut late = LateWindows::default();
    each_frame(ctx, name, |frame| late.push(frame, frame.span.len().0 - deadline.unwrap_or(0)))?;
    let objective = Objective {
        name: Some(name.to_owned()),
        thread: threads.into_iter().max_by_key(|(_, count)| *count).map(|(thread, _)| thread),
        deadline_ns: deadline,
        ..Objective::of(ObjectiveKind::Marks)
    };
    ObjectivePath::of_windows(ctx, objective, late)
}

/// The median; 0 of nothing.
fn median(mut of: Vec<i64>) -> i64 {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or(0)
}
