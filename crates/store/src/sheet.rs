//! One Parquet file that grows by row groups: the columns of a [`TableDef`].

use crate::encoder::{Columns, Encoder, PendingGroup};
use crate::error::Error;
use crate::manifest::FileInfo;
use crate::values::{Values, reserved};
use arrow_schema::{DataType, Field, Schema};
use model::{Col, Kind, Storage, TableDef};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use safefs::Dir;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The metadata key of the trace's id, a decimal number.
pub const TRACE_KEY: &str = "corewise.trace";

/// Returns how a column of a small table is stored.
pub(crate) fn storage_of(kind: Kind) -> Storage {
    match kind {
        Kind::Int => Storage::Key,
        Kind::Float => Storage::Float,
        Kind::Text => Storage::Text,
        Kind::Bool => Storage::Bool,
    }
}

/// Returns the type of a column in a file, and in memory.
pub(crate) fn types_of(storage: Storage) -> (Physical, DataType) {
    match storage {
        Storage::Long | Storage::Key => (Physical::INT64, DataType::Int64),
        Storage::Int => (Physical::INT32, DataType::Int32),
        Storage::Word(_) | Storage::Text => (Physical::BYTE_ARRAY, DataType::Utf8),
        Storage::Float => (Physical::DOUBLE, DataType::Float64),
        Storage::Bool => (Physical::BOOLEAN, DataType::Boolean),
    }
}

/// A column and how it is stored.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) col: Col,
    pub(crate) store: Storage,
}

/// Returns the columns of a file: those of the definition, then `more`.
pub(crate) fn columns(def: &TableDef, stores: &[Storage], more: &[Column]) -> Vec<Column> {
    let own = def.cols.iter().zip(stores).map(|(col, store)| Column { col: *col, store: *store });
    own.chain(more.iter().copied()).collect()
}

/// If zstd did not shrink a column, it is skipped for this many row groups, since a try takes as long as the encoding.
const DENSE: u8 = 7;

/// The size of the write buffer. The parquet crate writes 8 KiB at a time; a larger buffer is slower (see `account`'s rows).
const WRITE_BUFFER: usize = 256 << 10;

/// A buffered file.
pub(crate) type Disk = BufWriter<File>;

/// A Parquet file being written.
pub(crate) struct Sheet<W: Write + Send> {
    path: PathBuf,
    writer: SerializedFileWriter<W>,
    about: About,
    columns: Vec<Values>,
    /// The previous row group, still being encoded.
    pending: Option<PendingGroup>,
    stray: Values,
    rows_written: i64,
    /// For each column, the number of row groups for which zstd is still skipped.
    dense: Vec<u8>,
}

impl Sheet<Disk> {
    /// Creates a file in a folder; an existing file is an error.
    pub(crate) fn create(folder: &Dir, name: &str, def: &TableDef, columns: &[Column]) -> Result<Self, Error> {
        let path = folder.path().join(name);
        let file = folder.create(name).map_err(Error::io(&path, "creating it"))?;
        Self::new(BufWriter::with_capacity(WRITE_BUFFER, file), &path, def, columns)
    }

    /// Like [`Sheet::close`], and returns the rows, length and checksum of the file.
    pub(crate) fn close_file(self, trace: i64, encoder: &mut Encoder, names: &[Box<str>]) -> Result<Done, Error> {
        let path = self.path.clone();
        let (file, rows) = self.close(Some(trace), encoder, names)?;
        let mut file = file.into_inner().map_err(|e| Error::io(&path, "writing it")(e.into_error()))?;
        let (bytes, footer) = footer(&mut file).map_err(Error::io(&path, "reading its footer"))?;
        Ok(Done { rows, bytes: bytes as i64, footer })
    }
}

/// A finished file.
pub(crate) struct Done {
    pub(crate) rows: i64,
    pub(crate) bytes: i64,
    /// Checksum of its footer.
    pub(crate) footer: u32,
}

impl From<Done> for FileInfo {
    fn from(done: Done) -> Self {
        Self { rows: done.rows, bytes: done.bytes, footer_crc32: done.footer }
    }
}

