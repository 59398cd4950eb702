//! `tables/<table>.parquet`: small tables, written row by row.

use crate::encoder::Encoder;
use crate::error::Error;
use crate::sheet::{Disk, Sheet, columns, storage_of};
use crate::values::Values;
use model::{Rows, Storage, TableDef, Value};
use rustc_hash::FxHashMap;
use safefs::Dir;
use std::io::Write;

/// The number of rows in a row group.
const GROUP_ROWS: usize = 1 << 14;

/// Returns how the columns of a small table are stored.
pub(crate) fn stores(def: &TableDef) -> Vec<Storage> {
    def.cols.iter().map(|c| storage_of(c.kind)).collect()
}

/// A table being written row by row.
pub(crate) struct RowSheet<W: Write + Send> {
    sheet: Sheet<W>,
    def: &'static TableDef,
    rows: usize,
    /// The distinct texts of this row group.
    names: Vec<Box<str>>,
    known: FxHashMap<Box<str>, u32>,
}

impl RowSheet<Disk> {
    /// Creates a new file.
    pub(crate) fn create(folder: &Dir, name: &str, def: &'static TableDef) -> Result<Self, Error> {
        Ok(Self::new(Sheet::create(folder, name, def, &columns(def, &stores(def), &[]))?, def))
    }
}

impl<W: Write + Send> RowSheet<W> {
    /// Returns a writer of rows to this sheet.
    pub(crate) fn new(sheet: Sheet<W>, def: &'static TableDef) -> Self {
        Self { sheet, def, rows: 0, names: Vec::new(), known: FxHashMap::default() }
    }

    /// Adds a row, its values in the order of the definition's columns.
    pub(crate) fn push(&mut self, row: &[Value], with: &mut Encoder) -> Result<(), Error> {
        for (at, col) in self.def.cols.iter().enumerate() {
            let value = row.get(at).unwrap_or(&Value::Null);
            let to = self.sheet.col(at);
            if !fits(value, to, col.nullable) {
                let (row, table) = (self.rows, self.def.name);
                return Err(Error::Bug(format!(
                    "row {row} of table {table} has no {:?} in column {}",
                    col.kind, col.name
                )));
            }
            match (to, value) {
                (Values::Long(to) | Values::Key(to), Value::Int(v)) => to.push(*v),
                (Values::Long(to) | Values::Key(to), _) => to.push(i64::MIN),
                (Values::Float(to), value) => to.push(if let Value::Float(v) = value { Some(*v) } else { None }),
                (Values::Bool(to), value) => to.push(if let Value::Bool(v) = value { Some(*v) } else { None }),
                (Values::Text(to), Value::Text(text)) => to.push(text_number(text, &mut self.names, &mut self.known)),
                (Values::Text(to), _) => to.push(0),
                _ => {}
            }
        }
        self.rows += 1;
        if self.sheet.rows() >= GROUP_ROWS { self.flush(with) } else { Ok(()) }
    }

    /// Writes the remaining rows and returns the sheet, which is still to be closed.
    pub(crate) fn finish(mut self, with: &mut Encoder) -> Result<Sheet<W>, Error> {
        self.flush(with)?;
        Ok(self.sheet)
    }

    fn flush(&mut self, with: &mut Encoder) -> Result<(), Error> {
        self.sheet.flush(with, &self.names)?;
        self.names.clear();
        self.known.clear();
        Ok(())
    }
}

/// Writes rows and keeps the first error, because [`Rows::row`] cannot return one.
pub(crate) struct RowSink<'a> {
    pub(crate) sheet: RowSheet<Disk>,
    pub(crate) encoder: &'a mut Encoder,
    pub(crate) failed: Result<(), Error>,
}

impl Rows for RowSink<'_> {
    fn row(&mut self, values: &[Value]) {
        if self.failed.is_ok() {
            self.failed = self.sheet.push(values, self.encoder);
        }
    }
}

/// Returns the number of a text, counted from 1; a new text is added to `names`.
fn text_number(text: &str, names: &mut Vec<Box<str>>, known: &mut FxHashMap<Box<str>, u32>) -> u32 {
    if let Some(number) = known.get(text) {
        return *number;
    }
    names.push(text.into());
    known.insert(text.into(), names.len() as u32);
    names.len() as u32
}

fn fits(value: &Value, to: &Values, nullable: bool) -> bool {
    matches!(
        (value, to),
        (Value::Int(_), Values::Long(_) | Values::Key(_))
            | (Value::Float(_), Values::Float(_))
            | (Value::Text(_), Values::Text(_))
            | (Value::Bool(_), Values::Bool(_))
    ) || (nullable && *value == Value::Null)
}
