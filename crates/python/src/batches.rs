//! Rows of tables as Arrow record batches.

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use model::{Kind, TableDef, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The number of rows of a batch: enough that the cost of a batch does not matter, and little memory.
pub const ROWS: usize = 1 << 16;

/// Returns the Arrow schema of a table. Units and documentation are in the metadata of its fields, as in the Parquet files of a trace folder.
pub fn schema(def: &TableDef) -> SchemaRef {
    let fields = def.cols.iter().map(|col| {
        let kind = match col.kind {
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Text => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
        };
        let mut about = HashMap::from([("doc".to_owned(), col.doc.to_owned())]);
        if !col.unit.is_empty() {
            about.insert("unit".to_owned(), col.unit.to_owned());
        }
        Field::new(col.name, kind, col.nullable).with_metadata(about)
    });
    let about = [("corewise.table", def.name), ("corewise.doc", def.doc)];
    let about = about.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()).with_metadata(HashMap::from(about)))
}

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
pub struct Batches {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
}

impl Batches {
    /// Begins a table.
    pub fn new(def: &TableDef) -> Self {
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
    pub fn push(&mut self, rows: &[Vec<Value>]) -> Result<Option<RecordBatch>, ArrowError> {
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
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        let columns = self.columns.iter_mut().map(Column::finish).collect();
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}
