//! A file of another tool, accounted for.

use super::{Accounted, account_with, name_frames, stretches};
use crate::unwinding::FoundTables;
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
    /// The callchains and all names.
    pub(crate) stacks: Arc<Stacks>,
    /// The stretches, if the options say to keep them.
    kept: Option<Stretches>,
    /// By which copies of stacks were unwound.
    tables: FoundTables,
}

impl Foreign {
    /// Reads the whole source once.
    pub(crate) fn read(source: Box<dyn Source>, options: &PassOptions) -> Result<Self, EngineError> {
        let (mut accounted, mut stacks, kept) = if options.keep {
            let (accounted, stacks, collector) = read(source.as_ref(), options, Collector::default)?;
            let kept = stretches(collector, &accounted, options);
            (accounted, stacks, Some(kept))
        } else {
            let (accounted, stacks, ()) = read(source.as_ref(), options, || ())?;
            (accounted, stacks, None)
        };
        accounted.facts.callchain_ends = options.tables.ends().or(accounted.facts.callchain_ends);
        accounted.facts.lacks.extend(options.tables.sentences());
        accounted.facts.lacks.extend(name_frames(&mut stacks, options));
        Ok(Self { source, accounted, stacks: Arc::new(stacks), kept, tables: options.tables.clone() })
    }

    /// Passes on the stretches; reads the source again if they were not kept.
    pub(crate) fn stretches<T>(
        &self,
        options: &PassOptions,
        with: impl FnOnce(&Stretches) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if let Some(kept) = &self.kept {
            return with(kept);
        }
        let begin = |_: &_| Ok(Collector::default());
        let (accounted, collector) =
            account_with(self.source.as_ref(), &self.reread_options(options), begin, |_, _| Ok(()))?;
        with(&stretches(collector, &accounted, options))
    }

    /// Returns the options for another reading, which must end like the first.
    pub(crate) fn reread_options(&self, options: &PassOptions) -> PassOptions {
        PassOptions { ending: Some(self.accounted.ingested.ending.clone()), ..options.clone() }
    }

    /// Reads the events again.
    pub(crate) fn events(
        &self,
        mut each: impl FnMut(&mut Batch) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let failed = |fatal| EngineError::Source { path: self.source.path().to_owned(), fatal };
        let mut opened = self.source.open().map_err(failed)?;
        let tables = self.tables.begin(None, self.source.path(), &opened.facts);
        opened.streams.iter_mut().for_each(|stream| stream.unwind_by(&tables));
        let read = ingest::run(opened, self.accounted.reading, Limits::default(), |batch| {
            each(batch).map(ControlFlow::Continue)
        });
        let read = read.map_err(|error| error.either(failed))?;
        EngineError::check_same_ending(self.source.path(), &self.accounted.ingested.ending, &read.ending)
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
