//! One reading of a source through ingest and the accountant; and again, where the first one showed that it must be.

pub(crate) mod folder;
pub(crate) mod foreign;
pub(crate) mod inferred;
mod stored;

use crate::{EngineError, Source};
use account::{Accountant, Collector, InferredIndex, Laws, LossIndex, Rules, Sink, Stretches, Totals};
use ingest::{Ending, Facts, Ingested, Limits};
use model::{Batch, Span, Stacks, WakeKind, What};
use std::ops::ControlFlow;
use symbols::SymbolPath;
use topology::Machine;

/// How to account.
#[derive(Clone, Debug, Default)]
pub struct PassOptions {
    /// Lossy time counts as unknown.
    pub strict_loss: bool,
    /// What the user says of the machine.
    pub machine: Option<Machine>,
    /// What to do about time that no chain tells.
    pub infer: Infer,
    /// Only of this part of the recording sums are made ([`account::Rules::within`]).
    pub within: Option<Span>,
    /// A file's stretches are kept as it is opened, in temporary files where they are many: for who will ask for more than its
    /// sums. Else it is read again for each table that is made of them.
    pub keep: bool,
    /// Where the names of functions are looked for that the source does not tell; else where this machine keeps them.
    pub symbols: Option<SymbolPath>,
    /// How an earlier reading of the same source ended: this one must end alike.
    pub ending: Option<Ending>,
}

/// What to do about time that is unknown, but of which other events tell who ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Infer {
    /// It stays unknown.
    #[default]
    No,
    /// It stays unknown, and what can be inferred is found beside it.
    Apart,
    /// What can be inferred stands in every table and sum (`--inferred`).
    Within,
}

/// A source, accounted for.
pub struct Accounted {
    /// What the source said of itself.
    pub facts: Facts,
    /// The machine: what the source says, under what the user says.
    pub machine: Machine,
    /// Its sums.
    pub totals: Totals,
    /// How reading went.
    pub ingested: Ingested,
    /// How far it is from each law.
    pub laws: Laws,
    /// Whether all of it had to be sorted, since an event came after its time had passed.
    pub sorted_all: bool,
}

/// The sums of a source, in one reading where nothing was lost.
///
/// # Errors
/// As [`account_with`].
pub fn account(source: &dyn Source, options: &PassOptions) -> Result<Accounted, EngineError> {
    account_with(source, options, |_| Ok(()), |(), _| Ok(())).map(|(accounted, ())| accounted)
}

/// The same, with a sink for the stretches and one for the events. A second reading (for a loss whose extent is known only
/// at the end, or an event that came too late) begins with fresh ones: `sink` is asked again.
///
/// # Errors
/// The source cannot be opened, its reader fails, a second reading ends otherwise than the first, temporary files cannot be
/// written, or `each` fails.
pub fn account_with<S: Sink>(
    source: &dyn Source,
    options: &PassOptions,
    mut sink: impl FnMut(&Facts) -> Result<S, EngineError>,
    mut each: impl FnMut(&mut S, &mut Batch) -> Result<(), EngineError>,
) -> Result<(Accounted, S), EngineError> {
    let (mut sort_all, mut losses, mut wakes) = (false, None, None);
    let mut ending = options.ending.clone();
    loop {
        let failed = |fatal| EngineError::Source { path: source.path().to_owned(), fatal };
        let opened = source.open().map_err(failed)?;
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
        let mut accountant = Accountant::new(rules(&facts, losses.clone(), options));
        let ingested = ingest::run(opened, sort_all, Limits::default(), |batch| {
            accountant.push(batch, &mut sink);
            each(&mut sink, batch)?;
            sink.check()?;
            Ok(ControlFlow::Continue(()))
        })
        .map_err(|error| error.either(failed))?;
        EngineError::unless_alike(
            source.path(),
            ending.get_or_insert_with(|| ingested.ending.clone()),
            &ingested.ending,
        )?;
        let mut totals = accountant.finish(&mut sink);
        sink.check()?;
        if ingested.late > 0 && !sort_all {
            sort_all = true;
            continue;
        }
        if !totals.lossy_complete {
            losses = Some(totals.loss_index());
            continue;
        }
        if let (0, Some(fatal)) = (totals.events, &ingested.ending.stopped) {
            return Err(failed(fatal.clone()));
        }
        if options.infer == Infer::Within {
            totals = totals.with_inferred();
        }
        let machine = machine(&facts, &totals, options);
        let laws = Laws::of(&totals)?;
        return Ok((Accounted { facts, machine, totals, ingested, laws, sorted_all: sort_all }, sink));
    }
}

/// So many wake events tell whether a source has wakings (ACCOUNTING.md).
const FIRST_WAKES: usize = 10_000;

/// Which wake events occur among the first of a source that does not say which it has.
#[derive(Clone, Copy, Default)]
struct Wakes {
    waking: bool,
    wakeup: bool,
}

fn first_wakes(source: &dyn Source) -> Result<Wakes, EngineError> {
    let failed = |fatal| EngineError::Source { path: source.path().to_owned(), fatal };
    let (mut seen, mut left) = (Wakes::default(), FIRST_WAKES);
    let read = ingest::run(source.open().map_err(failed)?, false, Limits::default(), |batch| {
        let kinds = batch.events.iter().filter_map(|e| match &e.what {
            What::Wake(wake) => Some(wake.kind),
            _ => None,
        });
        for kind in kinds.filter(|k| matches!(k, WakeKind::Waking | WakeKind::Wakeup)).take(left) {
            seen.waking |= kind == WakeKind::Waking;
            seen.wakeup |= kind == WakeKind::Wakeup;
            left -= 1;
        }
        // More can show nothing once both were seen.
        let done = left == 0 || seen.waking && seen.wakeup;
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    // How it ends shows when all of it is read.
    read.map(|_| seen).map_err(|error| error.either(failed))
}

pub(crate) fn rules(facts: &Facts, losses: Option<LossIndex>, options: &PassOptions) -> Rules {
    let has_waking = facts.has_waking.unwrap_or(true);
    Rules {
        has_waking,
        has_wakes: has_waking || facts.has_wakeup.unwrap_or(true),
        has_yields: facts.has_yields,
        online: facts.online.clone(),
        losses,
        strict: options.strict_loss,
        infer: options.infer != Infer::No,
        whole: facts.whole_machine,
        within: options.within,
    }
}

fn machine(facts: &Facts, totals: &Totals, options: &PassOptions) -> Machine {
    let told = facts.machine.clone().unwrap_or_else(|| Machine::of_cpus(totals.cpus.iter().map(|c| c.cpu)));
    match &options.machine {
        Some(user) => told.overlay(user.clone()),
        None => told,
    }
}

/// Names the frames of callchains that their source told no function of, from what this machine keeps. Gives what is to be
/// said of those that stay without.
pub(crate) fn name_frames(stacks: &mut Stacks, options: &PassOptions) -> Vec<String> {
    let path = options.symbols.clone().unwrap_or_else(symbols::SymbolPath::of_this_machine);
    symbols::name(stacks, &path).sentences()
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
