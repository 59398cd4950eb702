//! Collects rows of tables into Arrow record batches.

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};
use model::{Kind, TableDef, Value};
use std::sync::Arc;
use store::schema;

/// The number of rows of a batch: enough that the cost of a batch does not matter, and little memory.
pub(crate) const ROWS: usize = 1 << 16;

enum Column {
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    Bool(BooleanBuilder),
}

impl Column {
    fn push(&mut self, value: &Value) {
        match (self, value) {
            (Self::Int(to), Value::Int(v)) => to.append_value(*v),
            (Self::Int(to), _) => to.append_null(),
            (Self::Float(to), Value::Float(v)) => to.append_value(*v),
            (Self::Float(to), _) => to.append_null(),
            (Self::Text(to), Value::Text(v)) => to.append_value(v),
            (Self::Text(to), _) => to.append_null(),
            (Self::Bool(to), Value::Bool(v)) => to.append_value(*v),
            (Self::Bool(to), _) => to.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Int(of) => Arc::new(of.finish()),
            Self::Float(of) => Arc::new(of.finish()),
            Self::Text(of) => Arc::new(of.finish()),
            Self::Bool(of) => Arc::new(of.finish()),
        }
    }
}

/// Collects rows into batches.
pub(crate) struct ColumnBatches {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
}

impl ColumnBatches {
    /// Begins a table.
    pub(crate) fn new(def: &TableDef) -> Self {
        let columns = def.cols.iter().map(|col| match col.kind {
            Kind::Int => Column::Int(Int64Builder::new()),
            Kind::Float => Column::Float(Float64Builder::new()),
            Kind::Text => Column::Text(StringBuilder::new()),
            Kind::Bool => Column::Bool(BooleanBuilder::new()),
        });
        Self { schema: schema(def), columns: columns.collect(), rows: 0 }
    }

    /// Adds rows; returns a batch when it is full.
    ///
    /// # Errors
    /// A row lacks a value that its column needs.
    pub(crate) fn push(&mut self, rows: &[Vec<Value>]) -> Result<Option<RecordBatch>, ArrowError> {
        for row in rows {
            for (at, column) in self.columns.iter_mut().enumerate() {
                column.push(row.get(at).unwrap_or(&Value::Null));
            }
        }
        self.rows += rows.len();
        if self.rows >= ROWS { self.finish().map(Some) } else { Ok(None) }
    }

    /// Returns the rows since the last batch.
    ///
    /// # Errors
    /// A row lacks a value that its column needs.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}
