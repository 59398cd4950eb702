//! The marks of a trace that are its frames, where none are named.

use crate::failure::Failure;
use engine::{Session, SlowFrameOptions};
use model::Ns;
use model::tables::{self, marks};
use std::collections::BTreeMap;

/// The maximum number of marks that are listed.
const MAX_LISTED: usize = 12;

/// Completes the options: if neither `--frames-of` nor a frame log has the frames, the marks that look most like frames are taken.
///
/// # Errors
/// The trace cannot be read.
pub fn found(session: &Session, slow: SlowFrameOptions) -> Result<SlowFrameOptions, Failure> {
    Ok(session.found_frames(slow)?)
}

/// Describes the frames of a session in a sentence: which marks they are and how many are over the budget, or which marks there are
/// instead.
///
/// # Errors
/// The trace cannot be read.
pub fn described(session: &Session, span: Option<model::Span>) -> Result<String, Failure> {
    let path = session.path().display();
    let counts = session.frame_counts(span)?;
    match (session.frames_of(), counts) {
        (Some(name), Some(counts)) => {
            let others: Vec<String> =
                session.frame_marks()?.into_iter().map(|of| of.name).filter(|of| of != name).collect();
            let others = match others.as_slice() {
                [] => String::new(),
                some => format!("; --frames-of also takes {}", some[..some.len().min(MAX_LISTED)].join(", ")),
            };
            Ok(format!("{path}: frames are the marks '{name}': {}{others}", report::over_budget(counts)))
        }
        (None, Some(counts)) => Ok(format!("{path}: {}", report::over_budget(counts))),
        (Some(name), None) => Ok(format!("{path}: no frame '{name}' ended in this range")),
        (None, None) => Ok(format!("{path}: {}", no_frames(session)?)),
    }
}

/// Says which marks could be frames.
fn no_frames(session: &Session) -> Result<String, Failure> {
    let table = session.table(tables::MARKS.name)?;
    let mut counts = BTreeMap::<String, i64>::new();
    for row in table.rows_of(marks::Table).filter(|row| row.get(marks::DURATION_NS) > Ns::ZERO) {
        let count = counts.entry(model::words::plain(row.get(marks::NAME.or_empty()))).or_default();
        *count = count.saturating_add(row.get(marks::COUNT));
    }
    let mut names: Vec<(i64, String)> = counts.into_iter().map(|(name, count)| (count, name)).collect();
    let path = session.path().display();
    names.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let all = names.len();
    let listed: Vec<String> = names.into_iter().take(MAX_LISTED).map(|(_, name)| name).collect();
    Ok(match listed.len() {
        0 => format!(
            "the trace has no frames: the program marks nothing (`corewise record --mark frame=FILE:FUNCTION` marks each call of a \
              function); `corewise table {path} slow_intervals` has periods and requests, which need no marks"
        ),
        shown => format!(
            "no mark looks like a frame: choose one with --frames-of NAME; the marks are {}{}",
            listed.join(", "),
            if all > shown {
                format!(" and {} more (`corewise table {path} marks`)", all - shown)
            } else {
                String::new()
            }
        ),
    })
}
