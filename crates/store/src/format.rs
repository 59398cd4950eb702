//! Writes tables as csv, json, Markdown or Parquet, row by row.

use crate::encoder::Encoder;
use crate::error::Error;
use crate::folder::Folder;
use crate::sheet::{Sheet, columns};
use crate::small::{RowSheet, stores};
use crate::{format_csv, format_json, format_md};
use model::{Rows, Span, Table, TableDef, Value};
use std::io::Write;
use std::path::Path;

/// The formats that a table can be written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A Markdown table, with units in its header.
    Markdown,
    /// Comma-separated values (RFC 4180), the column names in the first record.
    Csv,
    /// A JSON array of objects.
    Json,
    /// Parquet, as in the trace folder.
    Parquet,
}

impl Format {
    /// All formats, in the order of `--help`.
    pub const ALL: [Self; 4] = [Self::Markdown, Self::Csv, Self::Json, Self::Parquet];

    /// Returns the format's name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
        }
    }

    /// Returns the format of this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.as_str() == word)
    }
}

/// A callback that takes some rows.
pub type EachRows<'a> = &'a mut dyn FnMut(&[Vec<Value>]) -> Result<(), Error>;

/// A table whose rows can be read in order.
pub trait RowsSource {
    /// Returns the table's definition.
    fn def(&self) -> &'static TableDef;
    /// Passes all rows to `each` in order, some at a time.
    ///
    /// # Errors
    /// If the rows cannot be read, or `each` fails.
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
    /// Only the stretches that overlap this span; `None` for all.
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

/// Writes a table in a format. Parquet gets the trace's id in its metadata, if given; the text formats do not contain it.
///
/// # Errors
/// If rows cannot be read or written.
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

/// Writes a table in a format, row by row.
pub struct TableWriter<'a> {
    def: &'static TableDef,
    format: Format,
    output: Output<'a>,
    /// The first error in [`Rows::row`], which cannot return one.
    failed: Option<Error>,
    rows: usize,
    line: Vec<u8>,
}

enum Output<'a> {
    Text(&'a mut (dyn Write + Send)),
    Parquet { sheet: Box<RowSheet<&'a mut (dyn Write + Send)>>, encoder: Box<Encoder>, trace: Option<i64> },
}

impl<'a> TableWriter<'a> {
    /// Writes the start of a table. Parquet gets the trace's id in its metadata, if given.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(
        def: &'static TableDef,
        trace: Option<i64>,
        format: Format,
        out: &'a mut (dyn Write + Send),
    ) -> Result<Self, Error> {
        let output = if format == Format::Parquet {
            let columns = columns(def, &stores(def), &[]);
            Output::Parquet {
                trace,
                sheet: Box::new(RowSheet::new(Sheet::new(out, Path::new("output"), def, &columns)?, def)),
                encoder: Box::new(Encoder::new().map_err(|e| Error::Bug(format!("zstd: {e}")))?),
            }
        } else {
            Output::Text(out)
        };
        let mut this = Self { def, format, output, failed: None, rows: 0, line: Vec::new() };
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
    /// If it cannot be written.
    pub fn push(&mut self, row: &[Value]) -> Result<(), Error> {
        match self.format {
            Format::Markdown => format_md::row(row, &mut self.line),
            Format::Csv => format_csv::row(row, &mut self.line),
            Format::Json => format_json::row(self.def, row, self.rows == 0, &mut self.line),
            Format::Parquet => {}
        }
        self.rows += 1;
        if let Output::Parquet { sheet, encoder, .. } = &mut self.output {
            return sheet.push(row, encoder);
        }
        self.put()
    }

    /// Writes the end of the table.
    ///
    /// # Errors
    /// If it cannot be written, or an earlier row failed.
    pub fn finish(mut self) -> Result<(), Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.format == Format::Json {
            self.line.extend_from_slice(if self.rows == 0 { b"]\n" } else { b"\n]\n" });
            self.put()?;
        }
        let format = self.format.as_str();
        let out = match self.output {
            Output::Text(out) => out,
            Output::Parquet { sheet, mut encoder, trace } => {
                sheet.finish(&mut encoder)?.close(trace, &mut encoder, &[])?.0
            }
        };
        out.flush().map_err(|source| Error::Output { format, source })
    }

    fn put(&mut self) -> Result<(), Error> {
        let format = self.format.as_str();
        if let Output::Text(out) = &mut self.output {
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
