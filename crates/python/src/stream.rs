//! A table as an Arrow C stream, whose batches are made while it is read.

use crate::errors::error;
use crate::times::Range as TimeRange;
use crate::trace::ColumnRow;
use crate::work::INTERVAL;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use engine::{Session, TableRequest};
use model::{Span, TableDef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};

/// The number of batches that wait for the reader.
const WAITING: usize = 2;

/// A table of a trace, or of a part of it: whatever reads Arrow's PyCapsule interface reads it, batch by batch.
#[pyclass(frozen, module = "corewise._corewise", subclass)]
pub struct Table {
    session: Arc<Session>,
    def: &'static TableDef,
    span: Option<Span>,
    process: Option<String>,
    names: bool,
    row_groups: Option<Range<usize>>,
}

impl Table {
    /// Requests a table.
    ///
    /// # Errors
    /// There is no such table, or the range is invalid.
    pub fn of(
        session: &Arc<Session>,
        name: &str,
        range: Option<&TimeRange>,
        process: Option<String>,
        names: bool,
        row_groups: Option<Range<usize>>,
    ) -> PyResult<Self> {
        let request = TableRequest { table: name, span: None, process: None, names };
        let def = request.definition(session).map_err(error)?;
        let span = range.map(|range| range.span(session)).transpose()?;
        Ok(Self { session: Arc::clone(session), def, span, process, names, row_groups })
    }

    fn stream(&self) -> PyResult<Stream> {
        let (to, batches) = sync_channel(WAITING);
        let (session, def, span, names) = (Arc::clone(&self.session), self.def, self.span, self.names);
        let (process, row_groups) = (self.process.clone(), self.row_groups.clone());
        let read = move || {
            let request = TableRequest { table: def.name, span, process: process.as_deref(), names };
            let sent = send(&session, &request, row_groups.as_ref(), &to);
            // If nothing reads the stream any more, the error interests no one.
            sent.unwrap_or_else(|why| drop(to.send(Err(why))));
        };
        let spawned = std::thread::Builder::new().name("corewise table".into()).spawn(read);
        spawned.map_err(|why| error(format!("cannot start a thread: {why}")))?;
        Ok(Stream { schema: engine::arrow_schema(def), batches: Some(batches) })
    }
}

/// Sends the batches of a table until the reader has gone.
fn send(
    session: &Session,
    request: &TableRequest<'_>,
    row_groups: Option<&Range<usize>>,
    to: &SyncSender<Result<RecordBatch, String>>,
) -> Result<(), String> {
    let gone = |_| std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    let each = &mut |batch| to.send(Ok(batch)).map_err(gone);
    let sent = match row_groups {
        Some(row_groups) => request.batches_of_groups(session, row_groups, each),
        None => request.batches(session, each),
    };
    sent.map_err(|why| why.to_string())
}

#[pymethods]
impl Table {
    /// The name of the table.
    #[getter]
    fn name(&self) -> &'static str {
        self.def.name
    }

    /// What its rows are, in a sentence.
    #[getter]
    fn doc(&self) -> &'static str {
        self.def.doc
    }

    /// The columns: name, type (`int`, `float`, `text` or `bool`), unit (may be empty), whether it may be null, and documentation.
    #[getter]
    fn columns(&self) -> Vec<ColumnRow> {
        crate::trace::columns(self.def)
    }

    /// The table as an Arrow C stream. Each call reads the trace again.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to keep its own types.
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(self.stream()?));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema as an Arrow C schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(engine::arrow_schema(self.def).as_ref()).map_err(error)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Counts the rows by reading them.
    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        let mut stream = self.stream()?;
        let mut count = 0;
        loop {
            py.check_signals()?;
            match py.detach(|| stream.next()) {
                Some(Ok(batch)) => count += batch.num_rows(),
                Some(Err(why)) => {
                    py.check_signals()?;
                    return Err(error(reason(&why)));
                }
                None => return Ok(count),
            }
        }
    }
}

/// The sentence of an error of the trace, without the kind that Arrow writes before it.
fn reason(why: &ArrowError) -> String {
    match why {
        ArrowError::ExternalError(why) => why.to_string(),
        why => why.to_string(),
    }
}

/// Whether Ctrl-C ended a read since [`interrupted`] was last called: Arrow's stream passes on a text only.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns whether Ctrl-C ended a read since the last call.
#[pyfunction]
pub fn interrupted() -> bool {
    INTERRUPTED.swap(false, Ordering::Relaxed)
}

/// The batches of a table. When it is dropped, the thread that reads the trace ends.
struct Stream {
    schema: SchemaRef,
    batches: Option<Receiver<Result<RecordBatch, String>>>,
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.as_ref()?;
        loop {
            match batches.recv_timeout(INTERVAL) {
                Ok(batch) => return Some(batch.map_err(|why| ArrowError::ExternalError(why.into()))),
                Err(RecvTimeoutError::Disconnected) => {
                    self.batches = None;
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Ctrl-C, where Python's main thread reads. The signal is kept for Python, which raises it when the reader returns.
            let interrupted = Python::try_attach(|py| py.check_signals().is_err()).unwrap_or(false);
            if interrupted {
                self.batches = None;
                INTERRUPTED.store(true, Ordering::Relaxed);
                // SAFETY: sets a flag; may be called at any time.
                unsafe { pyo3::ffi::PyErr_SetInterrupt() };
                return Some(Err(ArrowError::ExternalError("reading was interrupted".into())));
            }
        }
    }
}

impl RecordBatchReader for Stream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
