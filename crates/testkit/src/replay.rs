//! A stream of prepared events.

use ingest::{Facts, Fatal, Ledger, Opened, Reach, Stream};
use model::Batch;
use std::collections::VecDeque;

/// Returns prepared batches, each with the reach of the stream after it; the last one ends it.
#[derive(Clone, Debug, Default)]
pub struct Replay(pub VecDeque<(Batch, Reach)>);

impl Replay {
    /// Returns all events in one batch.
    #[must_use]
    pub fn all(batch: Batch) -> Self {
        Self([(batch, Reach::End)].into())
    }

    /// Returns the stream as a source.
    #[must_use]
    pub fn opened(self, facts: Facts) -> Opened<'static> {
        Opened { facts, streams: vec![Box::new(self)] }
    }
}

impl Stream for Replay {
    fn next(&mut self, out: &mut Batch, _: &mut dyn Ledger) -> Result<Reach, Fatal> {
        let Some((mut batch, reach)) = self.0.pop_front() else { return Ok(Reach::End) };
        out.events.append(&mut batch.events);
        out.names.append(&mut batch.names);
        out.stacks.append(&mut batch.stacks);
        out.sampling_off.append(&mut batch.sampling_off);
        Ok(reach)
    }
}
