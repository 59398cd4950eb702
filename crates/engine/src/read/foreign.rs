//! A source that stands in a trace folder's place, accounted for.

use super::{Accounted, account_with, name_frames, stretches};
use crate::{EngineError, PassOptions, Source};
use account::{Collector, Sink, Stretches};
use ingest::{Facts, Limits};
use model::{Batch, Stacks};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(crate) struct Foreign {
    pub(crate) source: Box<dyn Source>,
    pub(crate) accounted: Accounted,
    /// Its callchains, and all its names.
    pub(crate) stacks: Arc<Stacks>,
    /// Where they will be asked for.
    kept: Option<Stretches>,
}

impl Foreign {
    /// Reads all of it once.
    pub(crate) fn read(source: Box<dyn Source>, options: &PassOptions) -> Result<Self, EngineError> {
        let (mut accounted, mut stacks, kept) = if options.keep {
            let (accounted, stacks, collector) = read(source.as_ref(), options, Collector::default)?;
            let kept = stretches(collector, &accounted, options);
            (accounted, stacks, Some(kept))
        } else {
            let (accounted, stacks, ()) = read(source.as_ref(), options, || ())?;
            (accounted, stacks, None)
        };
        accounted.facts.lacks.extend(name_frames(&mut stacks, options));
        Ok(Self { source, accounted, stacks: Arc::new(stacks), kept })
    }

    /// Hands on its stretches, for which it is read again where they were not kept.
    pub(crate) fn stretches<T>(
        &self,
        options: &PassOptions,
        with: impl FnOnce(&Stretches) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if let Some(kept) = &self.kept {
            return with(kept);
        }
        let begin = |_: &_| Ok(Collector::default());
        let (accounted, collector) = account_with(self.source.as_ref(), &self.again(options), begin, |_, _| Ok(()))?;
        with(&stretches(collector, &accounted, options))
    }

    /// The options of another reading, which must end as the first did.
    pub(crate) fn again(&self, options: &PassOptions) -> PassOptions {
        PassOptions { ending: Some(self.accounted.ingested.ending.clone()), ..options.clone() }
    }

    /// Reads its events once more.
    pub(crate) fn events(
        &self,
        mut each: impl FnMut(&mut Batch) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let failed = |fatal| EngineError::Source { path: self.source.path().to_owned(), fatal };
        let opened = self.source.open().map_err(failed)?;
        let read = ingest::run(opened, self.accounted.sorted_all, Limits::default(), |batch| {
            each(batch).map(ControlFlow::Continue)
        });
        let read = read.map_err(|error| error.either(failed))?;
        EngineError::unless_alike(self.source.path(), &self.accounted.ingested.ending, &read.ending)
    }
}

fn read<S: Sink>(
    source: &dyn Source,
    options: &PassOptions,
    sink: impl Fn() -> S,
) -> Result<(Accounted, Stacks, S), EngineError> {
    let stacks = RefCell::new(Stacks::default());
    let begin = |_: &Facts| {
        drop(stacks.take());
        Ok(sink())
    };
    let each = |_: &mut S, batch: &mut Batch| {
        stacks.borrow_mut().add(batch);
        Ok(())
    };
    let (accounted, sink) = account_with(source, options, begin, each)?;
    Ok((accounted, stacks.into_inner(), sink))
}
