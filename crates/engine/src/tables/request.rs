//! A table as somebody asks for it.

use crate::{EachRows, EngineError, Session};
use model::{Span, TableDef, Value, tables};
use std::io::Write;
use store::{Format, TableWriter};

/// Which table, of which part, in which shape.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its name.
    pub table: &'a str,
    /// Of this part of the recording only ([`Session::rows_within`]).
    pub span: Option<Span>,
    /// Only rows of one process, by number or by name, or of threads of this name.
    pub process: Option<&'a str>,
    /// Whether names of threads stand beside their keys ([`tables::named`]).
    pub names: bool,
}

impl<'a> Asked<'a> {
    /// All of a table, with names.
    #[must_use]
    pub fn whole(table: &'a str) -> Self {
        Self { table, span: None, process: None, names: true }
    }

    /// How it is declared in this shape.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn definition(&self, session: &Session) -> Result<&'static TableDef, EngineError> {
        session.definition(self.table).map(|def| if self.names { tables::named(def) } else { def })
    }

    /// Its rows, some thousands at a time.
    ///
    /// # Errors
    /// As [`Session::rows_within`].
    pub fn rows(&self, session: &Session, each: EachRows<'_>) -> Result<(), EngineError> {
        let def = session.definition(self.table)?;
        let of_thread: Vec<bool> = def.cols.iter().map(|c| c.of_thread).collect();
        if self.names && of_thread.contains(&true) {
            return self.of_process(session, def, &mut session.with_names(of_thread, each)?);
        }
        self.of_process(session, def, each)
    }

    /// The rows of the process that is asked for, where one is.
    fn of_process(&self, session: &Session, def: &TableDef, each: EachRows<'_>) -> Result<(), EngineError> {
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

    /// Writes it in a form; Parquet has the trace's id in its metadata.
    ///
    /// # Errors
    /// As [`Self::rows`], or it cannot be written.
    pub fn write(&self, session: &Session, format: Format, out: &mut (dyn Write + Send)) -> Result<(), EngineError> {
        let def = self.definition(session)?;
        let trace = if format == Format::Parquet { Some(session.trace()?) } else { None };
        // Begun with the first rows: where they cannot be had, nothing is written.
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
