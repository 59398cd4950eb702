//! Tables as Arrow record batches. Those that a trace folder has as files of columns never become rows.

use crate::session::Kind;
use crate::tables::columns::{ColumnBatches, ROWS};
use crate::{EngineError, Session, TableRequest, ThreadNames};
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, SchemaRef};
use model::tables::thread_state;
use model::{CpuId, MadeFrom, TableDef, ThreadKey};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;
use store::text_array;
use topology::Machine;

/// A callback for a table's rows as record batches; `Err` ends the reading.
pub type BatchCallback<'a> = &'a mut dyn FnMut(RecordBatch) -> std::io::Result<()>;

/// The place of null among the texts of [`text_array`].
const NULL: u32 = u32::MAX;

impl TableRequest<'_> {
    /// Passes on the rows of [`Self::rows`] as record batches with the schema [`crate::arrow_schema`] of the definition, about 65,536 rows each.
    ///
    /// ```
    /// use engine::{PassOptions, Session, TableRequest};
    ///
    /// # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/ftrace_text/trace.txt");
    /// let session = Session::open(&path, PassOptions::default())?;
    /// let (mut rows, mut in_batches) = (0, 0);
    /// session.rows("thread_state", &mut |some| Ok(rows += some.len()))?;
    /// TableRequest::whole("thread_state").batches(&session, &mut |batch| Ok(in_batches += batch.num_rows()))?;
    /// assert_eq!(rows, in_batches);
    /// # Ok::<(), engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn batches(&self, session: &Session, each: BatchCallback<'_>) -> Result<(), EngineError> {
        let def = session.definition(self.table)?;
        if let (MadeFrom::States, Kind::Folder(folder, None)) = (def.made_from, session.kind()) {
            return self.stored_batches(session, def, folder, None, each);
        }
        let mut batches = ColumnBatches::new(self.definition(session)?);
        self.rows(session, &mut |rows| batches.push(rows).map_err(std::io::Error::other)?.map_or(Ok(()), &mut *each))?;
        let last = batches.finish().map_err(failed)?;
        if last.num_rows() > 0 { each(last).map_err(EngineError::Output) } else { Ok(()) }
    }

    /// Like [`Self::batches`], only the rows that are stored in some row groups of the file with the stretches: each row is in one of them.
    ///
    /// # Errors
    /// The table is not stored in row groups: it is no table of stretches, or the trace is no folder, or is read with inferred time. The request
    /// is for a part of the recording. Otherwise as [`Self::rows`].
    pub fn batches_of_groups(
        &self,
        session: &Session,
        row_groups: &Range<usize>,
        each: BatchCallback<'_>,
    ) -> Result<(), EngineError> {
        let def = session.definition(self.table)?;
        match (def.made_from, session.kind(), self.span.or(session.range())) {
            (MadeFrom::States, Kind::Folder(folder, None), None) => {
                self.stored_batches(session, def, folder, Some(row_groups), each)
            }
            _ => Err(EngineError::Unfit(format!(
                "{}: {} cannot be read by row group: only stretches of a whole trace folder are",
                session.path().display(),
                def.name
            ))),
        }
    }

    /// Passes on the stretches of a folder without inferred time.
    fn stored_batches(
        &self,
        session: &Session,
        def: &'static TableDef,
        folder: &store::Folder,
        row_groups: Option<&Range<usize>>,
        each: BatchCallback<'_>,
    ) -> Result<(), EngineError> {
        let of = self.process.map(|process| session.process(process, def)).transpose()?;
        let has_keys = def.cols.iter().any(|col| col.is_thread_key);
        let finish = Finish {
            def,
            schema: store::schema(self.definition(session)?),
            names: if self.names && has_keys { Some(session.names()?) } else { None },
            machine: session.options().machine.as_ref().map(|_| session.machine()),
        };
        let threads = of.as_ref().map(|of| of.threads());
        let make = |batch: RecordBatch| finish.batches(&batch);
        let each = |made: Result<Vec<RecordBatch>, ArrowError>| {
            made.map_err(failed)?.into_iter().try_for_each(|batch| each(batch).map_err(EngineError::Output))
        };
        match row_groups {
            Some(row_groups) => folder.state_batches_of_groups(def, row_groups, threads, make, each),
            None => folder.state_batches(def, self.span.or(session.range()), threads, make, each),
        }
    }
}

