//! What is answered: rows as Arrow IPC streams.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use levels::{Slice, Step};
use model::{Col, Kind, MadeFrom, TableDef, Value};
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

/// The columns of slices, as the viewer gets them; the numbers of states are those of [`model::ThreadState::ALL`] and
/// [`model::CpuState::ALL`].
pub(crate) const SLICES: TableDef = TableDef {
    name: "slices",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "What is drawn: a stretch, or short stretches that follow one another, told together.",
    key: &["track", "start_ns"],
    cols: &[
        Col::new("track", Kind::Int, "", "Whose: a CPU's number, or a thread's place."),
        Col::new("start_ns", Kind::Int, "ns", "First instant."),
        Col::new("end_ns", Kind::Int, "ns", "First instant after it."),
        Col::new("state", Kind::Int, "", "The state that takes most of it, by number."),
        Col::new("state_ns", Kind::Int, "ns", "For how long."),
        Col::new(
            "what",
            Kind::Int,
            "",
            "A thread's CPU, a CPU's thread (key) that takes most of that state's time; −1: none.",
        ),
        Col::new("what_ns", Kind::Int, "ns", "For how long."),
        Col::new("stretches", Kind::Int, "count", "Of how many stretches."),
    ],
};

/// The columns of what tracks of values are drawn of.
pub(crate) const STEPS: TableDef = TableDef {
    name: "steps",
    version: 1,
    made_from: MadeFrom::Elsewhere,
    large: false,
    doc: "What is drawn of values: one, or short ones that follow one another, told together.",
    key: &["track", "start_ns"],
    cols: &[
        Col::new("track", Kind::Int, "", "Whose."),
        Col::new("start_ns", Kind::Int, "ns", "First instant."),
        Col::new("end_ns", Kind::Int, "ns", "First instant after it."),
        Col::new("least", Kind::Float, "", "The least, in the unit of its kind."),
        Col::new("most", Kind::Float, "", "The most."),
        Col::new("mean", Kind::Float, "", "The mean, each weighted by its time."),
        Col::new("stretches", Kind::Int, "count", "Of how many."),
    ],
};

/// Steps, as [`STEPS`] declares.
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
            float(|s| s.least),
            float(|s| s.most),
            float(|s| s.mean),
            int(|s| i32::try_from(s.stretches).unwrap_or(i32::MAX)),
        ],
        &[],
    )
}

/// Slices, as [`SLICES`] declares, in the fewest bytes that JavaScript reads without copying.
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

/// Rows of a table.
pub(crate) fn rows(def: &TableDef, rows: &[Vec<Value>]) -> Result<Vec<u8>, ArrowError> {
    told(def, rows, &[])
}

/// Rows of a table, and what else is to be known of them, as the schema's metadata.
pub(crate) fn told(def: &TableDef, rows: &[Vec<Value>], more: &[(&str, String)]) -> Result<Vec<u8>, ArrowError> {
    written(def, def.cols.iter().enumerate().map(|(at, col)| column(at, col, rows)).collect(), more)
}

/// A column of rows.
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

/// Rows of a table as they come, into a writer: one batch for each part that is pushed.
pub(crate) struct Rows<W: Write> {
    def: &'static TableDef,
    schema: Arc<Schema>,
    out: StreamWriter<W>,
}

impl<W: Write> Rows<W> {
    /// Begins with the table's columns.
    pub(crate) fn new(def: &'static TableDef, out: W) -> Result<Self, ArrowError> {
        let none: Vec<ArrayRef> = def.cols.iter().map(|col| column(0, col, &[])).collect();
        let schema = schema(def, &none, &[]);
        let out = StreamWriter::try_new(out, &schema)?;
        Ok(Self { def, schema, out })
    }

    /// Some more rows.
    pub(crate) fn push(&mut self, rows: &[Vec<Value>]) -> Result<(), ArrowError> {
        let columns = self.def.cols.iter().enumerate().map(|(at, col)| column(at, col, rows)).collect();
        self.out.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// What they were written to.
    pub(crate) fn to(&self) -> &W {
        self.out.get_ref()
    }

    /// Ends them.
    pub(crate) fn finish(mut self) -> Result<W, ArrowError> {
        self.out.finish()?;
        self.out.into_inner()
    }
}

/// The columns as Arrow has them, each with its unit and description, so that who shows any table can say them.
fn schema(def: &TableDef, columns: &[ArrayRef], more: &[(&str, String)]) -> Arc<Schema> {
    let field = |(col, array): (&Col, &ArrayRef)| {
        let kind: DataType = array.data_type().clone();
        let told = [("unit", col.unit), ("doc", col.doc), ("thread", if col.of_thread { "key" } else { "" })];
        let told = told.into_iter().filter(|(_, word)| !word.is_empty()).map(|(k, v)| (k.to_owned(), v.to_owned()));
        Field::new(col.name, kind, col.nullable).with_metadata(told.collect::<HashMap<_, _>>())
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
