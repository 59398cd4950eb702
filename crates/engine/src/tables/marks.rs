//! Finds marks by their names.

use crate::session::Kind;
use crate::{EngineError, Session, did_you_mean};
use analysis::frames::TimedFrame;
use model::tables::{mark_stretches, marks};
use model::{Pid, Row, Shows, Span, TableDef, ThreadKey, Value, frame_mark, tables};

/// The maximum number of names that the message about a missing mark lists.
const MAX_LISTED: usize = 12;

/// Returns whether a mark's name matches. A final `*` matches any ending, since programs number their frames; but a name of frames
/// (`Choreographer#doFrame *`) does not match other frames (`Choreographer#doFrame - resynced to 12`, which is a part of one).
///
/// ```
/// use engine::mark_name_matches;
///
/// let matches = |mark| mark_name_matches("Choreographer#doFrame *", mark);
/// assert_eq!([matches("Choreographer#doFrame 11"), matches("Choreographer#doFrame - resynced to 12")], [true, false]);
/// assert!(mark_name_matches("Choreographer*", "Choreographer#doFrame - resynced to 12"));
/// ```
#[must_use]
pub fn mark_name_matches(name: &str, mark: &str) -> bool {
    let Some(begin) = name.strip_suffix('*') else { return mark == name };
    let is_of_frames = || frame_mark(&format!("{begin}1")).is_some_and(|(_, of)| of == name);
    mark.starts_with(begin) && (frame_mark(mark).is_none_or(|(_, of)| of == name) || !is_of_frames())
}

/// Returns whether the name in a row of a table of marks matches ([`mark_name_matches`]).
#[must_use]
pub fn mark_row_matches(name: &str, def: &TableDef, row: &[Value]) -> bool {
    matches!(def.col(marks::NAME.name()).and_then(|at| row.get(at)), Some(Value::Text(of)) if mark_name_matches(name, of))
}

fn span_of(row: &Row<'_, mark_stretches::Table>) -> Span {
    Span { start: row.get(mark_stretches::START_NS), end: row.get(mark_stretches::END_NS) }
}

/// Counts what has one name and keeps the requested one: by its number from 1, else the first.
#[derive(Clone, Copy)]
pub(super) struct Nth<T> {
    pub(super) wanted: Option<u64>,
    pub(super) count: u64,
    pub(super) found: Option<T>,
}

impl<T> Nth<T> {
    pub(super) fn of(wanted: Option<u64>) -> Self {
        Self { wanted, count: 0, found: None }
    }

    pub(super) fn next(&mut self, next: T) {
        self.count += 1;
        if self.count == self.wanted.unwrap_or(1) {
            self.found = Some(next);
        }
    }
}

impl<T> Default for Nth<T> {
    fn default() -> Self {
        Self::of(None)
    }
}

impl Session {
    /// Returns whether the trace may have events of one of these tables: a trace folder has a file for each that has rows.
    pub(crate) fn may_have_events(&self, tables: &[&str]) -> bool {
        match self.kind() {
            Kind::Folder(folder, _) => {
                tables.iter().any(|name| folder.manifest().files.contains_key(&format!("events/{name}.parquet")))
            }
            Kind::Source(_) => true,
        }
    }

    /// Returns whether the trace has marks.
    pub(crate) fn has_marks(&self) -> bool {
        match self.kind() {
            Kind::Folder(folder, _) => folder.manifest().files.contains_key("events/mark.parquet"),
            Kind::Source(of) => of.accounted.totals.marks > 0,
        }
    }

