//! All tables, for the whole recording or a part. [`MadeFrom`] selects the code that makes a table.

pub(crate) mod analyses;
mod batches;
mod cache;
mod columns;
mod frame_list;
mod frame_marks;
mod frames;
mod interval_sums;
mod intervals;
pub(crate) mod marks;
mod names;
mod parallel;
mod process;
mod request;
mod retype;
pub(crate) mod rows;
mod slow_frames;
mod slow_intervals;
mod states;
pub(crate) mod totals;
mod trials;

pub use batches::BatchCallback;
pub(crate) use cache::TableCache;
pub use frame_list::{FrameGroup, FrameList, FrameSource, ListedFrame};
pub use frame_marks::FrameMarks;
pub use intervals::{Interval, IntervalKind, IntervalName, SelectedInterval};
pub use marks::{mark_name_matches, mark_row_matches};
pub use names::ThreadNames;
pub use request::TableRequest;
pub use slow_frames::{FrameCounts, SlowFrameOptions};

use crate::{EngineError, Infer, Session, did_you_mean};
use model::{MadeFrom, Span, Table, TableDef, Value, tables};
use rows::Batches;

/// A callback for a table's rows, a few thousand at a time; `Err` ends the reading.
pub type RowCallback<'a> = &'a mut dyn FnMut(&[Vec<Value>]) -> std::io::Result<()>;

/// Returns the declaration of a table by name, which needs no trace. With inferred time, a trace's own definition may have a column more
/// ([`Session::definition`]).
///
/// # Errors
/// There is no such table.
pub fn declared(name: &str) -> Result<&'static TableDef, EngineError> {
    let current = tables::renamed::current_table(name);
    tables::ALL.iter().find(|d| d.name == current).copied().ok_or_else(|| {
        let known: Vec<&str> = tables::ALL.iter().map(|d| d.name).collect();
        let meant = did_you_mean(name, known.iter().copied());
        EngineError::NotFound(match meant.as_str() {
            "." => format!("there is no table {name}. The tables are {}", known.join(", ")),
            _ => format!("there is no table {name}{meant} `corewise tables` lists them"),
        })
    })
}

