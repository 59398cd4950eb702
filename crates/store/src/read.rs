//! Reads one Parquet file of the folder into columns, a row group at a time.
//!
//! Files are not trusted: columns are looked up by name and type, the size of a row group is limited, pages have checksums, and a
//! panic of the parquet crate is reported as an error.

use crate::error::Error;
use crate::sheet::{Column, footer, types_of};
use crate::values::Values;
use model::Storage;
use model::tables::renamed;
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The maximum number of rows in a row group. A larger number means a damaged footer, and would allocate too much memory.
const MAX_GROUP_ROWS: i64 = 1 << 22;

/// A Parquet file being read.
pub(crate) struct Reader {
    path: PathBuf,
    todo: &'static str,
    file: SerializedFileReader<File>,
    /// The same file, for [`Self::decoded`].
    raw: File,
    /// The position in the file of each requested column, and how it is stored.
    columns: Vec<(usize, Storage)>,
}

/// The expected length and footer checksum of a file.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) bytes: i64,
    pub(crate) footer: u32,
}

/// Runs `read` and turns a panic into an error.
pub(crate) fn guarded<T>(path: &Path, todo: &'static str, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(Error::damaged(path, "it cannot be decoded", todo)))
}

impl Reader {
    /// Opens a file, which must have these columns.
    pub(crate) fn open(
        path: &Path,
        columns: &[Column],
        expected: Option<Expected>,
        todo: &'static str,
    ) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::damaged(path, "the file is missing", todo),
            _ => Error::io(path, "opening it")(e),
        })?;
        if let Some(expected) = expected {
            let (bytes, crc) = footer(&mut file).map_err(|e| Error::damaged(path, e, todo))?;
            if bytes as i64 != expected.bytes {
                let what = format!("it has {bytes} bytes, the manifest lists {}", expected.bytes);
                return Err(Error::damaged(path, what, todo));
            }
            if crc != expected.footer {
                return Err(Error::damaged(path, "the checksum of its footer differs from the manifest", todo));
            }
        }
        let raw = file.try_clone().map_err(Error::io(path, "opening it"))?;
        guarded(path, todo, || {
            let file = SerializedFileReader::new(file).map_err(|e| Error::damaged(path, e, todo))?;
            let schema = file.metadata().file_metadata().schema_descr();
            let find = |c: &Column| {
                let position = |name: &str| schema.columns().iter().position(|d| d.name() == name);
                let at = position(c.col.name).or_else(|| position(renamed::former_column(c.col.name)?));
                let at = at.ok_or_else(|| Error::damaged(path, format!("it has no column {}", c.col.name), todo))?;
                let descr = schema.column(at);
                let physical = types_of(c.store).0;
                let flat = descr.max_rep_level() == 0 && descr.max_def_level() <= 1;
                if descr.physical_type() != physical || !flat || (descr.max_def_level() == 1) != c.col.nullable {
                    return Err(Error::damaged(path, format!("its column {} has another type", c.col.name), todo));
                }
                Ok((at, c.store))
            };
            let columns = columns.iter().map(find).collect::<Result<Vec<_>, Error>>()?;
            Ok(Self { path: path.to_owned(), todo, file, raw, columns })
        })
    }

    /// Returns a value of the file's key-value metadata.
    pub(crate) fn about(&self, key: &str) -> Option<String> {
        let all = self.file.metadata().file_metadata().key_value_metadata()?;
        all.iter().find(|kv| kv.key == key)?.value.clone()
    }

    pub(crate) fn groups(&self) -> usize {
        self.file.num_row_groups()
    }

    pub(crate) fn damaged(&self, what: impl std::fmt::Display) -> Error {
        Error::damaged(&self.path, what, self.todo)
    }

    /// Runs `read` on this file and turns a panic into an error.
    pub(crate) fn guarded<T>(&self, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        guarded(&self.path, self.todo, read)
    }

    pub(crate) fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata()
    }

    /// Returns another descriptor of the file. Its position is shared, so only one thread may use it and this reader.
    pub(crate) fn descriptor(&self) -> Result<File, Error> {
        self.raw.try_clone().map_err(Error::io(&self.path, "opening it"))
    }

    /// The position in the file of each requested column, and how it is stored.
    pub(crate) fn columns(&self) -> &[(usize, Storage)] {
        &self.columns
    }

    /// Returns the number of rows of a row group, or an error if no writer makes such a large one.
    pub(crate) fn rows(&self, group: usize) -> Result<usize, Error> {
        let rows = self.file.metadata().row_groups().get(group).map_or(0, |group| group.num_rows());
        if !(0..=MAX_GROUP_ROWS).contains(&rows) {
            return Err(self.damaged(format!("row group {group}: it claims to have {rows} rows")));
        }
        Ok(rows as usize)
    }

    /// Returns the smallest and largest value of a 64-bit column in a row group, if the file has them.
    pub(crate) fn range(&self, group: usize, column: usize) -> Option<(i64, i64)> {
        let at = self.columns.get(column)?.0;
        let group = self.file.metadata().row_groups().get(group)?;
        match group.columns().get(at)?.statistics()? {
            Statistics::Int64(s) => Some((*s.min_opt()?, *s.max_opt()?)),
            _ => None,
        }
    }

    /// Reads the requested columns of a row group; new texts are added to `texts`.
    pub(crate) fn group(&self, group: usize, texts: &mut Texts) -> Result<(usize, Vec<Values>), Error> {
        guarded(&self.path, self.todo, || {
            let place = |e: &dyn std::fmt::Display| self.damaged(format!("row group {group}: {e}"));
            let reader = self.file.get_row_group(group).map_err(|e| place(&e))?;
            let rows = self.rows(group)?;
            let mut columns = Vec::with_capacity(self.columns.len());
            for (at, store) in &self.columns {
                let column = reader.get_column_reader(*at).map_err(|e| place(&e))?;
                let descr = reader.metadata().column(*at).column_descr_ptr();
                let bad = |e: &dyn std::fmt::Display| place(&format!("column {}: {e}", descr.name()));
                columns.push(column_values(column, *store, rows, descr.max_def_level() > 0, texts, &bad)?);
            }
            Ok((rows, columns))
        })
    }
}

