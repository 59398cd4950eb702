//! Answers: rows as Arrow IPC streams.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use levels::{Slice, Step};
use model::{Col, Kind, MadeFrom, TableDef, Value};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// The columns of slices as sent to the viewer. States are numbered as in [`model::ThreadState::ALL`] and
/// [`model::CpuState::ALL`].
pub(crate) const SLICES: TableDef = TableDef {
    name: "slices",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "Slices as drawn: a stretch, or several short stretches merged into one slice.",
    key: &["track", "start_ns"],
    cols: &[
        Col::new("track", Kind::Int, "", "The track: a CPU's number, or the index of a thread."),
        Col::new("start_ns", Kind::Int, "ns", "First instant."),
        Col::new("end_ns", Kind::Int, "ns", "First instant after it."),
        Col::new("state", Kind::Int, "", "The state that takes most of the time, by number."),
        Col::new("state_ns", Kind::Int, "ns", "The time in that state."),
        Col::new(
            "what",
            Kind::Int,
            "",
            "The CPU of a thread, or the thread (key) on a CPU, that takes most of that state's time; −1 if none.",
        ),
        Col::new("what_ns", Kind::Int, "ns", "The time with that CPU or thread."),
        Col::new("stretches", Kind::Int, "count", "The number of stretches."),
    ],
};

/// The columns of slices of tracks of values.
pub(crate) const STEPS: TableDef = TableDef {
    name: "steps",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "Values as drawn: a value, or several short values merged into one slice.",
    key: &["track", "start_ns"],
    cols: &[
        Col::new("track", Kind::Int, "", "The track."),
        Col::new("start_ns", Kind::Int, "ns", "First instant."),
        Col::new("end_ns", Kind::Int, "ns", "First instant after it."),
        Col::new("least", Kind::Float, "", "The minimum, in the unit of the kind of track."),
        Col::new("most", Kind::Float, "", "The maximum."),
        Col::new("mean", Kind::Float, "", "The mean, weighted by time."),
        Col::new("stretches", Kind::Int, "count", "The number of values."),
    ],
};

/// Encodes steps as declared in [`STEPS`].
pub(crate) fn steps(steps: &[Step]) -> Result<Vec<u8>, ArrowError> {
    let long = |of: fn(&Step) -> i64| Arc::new(Int64Array::from_iter_values(steps.iter().map(of))) as ArrayRef;
    let int = |of: fn(&Step) -> i32| Arc::new(Int32Array::from_iter_values(steps.iter().map(of))) as ArrayRef;
    let float = |of: fn(&Step) -> f64| Arc::new(Float64Array::from_iter_values(steps.iter().map(of))) as ArrayRef;
    written(
        &STEPS,
        vec![
            int(|s| s.track as i32),
            long(|s| s.start),
            long(|s| s.end),
            float(|s| s.min),
            float(|s| s.max),
            float(|s| s.mean),
            int(|s| i32::try_from(s.stretches).unwrap_or(i32::MAX)),
        ],
        &[],
    )
}

/// Encodes slices as declared in [`SLICES`], in the smallest types that JavaScript reads without copying.
pub(crate) fn slices(slices: &[Slice]) -> Result<Vec<u8>, ArrowError> {
    let long = |of: fn(&Slice) -> i64| Arc::new(Int64Array::from_iter_values(slices.iter().map(of))) as ArrayRef;
    let int = |of: fn(&Slice) -> i32| Arc::new(Int32Array::from_iter_values(slices.iter().map(of))) as ArrayRef;
    let states = Arc::new(UInt8Array::from_iter_values(slices.iter().map(|s| s.state)));
    written(
        &SLICES,
        vec![
            int(|s| s.track as i32),
            long(|s| s.start),
            long(|s| s.end),
            states,
            long(|s| s.state_ns),
            long(|s| s.what),
            long(|s| s.what_ns),
            int(|s| i32::try_from(s.stretches).unwrap_or(i32::MAX)),
        ],
        &[],
    )
}

