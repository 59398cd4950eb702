//! Reads a source through ingest and the accountant, a second time if the first reading shows that this is needed.

pub(crate) mod folder;
pub(crate) mod foreign;
pub(crate) mod inferred;
mod stored;

use crate::unwinding::FoundTables;
use crate::{EngineError, Source};
use account::{Accountant, Collector, InferredIndex, Laws, LossIndex, Rules, Sink, Stretches, Totals};
use ingest::{Ending, Facts, Ingested, Limits, Reading};
use model::{Batch, CpuId, EventKind, Span, Stacks, WakeKind};
use std::ops::ControlFlow;
use symbols::SymbolPath;
use topology::Machine;

/// The name in [`Facts::about`] of the sentence that says how the states of threads were read.
pub const THREAD_STATES: &str = "thread_states";

/// Options for reading and accounting.
///
/// ```
/// use engine::{PassOptions, account, open_source};
/// use model::{Ns, Span};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// # let path = std::path::Path::new(path);
/// let options = PassOptions { within: Some(Span::new(Ns(0), Ns(1_000_000))), ..PassOptions::default() };
/// let totals = account(open_source(path)?.as_ref(), &options)?.totals;
/// assert_eq!((totals.begin, totals.end), (Ns(0), Ns(1_000_000)));
/// # Ok::<(), engine::EngineError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PassOptions {
    /// Count lossy time as unknown.
    pub strict_loss: bool,
    /// The machine as described by the user.
    pub machine: Option<Machine>,
    /// Whether to infer unknown time.
    pub infer: Infer,
    /// Make analyses as if the programs had marked nothing, to compare what they detect with the marks.
    pub hide_marks: bool,
    /// Compute sums only for this part of the recording ([`account::Rules::within`]).
    pub within: Option<Span>,
    /// Keep a file's stretches when it is opened, in temporary files if they are many: for callers that need more than sums.
    /// Otherwise the file is read again for each table made from stretches.
    pub keep: bool,
    /// Leave a trace folder as it is: tables that are made are not stored in it.
    pub read_only: bool,
    /// Where to look up functions that the source does not name; by default in this machine's usual places.
    pub symbols: Option<SymbolPath>,
    /// The call frame information by which copies of stacks are unwound. Options for readings of the same source share it.
    pub tables: FoundTables,
    /// How an earlier reading of the same source ended; this one must end in the same way.
    pub ending: Option<Ending>,
}

/// What to do with unknown time for which other events show the running thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Infer {
    /// Leave it unknown.
    #[default]
    No,
    /// Leave it unknown, and provide inferred stretches separately.
    Apart,
    /// Include inferred time in every table and sum (`--inferred`).
    Within,
}

/// A source, accounted for.
pub struct Accounted {
    /// Facts about the source.
    pub facts: Facts,
    /// The machine as recorded by the source, overlaid with the user's description.
    pub machine: Machine,
    /// The sums.
    pub totals: Totals,
    /// The result of reading.
    pub ingested: Ingested,
    /// The deviation from each law.
    pub laws: Laws,
    /// How it was read: sorted as a whole if an event came too late, with the states as its switches show them.
    pub reading: Reading,
}

/// Computes the sums of a source, in one reading if nothing was lost.
///
/// ```
/// use engine::{PassOptions, account, open_source};
/// use model::CpuState;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// # let path = std::path::Path::new(path);
/// let totals = account(open_source(path)?.as_ref(), &PassOptions::default())?.totals;
/// // No time is missing, and none is counted twice.
/// assert_eq!(CpuState::ALL.map(|state| totals.cpu_time(state)).into_iter().sum::<model::Ns>(), totals.cpu_time_in_all());
/// # Ok::<(), engine::EngineError>(())
/// ```
///
/// # Errors
/// As [`account_with`].
pub fn account(source: &dyn Source, options: &PassOptions) -> Result<Accounted, EngineError> {
    account_with(source, options, |_| Ok(()), |(), _| Ok(())).map(|(accounted, ())| accounted)
}

