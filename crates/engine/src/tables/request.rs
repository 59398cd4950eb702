//! A request for a table.

use crate::{EngineError, RowCallback, Session};
use model::{Span, TableDef, Value, tables};
use std::io::Write;
use store::{Format, TableWriter};

/// A request for a table: which table, which part, with or without names.
///
/// ```
/// use engine::{Format, PassOptions, Session, TableRequest};
///
/// # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/ftrace_text/trace.txt");
/// let session = Session::open(&path, PassOptions::default())?;
/// let mut csv = Vec::new();
/// TableRequest::whole("threads").write(&session, Format::Csv, &mut csv)?;
/// assert!(csv.starts_with(b"thread,"));
/// # Ok::<(), engine::EngineError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TableRequest<'a> {
    /// The table's name.
    pub table: &'a str,
    /// Only this part of the recording ([`Session::rows_within`]).
    pub span: Option<Span>,
    /// Only rows of one process, by PID or name, or of threads with this name.
    pub process: Option<&'a str>,
    /// Whether to add the names of threads after their keys ([`tables::named`]).
    pub names: bool,
}

impl<'a> TableRequest<'a> {
    /// Requests a whole table, with names.
    #[must_use]
    pub fn whole(table: &'a str) -> Self {
        Self { table, span: None, process: None, names: true }
    }

    /// Returns the table's definition, with the columns of names if requested.
    ///
    /// # Errors
    /// There is no such table.
    pub fn definition(&self, session: &Session) -> Result<&'static TableDef, EngineError> {
        session.definition(self.table).map(|def| if self.names { tables::named(def) } else { def })
    }

    /// Passes on the rows, a few thousand at a time.
    ///
    /// # Errors
    /// As [`Session::rows_within`].
    pub fn rows(&self, session: &Session, each: RowCallback<'_>) -> Result<(), EngineError> {
        let def = session.definition(self.table)?;
        let of_thread: Vec<bool> = def.cols.iter().map(|c| c.is_thread_key).collect();
        if self.names && of_thread.contains(&true) {
            return self.rows_of_process(session, def, &mut session.with_names(of_thread, each)?);
        }
        self.rows_of_process(session, def, each)
    }

    /// Passes on the rows of the requested process, or all rows.
    fn rows_of_process(&self, session: &Session, def: &TableDef, each: RowCallback<'_>) -> Result<(), EngineError> {
        let Some(process) = self.process else {
            return session.rows_within(self.table, self.span, each);
        };
        let of = session.process(process, def)?;
        let mut wanted = Vec::new();
        session.rows_within(self.table, self.span, &mut |rows| {
            wanted.clear();
            wanted.extend(rows.iter().filter(|row| of.has(row)).cloned());
            if wanted.is_empty() { Ok(()) } else { each(&wanted) }
        })
    }

    /// Writes the table in a format. Parquet files have the trace's id in their metadata.
    ///
    /// # Errors
    /// Those of [`Self::rows`], or the output cannot be written.
    pub fn write(&self, session: &Session, format: Format, out: &mut (dyn Write + Send)) -> Result<(), EngineError> {
        let def = self.definition(session)?;
        let trace = if format == Format::Parquet { Some(session.trace()?) } else { None };
        // Writing starts with the first rows, so that nothing is written if they cannot be read.
        let (mut out, mut begun, mut failed) = (Some(out), None, Ok(()));
        let mut push = |rows: &[Vec<Value>]| -> Result<(), EngineError> {
            if let Some(out) = out.take() {
                begun = Some(TableWriter::new(def, trace, format, out)?);
            }
            Ok(begun.iter_mut().try_for_each(|writer| rows.iter().try_for_each(|row| writer.push(row)))?)
        };
        let read = self.rows(session, &mut |rows| {
            failed = push(rows);
            if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        });
        let none = read.is_ok().then(|| push(&[]));
        failed?;
        read?;
        none.transpose()?;
        Ok(begun.map_or(Ok(()), TableWriter::finish)?)
    }
}
