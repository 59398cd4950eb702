//! The marks that look like frames.

use super::mark_name_matches;
use crate::{EngineError, Session};
use model::tables::marks;
use model::{FrameMarkKind, Ns, frame_mark};
use std::collections::BTreeMap;

/// Marks that look like frames ([`frame_mark`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameMarks {
    /// The name that selects them, as in [`SlowFrameOptions::mark_name`](crate::SlowFrameOptions::mark_name).
    pub name: String,
    /// Why they look like frames.
    pub kind: FrameMarkKind,
    /// The number of stretches that ended.
    pub count: i64,
}

impl Session {
    /// Returns the marks that look like frames, the surest first: by [`FrameMarkKind`], then the most frequent. Empty for a trace
    /// without such marks, or if none of them ended.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn frame_marks(&self) -> Result<Vec<FrameMarks>, EngineError> {
        if !self.has_marks() {
            return Ok(Vec::new());
        }
        let (mut counts, mut found) = (BTreeMap::<String, i64>::new(), BTreeMap::new());
        self.each(marks::Table, |row| {
            let name = row.get(marks::NAME.or_empty());
            let count = counts.entry(name.to_owned()).or_default();
            // Instants have no duration.
            if row.get(marks::DURATION_NS) > Ns::ZERO {
                *count = count.saturating_add(row.get(marks::COUNT));
            }
            if let Some((kind, name)) = frame_mark(name) {
                found.insert(name, kind);
            }
        })?;
        let count = |name: &str| {
            let of = counts.iter().filter(|(mark, _)| mark_name_matches(name, mark));
            of.fold(0i64, |sum, (_, count)| sum.saturating_add(*count))
        };
        let marks = found.into_iter().map(|(name, kind)| FrameMarks { count: count(&name), name, kind });
        let mut marks: Vec<FrameMarks> = marks.filter(|of| of.count > 0).collect();
        marks.sort_by_key(|of| (of.kind, -of.count));
        Ok(marks)
    }
}