impl Session {
    /// All tables that can be requested.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static TableDef> {
        let declared = |def: &&'static TableDef| match self.options().infer {
            Infer::Within => tables::filled(def),
            Infer::No | Infer::Apart => def,
        };
        tables::ALL.iter().map(declared).collect()
    }

    /// Returns whether a table is as long as the recording, and therefore streamed ([`Self::rows`]) and never held in memory.
    #[must_use]
    pub fn is_large(def: &TableDef) -> bool {
        def.large
    }

    /// Returns a table's definition by name.
    ///
    /// # Errors
    /// There is no such table; the message lists the tables.
    pub fn definition(&self, name: &str) -> Result<&'static TableDef, EngineError> {
        let declared = declared(name)?;
        Ok(self.tables().into_iter().find(|d| d.name == declared.name).unwrap_or(declared))
    }

    /// Returns a small table. For tables with a row or more per thread ([`tables::THREADS`]), use [`Self::rows`], as there may be
    /// many threads.
    ///
    /// # Errors
    /// There is no such table, or the trace cannot be read.
    pub fn table(&self, name: &str) -> Result<Table, EngineError> {
        let def = self.definition(name)?;
        if Self::is_large(def) {
            return Err(EngineError::Unfit(format!(
                "the table {name} is too large to be held in memory: read its rows"
            )));
        }
        let mut table = Table::new(def);
        self.rows(name, &mut |rows| {
            table.rows.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(table)
    }

    /// Returns a small table of the whole recording, even if the session is limited to a part.
    pub(crate) fn table_of_whole(&self, def: &'static TableDef) -> Result<Table, EngineError> {
        let mut table = Table::new(def);
        self.rows_of(def.name, None, &mut |rows| {
            table.rows.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(table)
    }

    /// Passes on the rows of any table, a few thousand at a time: of the recording, or of the part to which the session is limited.
    ///
    /// ```
    /// use model::{Ns, Row, tables::cpus};
    ///
    /// # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/ftrace_text/trace.txt");
    /// let session = engine::Session::open(&path, engine::PassOptions::default())?;
    /// let mut busy = Ns::ZERO;
    /// session.rows("cpus", &mut |rows| {
    ///     busy += rows.iter().map(|row| Row::<cpus::Table>::new(row).get(cpus::BUSY_NS)).sum::<Ns>();
    ///     Ok(())
    /// })?;
    /// assert_eq!(busy.0, session.summary().busy_ns);
    /// # Ok::<(), engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// There is no such table, the trace cannot be read, or `each` failed.
    pub fn rows(&self, name: &str, each: RowCallback<'_>) -> Result<(), EngineError> {
        self.rows_of(name, self.range(), each)
    }

    /// [`Self::rows`] for a part of the recording: rows of large tables and of losses that overlap it; sums and analyses of that
    /// part.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn rows_within(&self, name: &str, span: Option<Span>, each: RowCallback<'_>) -> Result<(), EngineError> {
        self.rows_of(name, span.or(self.range()), each)
    }

    /// Passes on the rows for a part, or for the whole recording (`None`).
    pub(crate) fn rows_of(&self, name: &str, span: Option<Span>, each: RowCallback<'_>) -> Result<(), EngineError> {
        let def = self.definition(name)?;
        let mut each_row = self.redacting(def, each);
        let mut out = Batches::new(&mut each_row);
        match def.made_from {
            MadeFrom::Totals => self.totals_rows(def, span, &mut out),
            MadeFrom::Spans => self.span_rows(def, span, &mut out),
            MadeFrom::States => self.state_rows(def, span, &mut out),
            MadeFrom::Analysis => self.analysis_rows(def, span, &mut out),
            MadeFrom::CriticalPath => self.critical(def, span, &mut out),
            MadeFrom::SlowFrames => self.slow_rows(span, &mut out),
            MadeFrom::IntervalSums => self.interval_sum_rows(span, &mut out),
            MadeFrom::Intervals => self.slow_interval_rows(span, &mut out),
            MadeFrom::Frames => self.frame_rows(def, span, &mut out),
            MadeFrom::Kept => {
                self.trial_rows(&mut out);
                Ok(())
            }
            MadeFrom::Elsewhere => Err(EngineError::Unfit(format!("{name} is not a table of a trace"))),
        }?;
        out.finish()
    }

    /// Returns a callback that passes rows on without what is private, if the session is redacted.
    pub(crate) fn redacting<'a>(
        &'a self,
        def: &TableDef,
        each: RowCallback<'a>,
    ) -> impl FnMut(&[Vec<Value>]) -> std::io::Result<()> + 'a {
        let redaction = self.redaction().map(|redaction| (redaction, redaction.columns(def)));
        let redaction = redaction.filter(|(_, private)| !private.is_empty());
        let mut redacted = Vec::new();
        move |rows: &[Vec<Value>]| {
            let Some((redaction, private)) = &redaction else { return each(rows) };
            redacted.clear();
            redacted.extend_from_slice(rows);
            redacted.iter_mut().for_each(|row| redaction.row(private, row));
            each(&redacted)
        }
    }

    /// Writes a folder's rows with the core types of the machine that the user described.
    fn retyped(&self, def: &TableDef, rows: &[Vec<Value>], out: &mut Batches<'_>) {
        match &self.options().machine {
            None => out.all(rows),
            Some(_) => {
                let mut rows = rows.to_vec();
                retype::rows(def, &mut rows, self.machine());
                out.all(&rows);
            }
        }
    }

    /// Writes the rows of a small table stored in the folder.
    pub(crate) fn stored_rows(
        &self,
        folder: &store::Folder,
        def: &TableDef,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        if self.options().machine.is_some() && def.name == tables::THREAD_BY_CORE_TYPE.name {
            let of = tables::THREAD_BY_CPU.name;
            let mut by_type = retype::ByCoreType::new(self.machine(), out);
            let exists = folder.table_rows(of, &mut |rows| {
                by_type.push(rows);
                Ok(())
            })?;
            by_type.finish();
            return exists.then_some(()).ok_or_else(|| EngineError::outdated(folder, of));
        }
        let exists = folder.table_rows(def.name, &mut |rows| {
            self.retyped(def, rows, out);
            Ok(())
        })?;
        exists.then_some(()).ok_or_else(|| EngineError::outdated(folder, def.name))
    }
}

/// Returns whether a table is computed from the sums alone.
pub(crate) fn is_of_sums(def: &TableDef) -> bool {
    matches!(def.made_from, MadeFrom::Totals | MadeFrom::Spans)
}

pub(crate) fn overlaps(of: Span, span: Option<Span>) -> bool {
    span.is_none_or(|s| of.start < s.end && of.end > s.start)
}
