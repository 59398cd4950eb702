//! Tables for people and other tools: csv, json, Markdown, Parquet, a row at a time.

use crate::encoder::Encoder;
use crate::error::Error;
use crate::folder::Folder;
use crate::sheet::{Sheet, columns};
use crate::small::{RowSheet, stores};
use crate::{format_csv, format_json, format_md};
use model::{Rows, Span, Table, TableDef, Value};
use std::io::Write;
use std::path::Path;

/// The forms a table can be written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A table of Markdown, with units in its head.
    Markdown,
    /// Comma-separated values (RFC 4180), the column names in the first record.
    Csv,
    /// An array of objects.
    Json,
    /// Parquet, as in the folder.
    Parquet,
}

impl Format {
    /// All of them, in the order of `--help`.
    pub const ALL: [Self; 4] = [Self::Markdown, Self::Csv, Self::Json, Self::Parquet];

    /// Its word on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
        }
    }

    /// The form of this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.as_str() == word)
    }
}

/// Takes some rows.
pub type EachRows<'a> = &'a mut dyn FnMut(&[Vec<Value>]) -> Result<(), Error>;

/// A table's rows, from wherever they are.
pub trait RowsSource {
    /// Its declaration.
    fn def(&self) -> &'static TableDef;
    /// Hands out all rows in order, some at a time.
    ///
    /// # Errors
    /// Where they cannot be read, or what `each` says.
    fn rows(&mut self, each: EachRows<'_>) -> Result<(), Error>;
}

impl RowsSource for &Table {
    fn def(&self) -> &'static TableDef {
        self.def
    }

    fn rows(&mut self, each: EachRows<'_>) -> Result<(), Error> {
        self.rows.chunks(4096).try_for_each(each)
    }
}

/// The stretches of a folder as rows of `thread_state` or `cpu_state`.
pub struct StateRows<'a> {
    /// The folder.
    pub folder: &'a Folder,
    /// Which of the two tables.
    pub def: &'static TableDef,
    /// Only those that overlap it.
    pub span: Option<Span>,
}

impl RowsSource for StateRows<'_> {
    fn def(&self) -> &'static TableDef {
        self.def
    }

    fn rows(&mut self, each: EachRows<'_>) -> Result<(), Error> {
        self.folder.state_rows(self.def, self.span, each)
    }
}

/// Writes a table in a form. Parquet has the trace's id in its metadata, where it is given; text forms have it nowhere.
///
/// # Errors
/// Where rows cannot be read or written.
pub fn write_table(
    source: &mut dyn RowsSource,
    trace: Option<i64>,
    format: Format,
    out: &mut (dyn Write + Send),
) -> Result<(), Error> {
    let mut writer = TableWriter::new(source.def(), trace, format, out)?;
    source.rows(&mut |rows| rows.iter().try_for_each(|r| writer.push(r)))?;
    writer.finish()
}

/// A table being written in a form, for who makes its rows one by one.
pub struct TableWriter<'a> {
    def: &'static TableDef,
    format: Format,
    to: To<'a>,
    /// What went wrong in [`Rows::row`], which cannot tell.
    failed: Option<Error>,
    rows: usize,
    line: Vec<u8>,
}

enum To<'a> {
    Text(&'a mut (dyn Write + Send)),
    Parquet { sheet: Box<RowSheet<&'a mut (dyn Write + Send)>>, encoder: Box<Encoder>, trace: Option<i64> },
}

impl<'a> TableWriter<'a> {
    /// Begins a table; Parquet has the trace's id in its metadata, where it is given.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(
        def: &'static TableDef,
        trace: Option<i64>,
        format: Format,
        out: &'a mut (dyn Write + Send),
    ) -> Result<Self, Error> {
        let to = if format == Format::Parquet {
            let columns = columns(def, &stores(def), &[]);
            To::Parquet {
                trace,
                sheet: Box::new(RowSheet::new(Sheet::new(out, Path::new("output"), def, &columns)?, def)),
                encoder: Box::new(Encoder::new().map_err(|e| Error::Bug(format!("zstd: {e}")))?),
            }
        } else {
            To::Text(out)
        };
        let mut this = Self { def, format, to, failed: None, rows: 0, line: Vec::new() };
        match format {
            Format::Markdown => format_md::head(def, &mut this.line),
            Format::Csv => format_csv::head(def, &mut this.line),
            Format::Json => this.line.extend_from_slice(b"["),
            Format::Parquet => {}
        }
        this.put()?;
        Ok(this)
    }

    /// Writes a row, its values in the order of the definition's columns.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn push(&mut self, row: &[Value]) -> Result<(), Error> {
        match self.format {
            Format::Markdown => format_md::row(row, &mut self.line),
            Format::Csv => format_csv::row(row, &mut self.line),
            Format::Json => format_json::row(self.def, row, self.rows == 0, &mut self.line),
            Format::Parquet => {}
        }
        self.rows += 1;
        if let To::Parquet { sheet, encoder, .. } = &mut self.to {
            return sheet.push(row, encoder);
        }
        self.put()
    }

    /// Writes the end.
    ///
    /// # Errors
    /// Where it cannot be written, or what went wrong before.
    pub fn finish(mut self) -> Result<(), Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.format == Format::Json {
            self.line.extend_from_slice(if self.rows == 0 { b"]\n" } else { b"\n]\n" });
            self.put()?;
        }
        let format = self.format.as_str();
        let out = match self.to {
            To::Text(out) => out,
            To::Parquet { sheet, mut encoder, trace } => sheet.finish(&mut encoder)?.close(trace, &mut encoder, &[])?.0,
        };
        out.flush().map_err(|source| Error::Output { format, source })
    }

    fn put(&mut self) -> Result<(), Error> {
        let format = self.format.as_str();
        if let To::Text(out) = &mut self.to {
            out.write_all(&self.line).map_err(|source| Error::Output { format, source })?;
        }
        self.line.clear();
        Ok(())
    }
}

impl Rows for TableWriter<'_> {
    fn row(&mut self, values: &[Value]) {
        if self.failed.is_none() {
            self.failed = self.push(values).err();
        }
    }
}
