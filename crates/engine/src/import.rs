//! From a source to a trace folder.

use crate::{Accounted, EngineError, Haste, Identity, Infer, PassOptions, Source, Summary, account_with};
use account::{Collector, InTurn, InferredIndex, Sink, Stretches, Totals};
use model::{
    Allowed, Batch, BlockedAt, CpuId, CpuStretch, Marked, Move, Ns, PowerChange, Rows, Setting, Span, Stacks, Table,
    TableDef, ThreadStretch, Throttle, Together, tables,
};
use safefs::{Access, Dir};
use std::path::Path;
use store::{FolderWriter, Making, Manifest};
use topology::Machine;

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
    let haste = Haste::spare_time();
    std::thread::scope(|scope| {
        let identity = scope.spawn(|| source.identity(&haste));
        // An import that fails says so at once.
        let _wanted = haste.while_held();
        let (mut accounted, mut writing) = read(source, target, options, progress)?;
        // A third of the work is left: what is missing of the checksum takes its share of that, so as not to be left at the end.
        haste.hurry();
        progress(Progress { events: accounted.totals.events, stretches: true });
        let mut writer = writing.writer.ok_or_else(|| EngineError::Other("the folder was not begun".into()))??;
        let told = writing.stacks.names.len();
        accounted.facts.lacks.extend(name_frames(&mut writing.stacks, options));
        writer.names(&writing.stacks.names[told..])?;
        writer.stacks(&writing.stacks.chains)?;
        // While events wait to be written: at the end all else would wait for these.
        for def in OF_TOTALS {
            writer.table_of(def, |out| of_totals(def, &accounted.totals, &accounted.machine, out))?;
        }
        let mut stretches = stretches(writing.collector, &accounted, options);
        let tables = stage_two(&mut stretches, &accounted, writing.stacks.names, &mut writer)?;
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

/// Names the frames of callchains that their source told no function of, from what this machine keeps. Gives what is to be
/// said of those that stay without.
pub(crate) fn name_frames(stacks: &mut Stacks, options: &PassOptions) -> Vec<String> {
    let path = options.symbols.clone().unwrap_or_else(symbols::SymbolPath::of_this_machine);
    symbols::name(stacks, &path).sentences()
}

/// The sink of an import: stretches wait for stage two, events go to the folder as they come.
struct Writing {
    collector: Collector,
    writer: Option<Result<FolderWriter, store::Error>>,
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
    #[inline]
    fn moved(&mut self, moved: Move) {
        self.collector.moved(moved);
    }
    #[inline]
    fn marked(&mut self, mark: Marked) {
        self.collector.marked(mark);
    }
    #[inline]
    fn power(&mut self, change: PowerChange) {
        self.collector.power(change);
    }
    #[inline]
    fn allowed(&mut self, allowed: Allowed) {
        self.collector.allowed(allowed);
    }
    #[inline]
    fn throttle(&mut self, throttle: Throttle) {
        self.collector.throttle(throttle);
    }
    #[inline]
    fn blocked_at(&mut self, blocked: BlockedAt) {
        self.collector.blocked_at(blocked);
    }
    #[inline]
    fn setting(&mut self, setting: Setting) {
        self.collector.setting(setting);
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
        };
        Writing { collector: Collector::default(), writer: Some(writer), events: 0, stacks: Stacks::default() }
    };
    let each = |writing: &mut Writing, batch: &mut Batch| {
        writing.events += batch.events.len() as u64;
        writing.stacks.add(batch);
        if let Some(Ok(writer)) = &mut writing.writer {
            let written = writer.names(&batch.names).and_then(|()| writer.events(&mut batch.events));
            if let Err(error) = written {
                writing.writer = Some(Err(error));
            }
        }
        progress(Progress { events: writing.events, stretches: false });
    };
    account_with(source, options, begin, each)
}

fn stage_two(
    stretches: &mut Stretches,
    accounted: &Accounted,
    names: Vec<Box<str>>,
    writer: &mut FolderWriter,
) -> Result<Vec<Table>, EngineError> {
    let mut failed = Ok(());
    let followed = followed(&accounted.totals);
    // The others are made when they are asked for: together they would take longer than all the rest of an import.
    let tables = [tables::CONCURRENCY.name];
    let mut analyses =
        analysis::Running::start(&tables, &context(&accounted.totals, &followed, &accounted.machine), names);
    let mut write = |written: Result<(), store::Error>| {
        if failed.is_ok() {
            failed = written;
        }
    };
    stretches
        .in_turn(|some| match some {
            InTurn::Threads(threads) => write(writer.thread_stretches(threads)),
            InTurn::Cpus(cpus) => {
                write(writer.cpu_stretches(cpus));
                // All that this table is made of; who follows the threads as well takes several times as long.
                analyses.push(&Together { cpus, ..Together::default() });
            }
        })
        .map_err(EngineError::temporary)?;
    failed?;
    Ok(analyses.finish())
}

/// What a collector collected, as the options want it.
pub(crate) fn stretches(collector: Collector, accounted: &Accounted, options: &PassOptions) -> Stretches {
    let mut stretches = collector.finish();
    if options.strict_loss {
        stretches = stretches.strict(accounted.totals.loss_index());
    }
    if options.infer == Infer::Within {
        stretches = stretches.with_inferred(InferredIndex::new(&accounted.totals.inferred));
    }
    stretches
}

/// The CPUs of which the source tells what they ran.
pub(crate) fn followed(totals: &Totals) -> Vec<CpuId> {
    totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect()
}

pub(crate) fn context<'a>(totals: &Totals, followed: &'a [CpuId], machine: &'a Machine) -> analysis::Context<'a> {
    let span = Span::new(Ns::ZERO, totals.end);
    analysis::Context { machine, span, followed, ready_known: totals.ready_known }
}

/// The tables that come from the sums alone.
pub(crate) const OF_TOTALS: &[&TableDef] = &[
    &tables::THREADS,
    &tables::THREAD_BY_CPU,
    &tables::THREAD_BY_CORE_TYPE,
    &tables::CPUS,
    &tables::LOSS,
    &tables::INFERRED_STATE,
];

/// The rows of one of [`OF_TOTALS`].
pub(crate) fn of_totals(
    def: &TableDef,
    totals: &Totals,
    machine: &Machine,
    out: &mut dyn Rows,
) -> Result<(), EngineError> {
    match def.name {
        "threads" => account::threads(totals, out),
        "thread_by_cpu" => account::thread_by_cpu(totals, out),
        "thread_by_core_type" => account::thread_by_core_type(totals, machine, out),
        "cpus" => {
            account::cpus(totals, machine, out);
            Ok(())
        }
        "loss" => {
            account::loss(totals, out);
            Ok(())
        }
        _ => {
            account::inferred_state(&totals.inferred, out);
            Ok(())
        }
    }
    .map_err(EngineError::temporary)
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
