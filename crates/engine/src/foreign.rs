//! A source that stands in a trace folder's place, accounted for.

use crate::import::{name_frames, stretches};
use crate::{Accounted, EngineError, PassOptions, Source, account_with};
use account::{Collector, Sink, Stretches};
use ingest::Facts;
use model::Stacks;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, TryLockError};

pub(crate) struct Foreign {
    pub(crate) source: Box<dyn Source>,
    pub(crate) accounted: Accounted,
    /// Its callchains, and all names that it tells.
    pub(crate) stacks: Arc<Stacks>,
    /// Where they will be asked for. Locked, since rows that left memory are read by whoever holds them.
    kept: Option<Mutex<Stretches>>,
}

impl Foreign {
    /// Reads all of it once.
    pub(crate) fn read(source: Box<dyn Source>, options: &PassOptions) -> Result<Self, EngineError> {
        let (mut accounted, mut stacks, kept) = if options.keep {
            let (accounted, stacks, collector) = read(source.as_ref(), options, Collector::default)?;
            let kept = stretches(collector, &accounted, options);
            (accounted, stacks, Some(Mutex::new(kept)))
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
        with: impl FnOnce(&mut Stretches) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match self.kept.as_ref().map(Mutex::try_lock) {
            Some(Ok(mut kept)) => with(&mut kept),
            // Whoever panicked while it read them left them whole.
            Some(Err(TryLockError::Poisoned(kept))) => with(&mut kept.into_inner()),
            // Or they are being read, maybe by who asks: then once more.
            Some(Err(TryLockError::WouldBlock)) | None => {
                let begin = |_: &_| Collector::default();
                let (accounted, collector) = account_with(self.source.as_ref(), options, begin, |_, _| {})?;
                with(&mut stretches(collector, &accounted, options))
            }
        }
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
        sink()
    };
    let (accounted, sink) = account_with(source, options, begin, |_, batch| stacks.borrow_mut().add(batch))?;
    Ok((accounted, stacks.into_inner(), sink))
}