/// Like [`account()`], with a sink for stretches and a callback for events. A second reading (after a loss whose extent is known only
/// at the end, an event that came too late, or states that contradict their table) starts with a new sink: `sink` is called again.
///
/// ```
/// use engine::{PassOptions, account_with, open_source};
/// use std::cell::Cell;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// # let path = std::path::Path::new(path);
/// let (source, events) = (open_source(path)?, Cell::new(0));
/// // A second reading counts from 0 again.
/// let begin = |_: &engine::Facts| Ok(events.set(0));
/// let (accounted, ()) = account_with(source.as_ref(), &PassOptions::default(), begin, |(), batch| {
///     events.set(events.get() + batch.events.iter().filter(|event| event.is_counted()).count() as u64);
///     Ok(())
/// })?;
/// assert_eq!(events.get(), accounted.totals.events);
/// # Ok::<(), engine::EngineError>(())
/// ```
///
/// # Errors
/// The source cannot be opened, its reader fails, a second reading ends differently from the first, temporary files cannot be
/// written, or `each` fails.
pub fn account_with<S: Sink>(
    source: &dyn Source,
    options: &PassOptions,
    mut sink: impl FnMut(&Facts) -> Result<S, EngineError>,
    mut each: impl FnMut(&mut S, &mut Batch) -> Result<(), EngineError>,
) -> Result<(Accounted, S), EngineError> {
    let (mut reading, mut known, mut wakes) = (Reading::default(), Known::default(), None);
    let mut ending = options.ending.clone();
    loop {
        let failed = |fatal| EngineError::Source { path: source.path().to_owned(), fatal };
        let mut opened = source.open().map_err(failed)?;
        let tables = options.tables.begin(options.symbols.as_ref(), source.path(), &opened.facts);
        opened.streams.iter_mut().for_each(|stream| stream.unwind_by(&tables));
        let mut facts = opened.facts.clone();
        if facts.has_waking.is_none() || facts.has_wakeup.is_none() {
            let seen = match wakes {
                Some(seen) => seen,
                None => *wakes.insert(first_wakes(source)?),
            };
            facts.has_waking = facts.has_waking.or(Some(seen.waking));
            facts.has_wakeup = facts.has_wakeup.or(Some(seen.wakeup));
        }
        let mut sink = sink(&facts)?;
        let mut accountant = Accountant::new(known.rules(&facts, options));
        let ingested = ingest::run(opened, reading, Limits::default(), |batch| {
            accountant.push(batch, &mut sink);
            each(&mut sink, batch)?;
            sink.check()?;
            Ok(ControlFlow::Continue(()))
        })
        .map_err(|error| error.either(failed))?;
        EngineError::check_same_ending(
            source.path(),
            ending.get_or_insert_with(|| ingested.ending.clone()),
            &ingested.ending,
        )?;
        let mut totals = accountant.finish(&mut sink);
        sink.check()?;
        let better = Reading { sort_all: reading.sort_all || ingested.late > 0, states: ingested.states };
        if better != reading {
            reading = better;
            continue;
        }
        if known.learn(&totals) {
            continue;
        }
        if let (0, Some(fatal)) = (totals.events, &ingested.ending.stopped) {
            return Err(failed(fatal.clone()));
        }
        if options.infer == Infer::Within {
            totals = totals.with_inferred();
        }
        if ingested.has_states
            && let Some(states) = reading.states.sentence(facts.states)
        {
            facts.about.push((THREAD_STATES.to_owned(), states.to_owned()));
        }
        let machine = machine(&facts, &totals, options);
        let laws = Laws::check(&totals)?;
        return Ok((Accounted { facts, machine, totals, ingested, laws, reading }, sink));
    }
}

/// The number of wake events that decide whether a source has `sched_waking` (docs/accounting.md).
const FIRST_WAKES: usize = 10_000;

/// Which kinds of wake events occur first in a source that does not state which it has.
#[derive(Clone, Copy, Default)]
struct Wakes {
    waking: bool,
    wakeup: bool,
}

fn first_wakes(source: &dyn Source) -> Result<Wakes, EngineError> {
    let failed = |fatal| EngineError::Source { path: source.path().to_owned(), fatal };
    let (mut seen, mut left) = (Wakes::default(), FIRST_WAKES);
    let read = ingest::run(source.open().map_err(failed)?, Reading::default(), Limits::default(), |batch| {
        let kinds = batch.events.iter().filter_map(|e| match &e.what {
            EventKind::Wake(wake) => Some(wake.kind),
            _ => None,
        });
        for kind in kinds.filter(|k| matches!(k, WakeKind::Waking | WakeKind::Wakeup)).take(left) {
            seen.waking |= kind == WakeKind::Waking;
            seen.wakeup |= kind == WakeKind::Wakeup;
            left -= 1;
        }
        // Stop once both kinds were seen.
        let done = left == 0 || seen.waking && seen.wakeup;
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    // Errors at the end are reported by the full reading.
    read.map(|_| seen).map_err(|error| error.either(failed))
}

/// What a reading found that applies to its begin, so that the source is read once more with it.
#[derive(Default)]
pub(crate) struct Known {
    losses: Option<LossIndex>,
    unrecorded: Option<Vec<CpuId>>,
}

impl Known {
    /// Takes the result of a reading. Returns whether another one is needed.
    pub(crate) fn learn(&mut self, totals: &Totals) -> bool {
        if !totals.lossy_complete {
            self.losses = Some(totals.loss_index());
        }
        if !totals.unrecorded_complete {
            self.unrecorded = Some(totals.unrecorded.clone());
        }
        !totals.lossy_complete || !totals.unrecorded_complete
    }

    /// Returns the rules for a source.
    pub(crate) fn rules(&self, facts: &Facts, options: &PassOptions) -> Rules {
        let has_waking = facts.has_waking.unwrap_or(true);
        Rules {
            has_waking,
            has_wakes: has_waking || facts.has_wakeup.unwrap_or(true),
            has_yields: facts.has_yields,
            online: facts.online.clone(),
            recorded: facts.recorded.clone(),
            unrecorded: self.unrecorded.clone(),
            losses: self.losses.clone(),
            strict: options.strict_loss,
            infer: options.infer != Infer::No,
            whole_machine: facts.whole_machine,
            within: options.within,
        }
    }
}

fn machine(facts: &Facts, totals: &Totals, options: &PassOptions) -> Machine {
    let recorded = facts.machine.clone().unwrap_or_else(|| Machine::of_cpus(totals.cpus.iter().map(|c| c.cpu)));
    match &options.machine {
        Some(user) => recorded.overlay(user.clone()),
        None => recorded,
    }
}

/// Looks up the functions of callchain frames that the source does not name, on this machine. Returns a note for those that remain
/// unnamed.
pub(crate) fn name_frames(stacks: &mut Stacks, options: &PassOptions) -> Vec<String> {
    let path = options.symbols.clone().unwrap_or_else(symbols::SymbolPath::of_this_machine);
    symbols::name(stacks, &path).sentences()
}

/// Returns the collected stretches, with losses and inferred time applied as the options say.
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