/// The distinct texts read so far, over all row groups and columns, so that their numbers can be compared.
#[derive(Default)]
pub(crate) struct Texts {
    /// The texts by number; the first has number 1.
    pub(crate) names: Vec<Box<str>>,
    known: FxHashMap<Vec<u8>, u32>,
}

type Bad<'a> = &'a dyn Fn(&dyn std::fmt::Display) -> Error;

fn column_values(
    column: ColumnReader,
    store: Storage,
    rows: usize,
    nullable: bool,
    texts: &mut Texts,
    bad: Bad<'_>,
) -> Result<Values, Error> {
    macro_rules! all {
        ($reader:expr) => {{
            let mut reader = $reader;
            let (mut values, mut levels) = (Vec::new(), Vec::new());
            let mut read = 0;
            while read < rows {
                let levels = nullable.then_some(&mut levels);
                let (n, _, _) = reader.read_records(rows - read, levels, None, &mut values).map_err(|e| bad(&e))?;
                if n == 0 {
                    return Err(bad(&format!("it ends after {read} of {rows} rows")));
                }
                read += n;
            }
            (values, levels)
        }};
    }
    Ok(match (column, Values::of(store)) {
        (ColumnReader::Int64ColumnReader(r), mut to @ (Values::Long(_) | Values::Key(_))) => {
            let (values, levels) = all!(r);
            if let Values::Long(v) | Values::Key(v) = &mut to {
                *v = spread(values, &levels, nullable, i64::MIN);
            }
            to
        }
        (ColumnReader::Int32ColumnReader(r), Values::Int(_)) => {
            let (values, levels) = all!(r);
            Values::Int(spread(values, &levels, nullable, i32::MIN))
        }
        (ColumnReader::DoubleColumnReader(r), Values::Float(_)) => {
            let (values, levels) = all!(r);
            Values::Float(spread(values.into_iter().map(Some).collect(), &levels, nullable, None))
        }
        (ColumnReader::BoolColumnReader(r), Values::Bool(_)) => {
            let (values, levels) = all!(r);
            Values::Bool(spread(values.into_iter().map(Some).collect(), &levels, nullable, None))
        }
        (ColumnReader::ByteArrayColumnReader(mut r), Values::Word(_, word)) => {
            let (mut found, mut levels) = (Vec::with_capacity(rows), Vec::new());
            let (mut values, known) = (Vec::new(), Codes::of(word));
            let mut read = 0;
            while read < rows {
                // Read some at a time, since a text takes far more memory than its code.
                let some = (rows - read).min(4096);
                let levels = nullable.then_some(&mut levels);
                values.clear();
                let (n, _, _) = r.read_records(some, levels, None, &mut values).map_err(|e| bad(&e))?;
                if n == 0 {
                    return Err(bad(&format!("it ends after {read} of {rows} rows")));
                }
                known.codes(&values, &mut found, bad)?;
                read += n;
            }
            Values::Word(spread(found, &levels, nullable, crate::values::NO_WORD), word)
        }
        (ColumnReader::ByteArrayColumnReader(r), Values::Text(_)) => {
            let (values, levels) = all!(r);
            Values::Text(spread(texts.ids(&values, bad)?, &levels, nullable, 0))
        }
        _ => return Err(bad(&"it has another type")),
    })
}

