//! One reading of a source through ingest and the accountant; and again, where the first one showed that it must be.

use crate::{EngineError, Source};
use account::{Accountant, Laws, LossIndex, Rules, Sink, Totals};
use ingest::{Facts, Ingested, Limits};
use model::Batch;
use topology::Machine;

/// How to account.
#[derive(Clone, Debug, Default)]
pub struct PassOptions {
    /// Lossy time counts as unknown.
    pub strict_loss: bool,
    /// What the user says of the machine.
    pub machine: Option<Machine>,
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
    mut each: impl FnMut(&mut S, &Batch),
) -> Result<(Accounted, S), EngineError> {
    let (mut sort_all, mut losses) = (false, None);
    loop {
        let failed = |fatal| EngineError::Source { path: source.path().to_owned(), fatal };
        let opened = source.open().map_err(failed)?;
        let facts = opened.facts.clone();
        let mut sink = sink(&facts);
        let mut accountant = Accountant::new(rules(&facts, losses.clone(), options.strict_loss));
        let ingested = ingest::run(opened, sort_all, Limits::default(), |batch| {
            accountant.push(batch, &mut sink);
            each(&mut sink, batch);
        });
        let totals = accountant.finish(&mut sink);
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
        let machine = machine(&facts, &totals, options);
        let laws = Laws::of(&totals);
        return Ok((Accounted { facts, machine, totals, ingested, laws, sorted_all: sort_all }, sink));
    }
}

fn rules(facts: &Facts, losses: Option<LossIndex>, strict: bool) -> Rules {
    let has_waking = facts.has_waking.unwrap_or(true);
    Rules {
        has_waking,
        has_wakes: has_waking || facts.has_wakeup.unwrap_or(true),
        online: facts.online.clone(),
        losses,
        strict,
    }
}

fn machine(facts: &Facts, totals: &Totals, options: &PassOptions) -> Machine {
    let told = facts.machine.clone().unwrap_or_else(|| Machine::of_cpus(totals.cpus.iter().map(|c| c.cpu)));
    match &options.machine {
        Some(user) => told.overlay(user.clone()),
        None => told,
    }
}
