//! `tables/<table>.parquet`: tables that are held in memory.

use crate::chunk::{Encoder, Values};
use crate::error::Error;
use crate::sheet::{Sheet, Store, columns};
use model::{Table, TableDef, Value};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// How the columns of a small table are stored.
pub(crate) fn stores(def: &TableDef) -> Vec<Store> {
    def.cols.iter().map(|c| Store::of(c.kind)).collect()
}

/// Writes a table's rows to a new file, of which only the end is left to write.
pub(crate) fn begin(path: &Path, table: &Table, with: &mut Encoder) -> Result<Sheet<File>, Error> {
    let mut sheet = Sheet::create(path, table.def, &columns(0, table.def, &stores(table.def), &[]))?;
    add(&mut sheet, table.def, &table.rows, with)?;
    Ok(sheet)
}

/// Adds rows as one row group.
pub(crate) fn add<W: Write + Send>(
    sheet: &mut Sheet<W>,
    def: &TableDef,
    rows: &[Vec<Value>],
    with: &mut Encoder,
) -> Result<(), Error> {
    let mut names: Vec<Box<str>> = Vec::new();
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    for (at, col) in def.cols.iter().enumerate() {
        let cells = || rows.iter().map(|r| r.get(at).unwrap_or(&Value::Null));
        if let Some(row) = cells().position(|v| !fits(v, sheet.col(at), col.nullable)) {
            let what = format!("row {row} of table {} has no {:?} in column {}", def.name, col.kind, col.name);
            return Err(Error::Bug(what));
        }
        match sheet.col(at) {
            Values::Long(to) | Values::Key(to) => to.extend(cells().map(|v| int(v).unwrap_or(i64::MIN))),
            Values::Float(to) => to.extend(cells().map(|v| if let Value::Float(v) = v { Some(*v) } else { None })),
            Values::Bool(to) => to.extend(cells().map(|v| if let Value::Bool(v) = v { Some(*v) } else { None })),
            Values::Text(to) => to.extend(cells().map(|v| {
                let Value::Text(text) = v else { return 0 };
                *known.entry(text).or_insert_with(|| {
                    names.push(text.as_str().into());
                    names.len() as u32
                })
            })),
            _ => {}
        }
    }
    sheet.flush(with, &names)
}

fn int(value: &Value) -> Option<i64> {
    if let Value::Int(v) = value { Some(*v) } else { None }
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
