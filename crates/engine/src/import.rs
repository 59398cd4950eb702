//! From a source to a trace folder.

use crate::read::{name_frames, stretches};
use crate::tables::totals::{OF_TOTALS, context, followed};
use crate::{Accounted, EngineError, Identity, Infer, PassOptions, Priority, Source, Summary, account_with};
use account::{Collector, InTurn, Sink, SpillError, Stretches};
use model::{Batch, CpuStretch, Stacks, Table, ThreadStretch, Timeline, TimelineEvent, tables};
use safefs::{Access, Dir};
use std::path::Path;
use store::{FolderWriter, Making, Manifest};

/// How far an import has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Events read.
    pub events: u64,
    /// Whether all are read and the stretches are being written.
    pub stretches: bool,
}

/// Where an import goes.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A new folder, for this user alone.
    New(&'a Path),
    /// A new folder that every user of the machine may read.
    Shared(&'a Path),
    /// The folder that holds the recording's spool.
    InPlace(&'a Dir),
}

/// Reads a source into a trace folder: its events, stretches and tables. What can be inferred stands there apart, so that all
/// of it can be had with that and without.
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
    // The checksum reads all of the file, as the import does.
    let priority = Priority::spare_time();
    std::thread::scope(|scope| {
        let identity = scope.spawn(|| source.identity(&priority));
        // An import that fails says so at once.
        let _wanted = priority.while_held();
        let (mut accounted, mut writing) = read(source, target, options, progress)?;
        // A third of the work is left: what is missing of the checksum takes its share of that, so as not to be left at the end.
        priority.raise();
        progress(Progress { events: accounted.totals.events, stretches: true });
        let mut writer = writing.writer;
        let told = writing.stacks.names.len();
        accounted.facts.lacks.extend(name_frames(&mut writing.stacks, options));
        writer.names(&writing.stacks.names[told..])?;
        writer.stacks(&writing.stacks.chains)?;
        // While events wait to be written: at the end all else would wait for these.
        for of in OF_TOTALS {
            let rows = |out: &mut dyn model::Rows| (of.rows)(&accounted.totals, &accounted.machine, out);
            writer.table_of(of.table, |out| rows(out).map_err(EngineError::from))?;
        }
        let stretches = stretches(writing.collector, &accounted, options);
        let tables = stage_two(&stretches, &accounted, writing.stacks.names, &mut writer)?;
        // Giving their temporary file back takes as long as writing the tables.
        let _ = std::thread::Builder::new().name("giving back".into()).spawn_scoped(scope, || drop(stretches));
        for table in &tables {
            writer.table(table)?;
        }
        let identity = identity.join().map_err(|_| EngineError::Other("reading the checksum failed".into()))??;
        writer.finish(manifest(&accounted, identity)?)?;
        Ok(accounted)
    })
}

/// The sink of an import: stretches wait for stage two, events go to the folder as they come.
struct Writing {
    collector: Collector,
    writer: FolderWriter,
    events: u64,
    /// Written at the end, when all can be named together.
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
    /// They stand in the folder's events; what is made here needs none of them.
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
        let imported = Making { machine: &machine, sources: source.parts() };
        let writer = match target {
            Target::New(path) => FolderWriter::create(path, Access::Private, imported),
            Target::Shared(path) => FolderWriter::create(path, Access::Shared, imported),
            Target::InPlace(dir) => FolderWriter::create_in_place(dir, Making { machine: &machine, sources: 0 }),
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

fn stage_two(
    stretches: &Stretches,
    accounted: &Accounted,
    names: Vec<Box<str>>,
    writer: &mut FolderWriter,
) -> Result<Vec<Table>, EngineError> {
    let followed = followed(&accounted.totals);
    // The others are made when they are asked for: together they would take longer than all the rest of an import.
    let tables = [tables::CONCURRENCY.name];
    let mut analyses =
        analysis::Running::start(&tables, &context(&accounted.totals, &followed, &accounted.machine), names);
    stretches.in_turn(|some| {
        match some {
            InTurn::Threads(threads) => writer.thread_stretches(threads)?,
            InTurn::Cpus(cpus) => {
                writer.cpu_stretches(cpus)?;
                // All that this table is made of; following the threads as well takes several times as long.
                analyses.push(&Timeline { cpus, ..Timeline::default() });
            }
        }
        Ok::<_, EngineError>(())
    })?;
    Ok(analyses.finish())
}

fn manifest(accounted: &Accounted, identity: Identity) -> Result<Manifest, EngineError> {
    let mut manifest = Manifest::new(identity.trace, accounted.facts.clone());
    manifest.machine = accounted.machine.clone();
    manifest.sources = identity.files;
    manifest.origin_ns = accounted.ingested.origin.unwrap_or_default().0;
    manifest.end_ns = accounted.totals.end.0;
    manifest.take_troubles(&accounted.ingested.troubles);
    let summary = serde_json::to_value(Summary::of(accounted)).map_err(|e| EngineError::Other(e.to_string()))?;
    if let serde_json::Value::Object(summary) = summary {
        manifest.summary = summary;
    }
    Ok(manifest)
}