/// Encodes rows of a table.
pub(crate) fn rows(def: &TableDef, rows: &[Vec<Value>]) -> Result<Vec<u8>, ArrowError> {
    rows_with_metadata(def, rows, &[])
}

/// Encodes rows of a table, with metadata in the schema.
pub(crate) fn rows_with_metadata(
    def: &TableDef,
    rows: &[Vec<Value>],
    more: &[(&str, String)],
) -> Result<Vec<u8>, ArrowError> {
    written(def, def.cols.iter().enumerate().map(|(at, col)| column(at, col, rows)).collect(), more)
}

/// Converts a column of rows.
fn column(at: usize, col: &Col, rows: &[Vec<Value>]) -> ArrayRef {
    let cells = rows.iter().map(|row| row.get(at));
    match col.kind {
        Kind::Int => {
            Arc::new(cells.map(|c| if let Some(Value::Int(v)) = c { Some(*v) } else { None }).collect::<Int64Array>())
        }
        Kind::Float => Arc::new(
            cells.map(|c| if let Some(Value::Float(v)) = c { Some(*v) } else { None }).collect::<Float64Array>(),
        ),
        Kind::Text => Arc::new(
            cells.map(|c| if let Some(Value::Text(v)) = c { Some(v.as_str()) } else { None }).collect::<StringArray>(),
        ),
        Kind::Bool => Arc::new(
            cells.map(|c| if let Some(Value::Bool(v)) = c { Some(*v) } else { None }).collect::<BooleanArray>(),
        ),
    }
}

/// Writes rows of a table as a stream: one batch per call of [`Self::push`].
pub(crate) struct Rows<W: Write> {
    def: &'static TableDef,
    schema: Arc<Schema>,
    out: StreamWriter<W>,
}

impl<W: Write> Rows<W> {
    /// Starts the stream with the table's columns.
    pub(crate) fn new(def: &'static TableDef, out: W) -> Result<Self, ArrowError> {
        let none: Vec<ArrayRef> = def.cols.iter().map(|col| column(0, col, &[])).collect();
        let schema = schema(def, &none, &[]);
        let out = StreamWriter::try_new(out, &schema)?;
        Ok(Self { def, schema, out })
    }

    /// Writes more rows.
    pub(crate) fn push(&mut self, rows: &[Vec<Value>]) -> Result<(), ArrowError> {
        let columns = self.def.cols.iter().enumerate().map(|(at, col)| column(at, col, rows)).collect();
        self.out.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// Returns the writer.
    pub(crate) fn to(&self) -> &W {
        self.out.get_ref()
    }

    /// Ends the stream.
    pub(crate) fn finish(mut self) -> Result<W, ArrowError> {
        self.out.finish()?;
        self.out.into_inner()
    }
}

/// Returns the Arrow schema, with the unit and description of each column.
fn schema(def: &TableDef, columns: &[ArrayRef], more: &[(&str, String)]) -> Arc<Schema> {
    let field = |(col, array): (&Col, &ArrayRef)| {
        let kind: DataType = array.data_type().clone();
        let about = [("unit", col.unit), ("doc", col.doc), ("thread", if col.is_thread_key { "key" } else { "" })];
        let about = about.into_iter().filter(|(_, text)| !text.is_empty()).map(|(k, v)| (k.to_owned(), v.to_owned()));
        Field::new(col.name, kind, col.nullable).with_metadata(about.collect::<HashMap<_, _>>())
    };
    let more: HashMap<_, _> = more.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let fields: Vec<Field> = def.cols.iter().zip(columns).map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, more))
}

fn written(def: &TableDef, columns: Vec<ArrayRef>, more: &[(&str, String)]) -> Result<Vec<u8>, ArrowError> {
    let schema = schema(def, &columns, more);
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    let mut out = Vec::with_capacity(batch.get_array_memory_size() + 1024);
    let mut writer = StreamWriter::try_new(&mut out, &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);
    Ok(out)
}
