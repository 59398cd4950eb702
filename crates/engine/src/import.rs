//! Imports a source into a trace folder.

use crate::read::{name_frames, stretches};
use crate::tables::totals::{OF_TOTALS, context, followed};
use crate::{Accounted, EngineError, Identity, Infer, PassOptions, Priority, Source, Summary, account_with};
use account::{Collector, Sink, SpillError, StretchBatch, Stretches, Totals};
use model::{Batch, CpuStretch, Stacks, Table, ThreadStretch, Timeline, TimelineEvent, tables};
use safefs::{Access, Dir};
use std::path::Path;
use store::{FolderWriter, Manifest, WriterOptions};
use topology::Machine;

/// The progress of an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Events read.
    pub events: u64,
    /// Whether all events are read and stretches are being written.
    pub stretches: bool,
}

/// The destination of an import.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A new folder that only this user may read.
    New(&'a Path),
    /// A new folder that every user of the machine may read.
    Shared(&'a Path),
    /// The folder that contains the recording's spool.
    InPlace(&'a Dir),
}

/// Reads a source into a trace folder: its events, stretches and tables. Inferred stretches are stored separately, so that the trace
/// can be read with and without them.
///
/// ```
/// use engine::{PassOptions, Session, Target, import, open_source};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// # let path = std::path::Path::new(path);
/// # let temporary = tempfile::tempdir().map_err(engine::EngineError::temporary)?;
/// # let folder = temporary.path().join("trace");
/// let source = open_source(path)?;
/// let accounted = import(source.as_ref(), Target::New(&folder), &PassOptions::default(), &mut |_| {})?;
/// let session = Session::open(&folder, PassOptions::default())?;
/// assert!(session.is_folder());
/// assert_eq!(session.summary().events, accounted.totals.events);
/// // An existing folder is never overwritten.
/// assert!(import(source.as_ref(), Target::New(&folder), &PassOptions::default(), &mut |_| {}).is_err());
/// # Ok::<(), engine::EngineError>(())
/// ```
///
/// # Errors
/// The source cannot be opened, or the folder cannot be written.
pub fn import(
    source: &dyn Source,
    target: Target<'_>,
    options: &PassOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Accounted, EngineError> {
    let options = &PassOptions { infer: Infer::Apart, ..options.clone() };
    match target {
        Target::New(path) => FolderWriter::can_create(path, Access::Private)?,
        Target::Shared(path) => FolderWriter::can_create(path, Access::Shared)?,
        Target::InPlace(_) => {}
    }
    // The checksum reads the whole file, like the import.
    let priority = Priority::spare_time();
    std::thread::scope(|scope| {
        let identity = scope.spawn(|| source.identity(&priority));
        // If the import fails, the checksum is cancelled.
        let _cancel = priority.cancel_on_drop();
        let (mut accounted, mut writing) = read(source, target, options, progress)?;
        // A third of the import is left. From here on the checksum gets its share of CPU time, so that it is not finished last.
        priority.raise();
        progress(Progress { events: accounted.totals.events, stretches: true });
        let mut writer = writing.writer;
        let first_new = writing.stacks.names.len();
        accounted.facts.callchain_ends = options.tables.ends().or(accounted.facts.callchain_ends);
        accounted.facts.lacks.extend(options.tables.sentences());
        accounted.facts.nameless = name_frames(&mut writing.stacks, options);
        writer.names(&writing.stacks.names[first_new..])?;
        writer.stacks(&writing.stacks.chains)?;
        // Written while events wait for the disk; at the end, everything else would wait for these.
        write_sums(&accounted.totals, &accounted.machine, &mut writer)?;
        let stretches = stretches(writing.collector, &accounted, options);
        let (totals, machine) = (&accounted.totals, &accounted.machine);
        let tables = stage_two(&stretches, totals, machine, writing.stacks.names, &mut writer)?;
        // Freeing the temporary file takes as long as writing the tables.
        let _ = std::thread::Builder::new().name("drop stretches".into()).spawn_scoped(scope, || drop(stretches));
        for table in &tables {
            writer.table(table)?;
        }
        let identity = identity.join().map_err(|_| EngineError::Bug("reading the checksum failed".into()))??;
        writer.finish(manifest(&accounted, identity)?)?;
        Ok(accounted)
    })
}

/// The sink of an import: keeps stretches for stage two and writes events to the folder immediately.
struct Writing {
    collector: Collector,
    writer: FolderWriter,
    events: u64,
    /// Written at the end, when all frames can be named together.
    stacks: Stacks,
}

impl Sink for Writing {
    #[inline]
    fn begin_thread(&mut self) -> u64 {
        self.collector.begin_thread()
    }
    #[inline]
    fn begin_cpu(&mut self) -> u64 {
        self.collector.begin_cpu()
    }
    #[inline]
    fn thread(&mut self, place: u64, stretch: &ThreadStretch) {
        self.collector.thread(place, stretch);
    }
    #[inline]
    fn cpu(&mut self, place: u64, stretch: &CpuStretch) {
        self.collector.cpu(place, stretch);
    }
    /// Ignored: the folder already has all events, and the tables made here need none of them.
    #[inline]
    fn event(&mut self, _: TimelineEvent) {}
    fn check(&self) -> Result<(), SpillError> {
        self.collector.check()
    }
}

fn read(
    source: &dyn Source,
    target: Target<'_>,
    options: &PassOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Accounted, Writing), EngineError> {
    let begin = |facts: &ingest::Facts| {
        let machine = facts.machine.clone().unwrap_or_default();
        let machine = options.machine.as_ref().map_or_else(|| machine.clone(), |m| machine.clone().overlay(m.clone()));
        let imported = WriterOptions { machine: &machine, sources: source.parts() };
        let writer = match target {
            Target::New(path) => FolderWriter::create(path, Access::Private, imported),
            Target::Shared(path) => FolderWriter::create(path, Access::Shared, imported),
            Target::InPlace(dir) => FolderWriter::create_in_place(dir, WriterOptions { machine: &machine, sources: 0 }),
        }?;
        Ok(Writing { collector: Collector::default(), writer, events: 0, stacks: Stacks::default() })
    };
    let each = |writing: &mut Writing, batch: &mut Batch| {
        writing.events += batch.events.len() as u64;
        writing.stacks.add(batch);
        writing.writer.names(&batch.names)?;
        writing.writer.events(&mut batch.events)?;
        progress(Progress { events: writing.events, stretches: false });
        Ok(())
    };
    account_with(source, options, begin, each)
}

/// Writes the tables of sums.
pub(crate) fn write_sums(totals: &Totals, machine: &Machine, writer: &mut FolderWriter) -> Result<(), EngineError> {
    OF_TOTALS.iter().try_for_each(|of| {
        writer.table_rows_from(of.table, |out| (of.rows)(totals, machine, out).map_err(EngineError::from))
    })
}

/// Writes the stretches, and returns the tables made from them.
pub(crate) fn stage_two(
    stretches: &Stretches,
    totals: &Totals,
    machine: &Machine,
    names: Vec<Box<str>>,
    writer: &mut FolderWriter,
) -> Result<Vec<Table>, EngineError> {
    let followed = followed(totals);
    // Other tables are made on request: together they would take longer than the rest of the import.
    let tables = [tables::CONCURRENCY.name];
    let mut analyses = analysis::Running::start(&tables, &context(totals, &followed, machine), names);
    stretches.in_turn(|some| {
        match some {
            StretchBatch::Threads(threads) => writer.thread_stretches(threads)?,
            StretchBatch::Cpus(cpus) => {
                writer.cpu_stretches(cpus)?;
                // This table needs only the CPUs' stretches; processing the threads' too would take several times as long.
                analyses.push(&Timeline { cpus, ..Timeline::default() });
            }
        }
        Ok::<_, EngineError>(())
    })?;
    Ok(analyses.finish())
}

fn manifest(accounted: &Accounted, identity: Identity) -> Result<Manifest, EngineError> {
    let mut manifest = Manifest::new(identity.trace, accounted.facts.clone());
    manifest.accounting = account::VERSION;
    manifest.machine = accounted.machine.clone();
    manifest.sources = identity.files;
    manifest.origin_ns = accounted.ingested.origin.unwrap_or_default().0;
    manifest.end_ns = accounted.totals.end.0;
    manifest.set_anomalies(&accounted.ingested.anomalies);
    set_summary(&mut manifest, &Summary::of(accounted))?;
    Ok(manifest)
}

/// Sets the summary in a manifest.
pub(crate) fn set_summary(manifest: &mut Manifest, summary: &Summary) -> Result<(), EngineError> {
    let summary = serde_json::to_value(summary).map_err(|e| EngineError::Bug(e.to_string()))?;
    if let serde_json::Value::Object(summary) = summary {
        manifest.summary = summary;
    }
    Ok(())
}
