//! One reading of a source through ingest and the accountant; and again, where the first one showed that it must be.

use crate::{EngineError, Source};
use account::{Accountant, Laws, LossIndex, Rules, Sink, Totals};
use ingest::{Facts, Ingested, Limits, Ordered};
use model::{Batch, Span, WakeKind, What};
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
/// The source cannot be opened.
pub fn account(source: &dyn Source, options: &PassOptions) -> Result<Accounted, EngineError> {
    account_with(source, options, |_| (), |(), _| {}).map(|(accounted, ())| accounted)
}

/// The same, with a sink for the stretches and one for the events. A second reading (for a loss whose extent is known only
/// at the end, or an event that came too late) begins with fresh ones: `sink` is asked again.
///
/// # Errors
/// The source cannot be opened.
pub fn account_with<S: Sink>(
    source: &dyn Source,
    options: &PassOptions,
    mut sink: impl FnMut(&Facts) -> S,
    mut each: impl FnMut(&mut S, &mut Batch),
) -> Result<(Accounted, S), EngineError> {
    let (mut sort_all, mut losses, mut wakes) = (false, None, None);
    loop {
        let failed = |fatal| EngineError::Source { path: source.path().to_owned(), fatal };
        let opened = source.open().map_err(failed)?;
        let mut facts = opened.facts.clone();
        if facts.has_waking.is_none() || facts.has_wakeup.is_none() {
            let seen = match wakes {
                Some(seen) => seen,
                None => *wakes.insert(first_wakes(source).map_err(failed)?),
            };
            facts.has_waking = facts.has_waking.or(Some(seen.waking));
            facts.has_wakeup = facts.has_wakeup.or(Some(seen.wakeup));
        }
        let mut sink = sink(&facts);
        let mut accountant = Accountant::new(rules(&facts, losses.clone(), options));
        let ingested = ingest::run(opened, sort_all, Limits::default(), |batch| {
            accountant.push(batch, &mut sink);
            each(&mut sink, batch);
        });
        let mut totals = accountant.finish(&mut sink);
        if ingested.late > 0 && !sort_all {
            sort_all = true;
            continue;
        }
        if !totals.lossy_complete {
            losses = Some(totals.loss_index());
            continue;
        }
        if let (0, Some(fatal)) = (totals.events, &ingested.stopped) {
            return Err(failed(fatal.clone()));
        }
        if options.infer == Infer::Within {
            totals = totals.with_inferred();
        }
        let machine = machine(&facts, &totals, options);
        let laws = Laws::of(&totals).map_err(EngineError::temporary)?;
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

fn first_wakes(source: &dyn Source) -> Result<Wakes, ingest::Fatal> {
    let mut ordered = Ordered::new(source.open()?, false, Limits::default());
    let (mut batch, mut seen, mut left) = (Batch::default(), Wakes::default(), FIRST_WAKES);
    // More can tell nothing once both were seen.
    while left > 0 && !(seen.waking && seen.wakeup) && ordered.next(&mut batch) {
        let kinds = batch.events.iter().filter_map(|e| match &e.what {
            What::Wake(wake) => Some(wake.kind),
            _ => None,
        });
        for kind in kinds.filter(|k| matches!(k, WakeKind::Waking | WakeKind::Wakeup)).take(left) {
            seen.waking |= kind == WakeKind::Waking;
            seen.wakeup |= kind == WakeKind::Wakeup;
            left -= 1;
        }
    }
    Ok(seen)
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
