//! Every table, of all of a recording or a part of it: what a table is made from says who makes it.

pub(crate) mod analyses;
mod frames;
mod made;
pub(crate) mod marks;
mod names;
mod parallel;
mod process;
mod request;
mod retype;
mod rows;
mod slow_frames;
mod states;
pub(crate) mod totals;

pub(crate) use made::Made;
pub use marks::{is_called, is_named};
pub use names::Names;
pub use request::Asked;
pub use slow_frames::Slow;

use crate::{EngineError, Infer, Session};
use model::{MadeFrom, Span, Table, TableDef, Value, tables};
use rows::Batches;

/// Where a large table's rows go, some thousands at a time; `Err` ends the reading.
pub type EachRows<'a> = &'a mut dyn FnMut(&[Vec<Value>]) -> std::io::Result<()>;

impl Session {
    /// Every table that can be asked for.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static TableDef> {
        let as_here = |def: &&'static TableDef| match self.options().infer {
            Infer::Within => tables::filled(def),
            Infer::No | Infer::Apart => def,
        };
        tables::ALL.iter().map(as_here).collect()
    }

    /// Whether a table is as long as the recording, so that it is streamed ([`Self::rows`]) and never held.
    #[must_use]
    pub fn is_large(def: &TableDef) -> bool {
        def.large
    }

    /// A table's definition by name.
    ///
    /// # Errors
    /// Names the tables that there are.
    pub fn definition(&self, name: &str) -> Result<&'static TableDef, EngineError> {
        self.tables().into_iter().find(|d| d.name == name).ok_or_else(|| {
            let known: Vec<&str> = tables::ALL.iter().map(|d| d.name).collect();
            EngineError::Other(format!("no table is called {name}; there are {}", known.join(", ")))
        })
    }

    /// A small table, whole; those of a row a thread or more ([`tables::THREADS`]) are large where lives are many: ask for
    /// [`Self::rows`].
    ///
    /// # Errors
    /// There is none of this name, or the trace cannot be read.
    pub fn table(&self, name: &str) -> Result<Table, EngineError> {
        let def = self.definition(name)?;
        if Self::is_large(def) {
            return Err(EngineError::Other(format!("{name} is as long as the recording")));
        }
        let mut table = Table::new(def);
        self.rows(name, &mut |rows| {
            table.rows.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(table)
    }

    /// A small table of all of the recording, also where only a part is told.
    pub(crate) fn table_of_whole(&self, def: &'static TableDef) -> Result<Table, EngineError> {
        let mut table = Table::new(def);
        self.rows_of(def.name, None, &mut |rows| {
            table.rows.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(table)
    }

    /// The rows of any table, some thousands at a time: of the recording, or of the part of it that is told.
    ///
    /// # Errors
    /// There is none of this name, the trace cannot be read, or `each` refused.
    pub fn rows(&self, name: &str, each: EachRows<'_>) -> Result<(), EngineError> {
        self.rows_of(name, self.part(), each)
    }

    /// [`Self::rows`] of a part of the recording: of a large table and of losses those that overlap it, of sums and analyses what
    /// they are of that part.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn rows_within(&self, name: &str, span: Option<Span>, each: EachRows<'_>) -> Result<(), EngineError> {
        self.rows_of(name, span.or(self.part()), each)
    }

    /// Of a part, or (`None`) of all of the recording, whichever is asked for.
    pub(crate) fn rows_of(&self, name: &str, span: Option<Span>, each: EachRows<'_>) -> Result<(), EngineError> {
        let def = self.definition(name)?;
        let mut out = Batches::new(each);
        match def.made_from {
            MadeFrom::Totals => self.totals_rows(def, span, &mut out),
            MadeFrom::Spans => self.span_rows(def, span, &mut out),
            MadeFrom::States => self.state_rows(def, span, &mut out),
            MadeFrom::Analysis => self.analysis_rows(def, span, &mut out),
            MadeFrom::CriticalPath => self.critical(def, span, &mut out),
            MadeFrom::SlowFrames => self.slow_rows(span, &mut out),
            MadeFrom::Frames => self.frame_rows(def, span, &mut out),
            MadeFrom::Elsewhere => Err(EngineError::Other(format!("{name} is no table of a trace"))),
        }?;
        out.finish()
    }

    /// The rows of a folder, with the types of core that the user told.
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

    /// The rows of a folder's small table.
    pub(crate) fn stored_rows(
        &self,
        folder: &store::Folder,
        def: &TableDef,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        if self.options().machine.is_some() && def.name == tables::THREAD_BY_CORE_TYPE.name {
            let of = tables::THREAD_BY_CPU.name;
            let mut by_type = retype::ByCoreType::new(self.machine(), out);
            let there = folder.table_rows(of, &mut |rows| {
                by_type.push(rows);
                Ok(())
            })?;
            by_type.finish();
            return there.then_some(()).ok_or_else(|| EngineError::outdated(folder, of));
        }
        let there = folder.table_rows(def.name, &mut |rows| {
            self.retyped(def, rows, out);
            Ok(())
        })?;
        there.then_some(()).ok_or_else(|| EngineError::outdated(folder, def.name))
    }
}

/// Whether a table comes from the sums alone.
pub(crate) fn is_of_sums(def: &TableDef) -> bool {
    matches!(def.made_from, MadeFrom::Totals | MadeFrom::Spans)
}

pub(crate) fn overlaps(of: Span, span: Option<Span>) -> bool {
    span.is_none_or(|s| of.start < s.end && of.end > s.start)
}
