//! Events that are at hand, as a stream.

use ingest::{Facts, Fatal, Ledger, Opened, Reach, Stream};
use model::Batch;
use std::collections::VecDeque;

/// Hands out prepared batches, each with what the stream then says of its reach; the last one ends it.
#[derive(Clone, Debug, Default)]
pub struct Replay(pub VecDeque<(Batch, Reach)>);

impl Replay {
    /// All at once, with no word of its reach before the end.
    #[must_use]
    pub fn all(batch: Batch) -> Self {
        Self([(batch, Reach::End)].into())
    }

    /// As a source.
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
        Ok(reach)
    }
}
