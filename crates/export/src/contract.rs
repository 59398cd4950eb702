//! The contract between an export format and its caller.

use crate::ExportError;
use engine::{Session, TableRequest};
use model::{Ns, Span, TableDef};
use std::io::Write;

/// The form of an export's output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One file.
    File,
    /// A folder of files.
    Folder,
}

/// What an export format can and cannot contain, for the page of formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The programs that read it.
    pub read_by: &'static str,
    /// What it contains, one sentence each.
    pub carries: &'static [&'static str],
    /// What it cannot contain, one sentence each.
    pub cannot: &'static [&'static str],
}

/// The options of an export.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The names of the requested tables; empty: the format's default tables.
    pub tables: Vec<String>,
    /// Export only this span, in times since the start of the recording: what overlaps it, and sums over it. For several tables of
    /// sums, open that part of the trace first ([`Session::limited_to`]), so that the sums are calculated once.
    pub span: Option<Span>,
    /// Whether tables have thread names next to thread keys.
    pub names: bool,
}

impl Options {
    /// A request for a table of the exported span.
    pub(crate) fn request<'a>(&self, table: &'a str) -> TableRequest<'a> {
        TableRequest { span: self.span, names: self.names, ..TableRequest::whole(table) }
    }

    /// Returns the tables to write.
    ///
    /// # Errors
    /// If a table's name is unknown.
    pub fn tables(&self, session: &Session) -> Result<Vec<&'static TableDef>, ExportError> {
        if self.tables.is_empty() {
            return Ok(session.tables());
        }
        self.tables.iter().map(|name| Ok(session.definition(name)?)).collect()
    }
}

/// An export to be made.
pub struct Job<'a> {
    /// The trace. What is private is left out by it, if it is redacted ([`Session::redact`]).
    pub session: &'a Session,
    /// Its options.
    pub options: &'a Options,
    /// Called from time to time with the number of rows or events written so far.
    pub progress: &'a mut dyn FnMut(u64),
}

impl Job<'_> {
    /// Whether the exported span contains an instant ([`Session::events_until`]).
    #[must_use]
    pub fn has(&self, at: Ns) -> bool {
        let span = self.options.span;
        span.is_none_or(|s| s.start <= at) && (span.is_none() || at < self.session.events_until(span))
    }
}

/// The destination of an export's files.
pub trait Outputs {
    /// Starts the next file. A [`Shape::File`] has one file, and ignores the name.
    ///
    /// # Errors
    /// If it cannot be created, or the previous file cannot be finished.
    fn next(&mut self, name: &str) -> Result<&mut (dyn Write + Send), ExportError>;
}

/// An export format.
pub trait Exporter: Sync {
    /// Its name on the command line.
    fn id(&self) -> &'static str;
    /// Its purpose, in one line.
    fn about(&self) -> &'static str;
    /// Whether it is a file or a folder.
    fn shape(&self) -> Shape;
    /// The ending of its files' names.
    fn suffix(&self) -> &'static str;
    /// What it can and cannot contain.
    fn offer(&self) -> Offer;
    /// Writes the export.
    ///
    /// # Errors
    /// If the trace cannot be read, or the output cannot be written.
    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError>;
}