/// Inserts the null value where the levels mark a row without a value.
fn spread<T: Copy>(values: Vec<T>, levels: &[i16], nullable: bool, null: T) -> Vec<T> {
    if !nullable || values.len() == levels.len() {
        return values;
    }
    let mut values = values.into_iter();
    levels.iter().map(|l| if *l == 0 { null } else { values.next().unwrap_or(null) }).collect()
}

/// Converts words to their codes.
pub(crate) struct Codes(FxHashMap<Vec<u8>, u8>);

impl Codes {
    pub(crate) fn of(word: fn(u8) -> String) -> Self {
        let mut known = FxHashMap::default();
        for code in 0..=255u8 {
            known.entry(word(code).into_bytes()).or_insert(code);
        }
        for (former, current) in renamed::VALUES {
            if let Some(code) = known.get(current.as_bytes()).copied() {
                known.entry(former.as_bytes().to_vec()).or_insert(code);
            }
        }
        Self(known)
    }

    /// Returns the code of a word, or of its former name.
    pub(crate) fn code(&self, word: &[u8]) -> Option<u8> {
        self.0.get(word).copied()
    }

    fn codes(&self, values: &[ByteArray], codes: &mut Vec<u8>, bad: Bad<'_>) -> Result<(), Error> {
        let mut last: (&[u8], u8) = (&[], 0);
        for value in values {
            let text: &[u8] = value.data();
            // Values of a dictionary share its memory, so most texts need no comparison.
            if text.is_empty() || !std::ptr::eq(text, last.0) {
                let found = self.code(text);
                last = (text, found.ok_or_else(|| bad(&format!("unknown word {:?}", String::from_utf8_lossy(text))))?);
            }
            codes.push(last.1);
        }
        Ok(())
    }
}

impl Texts {
    /// Removes all texts; their numbers become invalid.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.known.clear();
    }

    /// Returns the numbers of texts, counted from 1.
    fn ids(&mut self, values: &[ByteArray], bad: Bad<'_>) -> Result<Vec<u32>, Error> {
        let id = |v: &ByteArray| {
            if let Some(id) = self.known.get(v.data()) {
                return Ok(*id);
            }
            let text = std::str::from_utf8(v.data()).map_err(|e| bad(&e))?;
            self.names.push(text.into());
            let id = self.names.len() as u32;
            self.known.insert(v.data().to_vec(), id);
            Ok(id)
        };
        values.iter().map(id).collect()
    }
}
