//! An open trace.

use crate::errors::error;
use crate::stream::Table;
use crate::times::Range;
use crate::work::wait;
use diagnose::Options;
use engine::{CancellableSource, FrameSource, Infer, PassOptions, Session, SlowFrameOptions, Source, open_source};
use model::{Kind, TableDef, tables as all_tables};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A source of frames: kind, name, thread and count.
type SourceRow = (&'static str, Option<String>, Option<i64>, i64);

/// A column: name, type, unit, whether it may be null, documentation, what it may show.
pub type ColumnRow = (&'static str, &'static str, &'static str, bool, &'static str, &'static str);

/// The columns of a table.
pub fn columns(def: &'static TableDef) -> Vec<ColumnRow> {
    let kind = |kind| match kind {
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Text => "text",
        Kind::Bool => "bool",
    };
    def.cols.iter().map(|col| (col.name, kind(col.kind), col.unit, col.nullable, col.doc, col.shows.as_str())).collect()
}

/// The declaration of a table, which needs no trace: its columns as in a table with names of threads, whether its length grows with the recording,
/// and the file of a trace folder that has its rows in row groups, if it is one of stretches.
///
/// # Errors
/// There is no such table.
#[pyfunction]
pub fn declared(name: &str) -> PyResult<(Vec<ColumnRow>, bool, Option<&'static str>)> {
    let def = engine::declared(name).map_err(error)?;
    Ok((columns(all_tables::named(def)), def.large, engine::states_name(def)))
}

/// The ID and the labels of a recording. Of a trace folder, only the manifest is read.
///
/// # Errors
/// It cannot be read.
#[pyfunction]
pub fn identified(py: Python<'_>, path: PathBuf) -> PyResult<(i64, Vec<(String, String)>)> {
    let found = py.detach(|| engine::identified(&path)).map_err(error)?;
    Ok((found.trace, found.labels))
}

/// All tables: name and documentation.
#[pyfunction]
pub fn tables() -> Vec<(&'static str, &'static str)> {
    all_tables::ALL.iter().map(|def| (def.name, def.doc)).collect()
}

/// An open trace folder or file of another tool.
#[pyclass(frozen, module = "corewise._corewise", subclass)]
pub struct Trace {
    session: Arc<Session>,
}

/// The options for reading.
///
/// # Errors
/// The machine cannot be read.
pub fn options(machine: Option<&Path>, inferred: bool, strict_loss: bool, read_only: bool) -> PyResult<PassOptions> {
    let machine = machine.map(engine::machine_file).transpose().map_err(error)?;
    let infer = if inferred { Infer::Within } else { Infer::No };
    Ok(PassOptions { machine, infer, strict_loss, keep: true, read_only, ..PassOptions::default() })
}

/// Opens a trace. `progress` is called with the share of a file that was read, 0 to 1. With `read_only`, no table is stored in a trace folder.
#[pyfunction]
#[pyo3(signature = (path, machine=None, inferred=false, strict_loss=false, progress=None, read_only=false))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    machine: Option<PathBuf>,
    inferred: bool,
    strict_loss: bool,
    progress: Option<Bound<'_, PyAny>>,
    read_only: bool,
) -> PyResult<Trace> {
    let options = options(machine.as_deref(), inferred, strict_loss, read_only)?;
    let cancelled = Arc::new(AtomicBool::new(false));
    // What the engine opens as a folder of its own.
    let is_folder = path.join("manifest.json").exists() || path.join("spool").is_dir();
    let source: Option<Arc<dyn Source>> =
        if is_folder { None } else { Some(py.detach(|| open_source(&path)).map_err(error)?.into()) };
    let (read, flag) = (source.clone(), Arc::clone(&cancelled));
    let work = move || {
        let opened = match read {
            Some(source) => Session::of_source(Box::new(CancellableSource::new(source, flag)), options),
            None => Session::open(&path, options),
        };
        let session = opened.map_err(|why| why.to_string())?;
        let slow = session.found_frames(SlowFrameOptions::default()).map_err(|why| why.to_string())?;
        let objective = Box::new(|session: &Session| diagnose::path_objective(session, None));
        Ok(session.with_slow_frames(slow).with_objective(objective))
    };
    let session = wait(py, &cancelled, work, || {
        let share = source.as_ref().and_then(|source| source.read_share());
        match (&progress, share) {
            (Some(progress), Some(share)) => progress.call1((share,)).map(drop),
            _ => Ok(()),
        }
    })?;
    Ok(Trace { session: Arc::new(session) })
}

#[pymethods]
impl Trace {
    /// The path of the trace.
    #[getter]
    fn path(&self) -> PathBuf {
        self.session.path().to_owned()
    }

    /// The ID of the trace, and its labels. The ID of a file that was not imported is computed from the whole file.
    fn _identified(&self, py: Python<'_>) -> PyResult<(i64, Vec<(String, String)>)> {
        let found = py.detach(|| self.session.identified()).map_err(error)?;
        Ok((found.trace, found.labels))
    }

    /// The tables: name, documentation, and whether its length grows with the recording.
    fn _tables(&self) -> Vec<(&'static str, &'static str, bool)> {
        self.session.tables().iter().map(|def| (def.name, def.doc, def.large)).collect()
    }

    /// A table of the trace. `row_groups`: only the rows in these row groups (the first, and the one after the last) of a table of stretches.
    #[pyo3(signature = (name, range=None, process=None, names=true, row_groups=None))]
    fn _table(
        &self,
        name: &str,
        range: Option<Range>,
        process: Option<String>,
        names: bool,
        row_groups: Option<(usize, usize)>,
    ) -> PyResult<Table> {
        let row_groups = row_groups.map(|(first, end)| first..end);
        Table::of(&self.session, name, range.as_ref(), process, names, row_groups)
    }

    /// The begin and end of a range, or of the recording, ns; never after the end of the recording.
    #[pyo3(signature = (range=None))]
    fn _span(&self, range: Option<Range>) -> PyResult<(i64, i64)> {
        let end = self.session.summary().span_ns;
        let span = range.map(|range| range.span(&self.session)).transpose()?;
        Ok(span.map_or((0, end), |span| (span.start.0.min(end), span.end.0.min(end))))
    }

    /// The machine as JSON, and as a drawing.
    fn _machine(&self) -> PyResult<(String, String)> {
        let machine = self.session.machine();
        Ok((serde_json::to_string(machine).map_err(error)?, engine::draw(machine)))
    }

    /// Counts and sums of the recording as JSON.
    fn _summary(&self) -> PyResult<String> {
        serde_json::to_string(self.session.summary()).map_err(error)
    }

    /// The facts about the source as JSON.
    fn _facts(&self) -> PyResult<String> {
        serde_json::to_string(self.session.facts()).map_err(error)
    }

    /// The findings as JSON and as text.
    #[pyo3(signature = (range=None, only=Vec::new(), skip=Vec::new(), objective=None, width=100))]
    fn _findings(
        &self,
        py: Python<'_>,
        range: Option<Range>,
        only: Vec<String>,
        skip: Vec<String>,
        objective: Option<String>,
        width: usize,
    ) -> PyResult<(String, String)> {
        let part = range.map(|range| range.span(&self.session)).transpose()?;
        let target = objective.map(|of| of.parse()).transpose().map_err(|why: String| error(why))?;
        if let Some(unknown) = only.iter().chain(&skip).find(|id| diagnose::RULES.iter().all(|rule| rule.id != **id)) {
            let meant = model::did_you_mean(unknown, diagnose::RULES.iter().map(|rule| rule.id));
            return Err(error(format!("there is no rule {unknown}{meant} `corewise explain` lists them")));
        }
        let options = Options { part, only, skip, target, ..Options::default() };
        let session = Arc::clone(&self.session);
        let work = move || {
            let found = diagnose::diagnose(&session, &options).map_err(|why| why.to_string())?;
            let json = diagnose::json(&session, &found).map_err(|why| why.to_string())?;
            Ok((json, diagnose::text(&found, width, false)))
        };
        wait(py, &Arc::new(AtomicBool::new(false)), work, || Ok(()))
    }

    /// The sources of frames: kind (`log`, `marks`, `period`, `request` or `region`), name, thread and count.
    #[pyo3(signature = (intervals=true))]
    fn _frame_sources(&self, py: Python<'_>, intervals: bool) -> PyResult<Vec<SourceRow>> {
        let session = Arc::clone(&self.session);
        let work = move || {
            let sources = session.frame_sources(intervals).map_err(|why| why.to_string())?;
            let names = session.names().map_err(|why| why.to_string())?;
            let rows = sources.into_iter().map(|of| match of.source {
                FrameSource::Log => ("log", None, None, of.count),
                FrameSource::Marks(name) => ("marks", Some(name), None, of.count),
                FrameSource::Thread(kind, thread) => {
                    (kind.word(), names.get(thread).map(str::to_owned), Some(thread.0), of.count)
                }
                FrameSource::Regions(_, name) => ("region", Some(name), None, of.count),
            });
            Ok(rows.collect())
        };
        wait(py, &Arc::new(AtomicBool::new(false)), work, || Ok(()))
    }
}
