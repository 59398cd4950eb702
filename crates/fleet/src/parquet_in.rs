//! Reads a Parquet file of the catalogue into rows of a table.

use crate::error::FleetError;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use model::{TableDef, Value};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;

/// Reads all rows. A column that the file lacks, since an earlier corewise wrote it, is null.
pub(crate) fn rows(path: &Path, file: File, def: &TableDef, wanted: &[&str]) -> Result<Vec<Vec<Value>>, FleetError> {
    let mut all = Vec::new();
    batches(path, file, wanted, &mut |batch| {
        all.extend(rows_of(batch, def));
        Ok(())
    })?;
    Ok(all)
}

/// Passes on the rows of a file, many at a time; only the wanted columns (empty: all).
pub(crate) fn batches(
    path: &Path,
    file: File,
    wanted: &[&str],
    each: &mut dyn FnMut(&RecordBatch) -> Result<(), FleetError>,
) -> Result<(), FleetError> {
    let damaged = |why: &dyn std::fmt::Display| FleetError::damaged(path, why);
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|why| damaged(&why))?;
    let is_wanted = |name: &str| wanted.is_empty() || wanted.contains(&name);
    let fields = reader.schema().fields().iter().enumerate();
    let roots: Vec<usize> = fields.filter(|(_, field)| is_wanted(field.name())).map(|(at, _)| at).collect();
    let mask = ProjectionMask::roots(reader.parquet_schema(), roots);
    for batch in reader.with_projection(mask).build().map_err(|why| damaged(&why))? {
        each(&batch.map_err(|why| damaged(&why))?)?;
    }
    Ok(())
}

/// The rows of a batch as a table has them.
pub(crate) fn rows_of<'a>(batch: &'a RecordBatch, def: &TableDef) -> impl Iterator<Item = Vec<Value>> + use<'a> {
    let columns: Vec<Option<&dyn Array>> =
        def.cols.iter().map(|col| batch.column_by_name(col.name).map(|of| &**of)).collect();
    (0..batch.num_rows())
        .map(move |row| columns.iter().map(|column| column.map_or(Value::Null, |column| cell(column, row))).collect())
}

/// Reads a cell; a value of a type that no corewise writes is null.
pub(crate) fn cell(column: &dyn Array, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    if let Some(of) = column.as_primitive_opt::<Int64Type>() {
        Value::Int(of.value(row))
    } else if let Some(of) = column.as_string_opt::<i32>() {
        Value::Text(of.value(row).to_owned())
    } else if let Some(of) = column.as_boolean_opt() {
        Value::Bool(of.value(row))
    } else if let Some(of) = column.as_primitive_opt::<Float64Type>() {
        Value::Float(of.value(row))
    } else if let Some(of) = column.as_primitive_opt::<Int32Type>() {
        Value::Int(of.value(row).into())
    } else if let Some(of) = column.as_dictionary_opt::<Int32Type>() {
        of.key(row).map_or(Value::Null, |key| cell(&**of.values(), key))
    } else {
        Value::Null
    }
}