/// Returns the length of a Parquet file and the CRC-32 of its footer, which has no checksum of its own.
pub(crate) fn footer(file: &mut File) -> std::io::Result<(u64, u32)> {
    let bytes = file.seek(SeekFrom::End(0))?;
    let mut tail = [0; 8];
    file.seek(SeekFrom::Start(bytes.saturating_sub(8)))?;
    file.read_exact(&mut tail)?;
    let [a, b, c, d, ..] = tail;
    let length = u64::from(u32::from_le_bytes([a, b, c, d])).saturating_add(8).min(bytes);
    file.seek(SeekFrom::Start(bytes - length))?;
    let mut all = Vec::new();
    file.take(length).read_to_end(&mut all)?;
    Ok((bytes, crc32fast::hash(&all)))
}

impl<W: Write + Send> Sheet<W> {
    /// Starts a file written to `out`; `path` is only used in errors.
    pub(crate) fn new(out: W, path: &Path, def: &TableDef, columns: &[Column]) -> Result<Self, Error> {
        let properties = WriterProperties::builder()
            .set_created_by(concat!("corewise ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let about = About::new(def, columns);
        let schema = schema(def, columns).map_err(|e| Error::Bug(e.to_string()))?;
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(|e| wrote(path, e))?;
        let columns: Vec<Values> = columns.iter().map(|c| Values::of(c.store)).collect();
        Ok(Self {
            path: path.to_owned(),
            writer,
            about,
            dense: vec![0; columns.len()],
            columns,
            pending: None,
            stray: Values::Bool(Vec::new()),
            rows_written: 0,
        })
    }

    /// Returns the values of a column that are not written yet.
    pub(crate) fn col(&mut self, at: usize) -> &mut Values {
        self.columns.get_mut(at).unwrap_or(&mut self.stray)
    }

    /// Returns the number of rows that are not written yet.
    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, Values::len)
    }

    /// Starts to write the rows added so far as one row group.
    pub(crate) fn flush(&mut self, encoder: &mut Encoder, names: &[Box<str>]) -> Result<(), Error> {
        let rows = self.rows();
        if self.columns.iter().any(|column| column.len() != rows) {
            return Err(Error::Bug(format!("columns of different lengths in {}", self.path.display())));
        }
        if rows == 0 {
            return Ok(());
        }
        let empty = self.columns.iter().map(Values::empty).collect();
        let values = std::mem::replace(&mut self.columns, empty);
        let zstd: Vec<bool> = self.dense.iter().map(|groups| *groups == 0).collect();
        let descr = self.writer.schema_descr().columns();
        let begun = encoder.begin(Columns { descr, values, rows, names, zstd: &zstd });
        self.rows_written += rows as i64;
        // The next row group is encoded while the previous one is written.
        match self.pending.replace(begun) {
            Some(before) => self.write(before),
            None => Ok(()),
        }
    }

    /// Waits for a row group to be encoded and writes it; its columns are reused.
    fn write(&mut self, encoded: PendingGroup) -> Result<(), Error> {
        let write = || {
            let (chunks, mut values) = encoded.finish()?;
            values.iter_mut().for_each(Values::clear);
            self.columns = values;
            let mut group = self.writer.next_row_group()?;
            for ((bytes, close), dense) in chunks.into_iter().zip(&mut self.dense) {
                let shrunk = close.metadata.compression() != Compression::UNCOMPRESSED;
                *dense = if shrunk { 0 } else { dense.checked_sub(1).unwrap_or(DENSE) };
                group.append_column(&bytes, close)?;
            }
            group.close()
        };
        write().map(drop).map_err(|e| wrote(&self.path, e))
    }

    /// Writes the pending row group after the last row, and frees the memory of all columns.
    pub(crate) fn flush_pending(&mut self) -> Result<(), Error> {
        if let Some(last) = self.pending.take() {
            self.write(last)?;
        }
        self.columns = self.columns.iter().map(Values::empty).collect();
        Ok(())
    }

    /// Writes the remaining rows and the footer, with the trace's id if given; returns the number of rows of the file.
    pub(crate) fn close(
        mut self,
        trace: Option<i64>,
        encoder: &mut Encoder,
        names: &[Box<str>],
    ) -> Result<(W, i64), Error> {
        self.flush(encoder, names)?;
        self.flush_pending()?;
        for entry in self.about.entries(trace) {
            self.writer.append_key_value_metadata(entry);
        }
        let out = self.writer.into_inner().map_err(|e| wrote(&self.path, e))?;
        Ok((out, self.rows_written))
    }
}