fn failed(why: ArrowError) -> EngineError {
    EngineError::Bug(why.to_string())
}

/// What a folder's stretches lack to be the requested table.
struct Finish<'a> {
    def: &'static TableDef,
    schema: SchemaRef,
    names: Option<&'a ThreadNames>,
    /// The machine that the user described.
    machine: Option<&'a Machine>,
}

impl Finish<'_> {
    /// Returns the batches of a row group. A row group is one batch, unless another program made it far larger than corewise does.
    fn batches(&self, group: &RecordBatch) -> Result<Vec<RecordBatch>, ArrowError> {
        let size = if group.num_rows() > 2 * ROWS { ROWS } else { group.num_rows().max(1) };
        let parts = (0..group.num_rows()).step_by(size);
        parts.map(|from| self.batch(&group.slice(from, size.min(group.num_rows() - from)))).collect()
    }

    fn batch(&self, stored: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (col, column) in self.def.cols.iter().zip(stored.columns()) {
            columns.push(match self.machine {
                Some(machine) if col.name == thread_state::CORE_TYPE.name() => self.retyped(stored, column, machine)?,
                _ => Arc::clone(column),
            });
            if let (Some(names), true) = (self.names, col.is_thread_key) {
                columns.push(Arc::new(names_of(column, names)?));
            }
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }

    /// Returns the column of core types with those of the machine that the user described; null stays null.
    fn retyped(&self, of: &RecordBatch, column: &ArrayRef, machine: &Machine) -> Result<ArrayRef, ArrowError> {
        let cpus = self.def.col(thread_state::CPU.name()).and_then(|at| of.columns().get(at));
        let (Some(cpus), Some(stored)) =
            (cpus.and_then(|cpus| cpus.as_primitive_opt::<Int64Type>()), column.as_string_opt::<i32>())
        else {
            return Ok(Arc::clone(column));
        };
        let mut texts: Vec<Option<&str>> = Vec::new();

        let mut rows = Vec::with_capacity(of.num_rows());
        for (cpu, stored) in cpus.iter().zip(stored.iter()) {
            let Some(stored) = stored else {
                rows.push(NULL);
                continue;
            };
            let cpu = cpu.and_then(|cpu| u32::try_from(cpu).ok());
            let text = cpu.map_or(stored, |cpu| machine.core_type(CpuId(cpu)).as_str());
            let at = texts.iter().position(|known| *known == Some(text)).unwrap_or_else(|| {
                texts.push(Some(text));
                texts.len() - 1
            });
            rows.push(at as u32);
        }
        Ok(Arc::new(text_array(&rows, &texts)?))
    }
}

/// Returns the names of a column of thread keys.
fn names_of(keys: &ArrayRef, names: &ThreadNames) -> Result<StringArray, ArrowError> {
    let Some(keys) = keys.as_primitive_opt::<Int64Type>() else {
        return Err(ArrowError::SchemaError("a column of thread keys has no numbers".into()));
    };
    let (mut places, mut texts) = (FxHashMap::<ThreadKey, u32>::default(), Vec::new());
    let mut last = (ThreadKey::IDLE, None);
    let place = |key: Option<i64>| {
        let Some(key) = key.map(ThreadKey) else { return NULL };
        match last {
            (of, Some(place)) if of == key => return place,
            _ => {}
        }
        let place = *places.entry(key).or_insert_with(|| {
            texts.push(names.get(key));
            (texts.len() - 1) as u32
        });
        last = (key, Some(place));
        place
    };
    let rows: Vec<u32> = keys.iter().map(place).collect();
    text_array(&rows, &texts)
}