    /// Passes on the completed stretches with a name ([`mark_row_matches`]), in order of end.
    ///
    /// # Errors
    /// The trace cannot be read, or no mark has this name; the message lists the marks.
    pub(crate) fn marked(&self, name: &str, each: &mut dyn FnMut(&TimedFrame)) -> Result<(), EngineError> {
        let def = &tables::MARK_STRETCHES;
        let (mut found, shown) = (false, self.shown_name(Shows::Mark, name));
        self.rows(def.name, &mut |rows| {
            for row in rows.iter().filter(|row| mark_row_matches(&shown, def, row)) {
                found = true;
                let row = Row::<mark_stretches::Table>::new(row);
                if row.get(mark_stretches::ENDED) {
                    let pid = row.get(mark_stretches::PID).and_then(|p| i32::try_from(p).ok());
                    let thread = row.get(mark_stretches::THREAD).unwrap_or(ThreadKey::UNKNOWN);
                    each(&TimedFrame {
                        pid: pid.map_or(Pid::UNKNOWN, Pid),
                        name: row.get(mark_stretches::NAME).map(Into::into),
                        ..TimedFrame::of(span_of(&row), thread)
                    });
                }
            }
            Ok(())
        })?;
        if found { Ok(()) } else { Err(self.not_marked(name)?) }
    }

    /// Returns the time of the mark `NAME`, or of the N-th of them in order of end (`NAME#N`).
    ///
    /// # Errors
    /// The trace cannot be read, no mark has this name, or several have and no number is given; the message states how many.
    pub fn marked_span(&self, mark: &str) -> Result<Span, EngineError> {
        let numbered =
            mark.rsplit_once('#').and_then(|(name, n)| Some((name, n.parse::<u64>().ok().filter(|n| *n > 0)?)));
        // An asterisk is part of the name here.
        let shown = |name: &str| self.redaction().and_then(|of| of.shown(Shows::Mark, name));
        let (of_whole, of_numbered) = (shown(mark), numbered.and_then(|(name, _)| shown(name)));
        let of_whole = of_whole.as_deref().unwrap_or(mark);
        let of_numbered = of_numbered.as_deref().or(numbered.map(|(name, _)| name));
        let mut whole = Nth::default();
        let mut nth = Nth::of(numbered.map(|(_, n)| n));
        self.rows(tables::MARK_STRETCHES.name, &mut |rows| {
            for row in rows.iter().map(|row| Row::new(row)) {
                let span = span_of(&row);
                match row.get(mark_stretches::NAME) {
                    // The name itself may contain `#` and a number.
                    Some(of) if of == of_whole => whole.next(span),
                    of @ Some(_) if of == of_numbered => nth.next(span),
                    _ => {}
                }
            }
            Ok(())
        })?;
        let path = self.path().display();
        let (name, found) = match numbered {
            Some((name, _)) if whole.count == 0 => (name, nth),
            _ => (mark, whole),
        };
        match (found.count, found.wanted, found.found) {
            (0, ..) => Err(self.not_marked(name)?),
            (1, None, Some(span)) | (_, Some(_), Some(span)) if span.start < span.end => Ok(span),
            (1, None, Some(_)) | (_, Some(_), Some(_)) => {
                Err(EngineError::Unfit(format!("{path}: the mark {mark} has no duration")))
            }
            (count, ..) => Err(EngineError::Unfit(format!(
                "{path}: {count} marks are named {name}: select one, from '{name}#1' to '{name}#{count}' \
                 (`corewise table {path} mark_stretches` lists them)"
            ))),
        }
    }

    /// Returns the error for a missing mark, which lists the marks of the trace.
    fn not_marked(&self, name: &str) -> Result<EngineError, EngineError> {
        let marks = self.table(tables::MARKS.name)?;
        let mut names: Vec<&str> = marks.rows_of(marks::Table).filter_map(|row| row.get(marks::NAME)).collect();
        names.sort_unstable();
        names.dedup();
        let (path, listed) = (self.path().display(), names.len().min(MAX_LISTED));
        let available = match names.len() {
            0 => "the trace has no marks".to_owned(),
            all if all > listed => format!("the first of {all} names are {}, …", names[..listed].join(", ")),
            _ => format!("the names are {}", names.join(", ")),
        };
        let meant = did_you_mean(name, names.iter().copied());
        let available = if meant == "." { format!("; {available}") } else { meant };
        Ok(EngineError::NotFound(format!(
            "{path}: no mark is named {name}{available} (`corewise table {path} marks` lists all marks)"
        )))
    }
}