/// Column setters: each adds values to the column at `at`. Values of another kind than the column's are ignored, and
/// [`Sheet::flush`] then reports the different lengths.
impl<W: Write + Send> Sheet<W> {
    /// Adds to a 64-bit column.
    #[inline]
    pub(crate) fn longs(&mut self, at: usize, values: impl Iterator<Item = i64>) {
        self.col(at).longs(values);
    }

    /// Adds to a 32-bit column.
    #[inline]
    pub(crate) fn ints(&mut self, at: usize, values: impl Iterator<Item = i32>) {
        self.col(at).ints(values);
    }

    /// Adds a number to a 32- or 64-bit column; `None` is null.
    #[inline]
    pub(crate) fn number(&mut self, at: usize, value: Option<i64>) {
        self.col(at).number(value);
    }

    /// Adds to a column of words.
    #[inline]
    pub(crate) fn words(&mut self, at: usize, values: impl Iterator<Item = u8>) {
        if let Values::Word(v, _) = self.col(at) {
            reserved(v).extend(values);
        }
    }

    /// Adds to a column of doubles.
    pub(crate) fn floats(&mut self, at: usize, values: impl Iterator<Item = f64>) {
        if let Values::Float(v) = self.col(at) {
            v.extend(values.map(Some));
        }
    }

    /// Adds to a column of truth values.
    pub(crate) fn bools(&mut self, at: usize, values: impl Iterator<Item = bool>) {
        if let Values::Bool(v) = self.col(at) {
            v.extend(values.map(Some));
        }
    }

    /// Adds to a column of texts.
    #[inline]
    pub(crate) fn texts(&mut self, at: usize, values: impl Iterator<Item = u32>) {
        if let Values::Text(v) = self.col(at) {
            reserved(v).extend(values);
        }
    }
}

/// Converts an error of the parquet crate while writing, which is nearly always the file system's.
fn wrote(path: &Path, error: parquet::errors::ParquetError) -> Error {
    Error::Io { path: path.to_owned(), what: "writing it", source: std::io::Error::other(error) }
}

fn repetition(col: &Col) -> Repetition {
    if col.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED }
}

fn schema(def: &TableDef, columns: &[Column]) -> parquet::errors::Result<TypePtr> {
    let fields = columns.iter().map(|c| {
        let (physical, _) = types_of(c.store);
        let logical = (physical == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let field = Type::primitive_type_builder(c.col.name, physical);
        Ok(Arc::new(field.with_repetition(repetition(&c.col)).with_logical_type(logical).build()?))
    });
    let fields = fields.collect::<parquet::errors::Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder(def.name).with_fields(fields).build()?))
}

/// The metadata of a file: the table's documentation, and the Arrow schema with the documentation of each column. It is written when
/// the file is closed, because the trace's id depends on the whole source.
struct About {
    fields: Vec<Field>,
    entries: Vec<(&'static str, String)>,
}

impl About {
    fn new(def: &TableDef, columns: &[Column]) -> Self {
        let field = |c: &Column| {
            let words = [("unit", c.col.unit), ("doc", c.col.doc)];
            let words = words.iter().filter(|(_, w)| !w.is_empty()).map(|(k, w)| ((*k).to_owned(), (*w).to_owned()));
            Field::new(c.col.name, types_of(c.store).1, c.col.nullable).with_metadata(words.collect::<HashMap<_, _>>())
        };
        let entries = vec![
            ("corewise.table", def.name.to_owned()),
            ("corewise.version", def.version.to_string()),
            ("corewise.doc", def.doc.to_owned()),
            ("corewise.key", def.key.join(",")),
        ];
        Self { fields: columns.iter().map(field).collect(), entries }
    }

    fn entries(self, trace: Option<i64>) -> impl Iterator<Item = KeyValue> {
        let trace = trace.map(|trace| (TRACE_KEY, trace.to_string()));
        let own: Vec<_> = self.entries.into_iter().chain(trace).collect();
        // Some readers only provide what is in the schema.
        let all: HashMap<String, String> = own.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let arrow = parquet::arrow::encode_arrow_schema(&Schema::new_with_metadata(self.fields, all));
        let own = own.into_iter().map(|(k, v)| KeyValue::new(k.to_owned(), v));
        own.chain([KeyValue::new("ARROW:schema".to_owned(), arrow)])
    }
}
