//! The contract between a format and who asks for it.

use crate::ExportError;
use engine::{Asked, Session};
use model::{Ns, Span, TableDef};
use std::io::Write;

/// What an export is made as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One file.
    File,
    /// A folder of files.
    Folder,
}

/// What an export carries, for the page of formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Which programs read it.
    pub read_by: &'static str,
    /// What it carries, a sentence each.
    pub carries: &'static [&'static str],
    /// What it cannot carry, a sentence each.
    pub cannot: &'static [&'static str],
}

/// How to export.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The tables wanted, by name; none: those that the format writes unasked.
    pub tables: Vec<String>,
    /// Only this span, from the start of the recording: what overlaps it, and sums over it. Whoever wants several tables of
    /// sums opens that part ([`Session::of_part`]), so that they are made once.
    pub span: Option<Span>,
    /// Leave out command lines, paths and host names.
    pub redact: bool,
    /// Names of threads beside their keys, in tables.
    pub names: bool,
}

impl Options {
    /// Whether an instant is wanted.
    #[must_use]
    pub fn has(&self, at: Ns) -> bool {
        self.span.is_none_or(|s| s.start <= at && at < s.end)
    }

    /// A table in the shape that is wanted.
    pub(crate) fn asked<'a>(&self, table: &'a str) -> Asked<'a> {
        Asked { span: self.span, names: self.names, ..Asked::whole(table) }
    }

    /// The tables to write.
    ///
    /// # Errors
    /// A table's name is unknown.
    pub fn tables(&self, session: &Session) -> Result<Vec<&'static TableDef>, ExportError> {
        if self.tables.is_empty() {
            return Ok(session.tables());
        }
        self.tables.iter().map(|name| Ok(session.definition(name)?)).collect()
    }
}

/// What is to be exported.
pub struct Job<'a> {
    /// The trace.
    pub session: &'a Session,
    /// How.
    pub options: &'a Options,
    /// Told now and then how many rows or events are written.
    pub progress: &'a mut dyn FnMut(u64),
}

/// Where an export's files go.
pub trait Outputs {
    /// Begins the next file; one of [`Shape::File`] has one, whatever the name.
    ///
    /// # Errors
    /// It cannot be made, or the one before cannot be finished.
    fn next(&mut self, name: &str) -> Result<&mut (dyn Write + Send), ExportError>;
}

/// A format that traces are written in.
pub trait Exporter: Sync {
    /// Its name on the command line.
    fn id(&self) -> &'static str;
    /// What it is for, in a line.
    fn about(&self) -> &'static str;
    /// A file or a folder.
    fn shape(&self) -> Shape;
    /// What names of its files end in.
    fn suffix(&self) -> &'static str;
    /// What it carries.
    fn offer(&self) -> Offer;
    /// Writes it.
    ///
    /// # Errors
    /// The trace cannot be read, or the output not be written.
    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError>;
}
