//! Stretches that programs marked, found by what they are called.

use crate::session::Kind;
use crate::{EngineError, Session};
use analysis::frames::Marked;
use model::tables::{mark_stretches, marks};
use model::{Ns, Pid, Row, Span, TableDef, ThreadKey, Value, tables};

/// So many names are told where the one that was asked for is not there.
const MOST_TOLD: usize = 12;

/// Whether a mark is called so, or begins so where that ends in `*`: programs number their frames.
#[must_use]
pub fn is_called(name: &str, mark: &str) -> bool {
    name.strip_suffix('*').map_or(mark == name, |begin| mark.starts_with(begin))
}

/// Whether a row of a table of marks is of a name ([`is_called`]).
#[must_use]
pub fn is_named(name: &str, def: &TableDef, row: &[Value]) -> bool {
    matches!(def.col(marks::NAME.name()).and_then(|at| row.get(at)), Some(Value::Text(of)) if is_called(name, of))
}

fn span_of(row: &Row<'_, mark_stretches::Table>) -> Span {
    Span { start: Ns(row.get(mark_stretches::START_NS)), end: Ns(row.get(mark_stretches::END_NS)) }
}

/// Stretches of one name, and the one of them that is wanted: by its number from 1, else the first.
#[derive(Default)]
struct Nth {
    wanted: Option<u64>,
    count: u64,
    span: Option<Span>,
}

impl Nth {
    fn next(&mut self, span: Span) {
        self.count += 1;
        if self.count == self.wanted.unwrap_or(1) {
            self.span = Some(span);
        }
    }
}

impl Session {
    /// Whether any program marked anything.
    pub(crate) fn has_marks(&self) -> bool {
        match self.kind() {
            Kind::Folder(folder, _) => folder.manifest().files.contains_key("events/mark.parquet"),
            Kind::Source(of) => of.accounted.totals.marks > 0,
        }
    }

    /// The stretches marked so ([`is_named`]) that ended, in order of end.
    ///
    /// # Errors
    /// The trace cannot be read, or nothing is marked so: which marks there are is told.
    pub(crate) fn marked(&self, name: &str, each: &mut dyn FnMut(&Marked)) -> Result<(), EngineError> {
        let def = &tables::MARK_STRETCHES;
        let mut found = false;
        self.rows(def.name, &mut |rows| {
            for row in rows.iter().filter(|row| is_named(name, def, row)) {
                found = true;
                let row = Row::<mark_stretches::Table>::new(row);
                if row.get(mark_stretches::ENDED) {
                    let pid = row.get(mark_stretches::PID).and_then(|p| i32::try_from(p).ok());
                    each(&Marked {
                        span: span_of(&row),
                        thread: row.get(mark_stretches::THREAD).map_or(ThreadKey::UNKNOWN, ThreadKey),
                        pid: pid.map_or(Pid::UNKNOWN, Pid),
                        name: row.get(mark_stretches::NAME).map(Into::into),
                    });
                }
            }
            Ok(())
        })?;
        if found { Ok(()) } else { Err(self.not_marked(name)?) }
    }

    /// When the stretch was that is marked so, or that a number behind `#` names: the N-th marked so in order of end.
    ///
    /// # Errors
    /// The trace cannot be read, nothing is marked so, or it is not said which of several: how many there are is told.
    pub fn marked_span(&self, mark: &str) -> Result<Span, EngineError> {
        let numbered =
            mark.rsplit_once('#').and_then(|(name, n)| Some((name, n.parse::<u64>().ok().filter(|n| *n > 0)?)));
        let mut whole = Nth::default();
        let mut nth = Nth { wanted: numbered.map(|(_, n)| n), ..Nth::default() };
        self.rows(tables::MARK_STRETCHES.name, &mut |rows| {
            for row in rows.iter().map(|row| Row::new(row)) {
                let span = span_of(&row);
                match row.get(mark_stretches::NAME) {
                    // A name may hold a number itself.
                    Some(of) if of == mark => whole.next(span),
                    Some(of) if numbered.is_some_and(|(name, _)| of == name) => nth.next(span),
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
        match (found.count, found.wanted, found.span) {
            (0, ..) => Err(self.not_marked(name)?),
            (1, None, Some(span)) | (_, Some(_), Some(span)) if span.start < span.end => Ok(span),
            (1, None, Some(_)) | (_, Some(_), Some(_)) => {
                Err(EngineError::Other(format!("{path}: the stretch {mark} lasts no time")))
            }
            (count, ..) => Err(EngineError::Other(format!(
                "{path}: {count} stretches of it are marked {name}: say which, from '{name}#1' to '{name}#{count}' \
                 (`corewise table {path} mark_stretches` lists them)"
            ))),
        }
    }

    /// A sentence on which marks there are.
    fn not_marked(&self, name: &str) -> Result<EngineError, EngineError> {
        let marks = self.table(tables::MARKS.name)?;
        let mut names: Vec<&str> = marks.rows_of(marks::Table).filter_map(|row| row.get(marks::NAME)).collect();
        names.sort_unstable();
        names.dedup();
        let (path, told) = (self.path().display(), names.len().min(MOST_TOLD));
        let there = match names.len() {
            0 => "it has no marks".to_owned(),
            all if all > told => format!("of {all} marks there are {}, …", names[..told].join(", ")),
            _ => format!("there are {}", names.join(", ")),
        };
        let list = "lists what is marked";
        Ok(EngineError::Other(format!(
            "{path}: no stretch of it is marked {name}; {there} (`corewise table {path} marks` {list})"
        )))
    }
}
