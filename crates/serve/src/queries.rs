//! Queries to the engine, answered one after the other in a separate thread.

use engine::Session;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use tokio::sync::oneshot;

/// A thread that answers queries. There are two: short lookups must not wait for computations over a time range.
#[derive(Clone)]
pub(crate) struct Worker(SyncSender<Query>);

type Query = Box<dyn FnOnce(&Session) + Send>;

/// Why a query failed.
#[derive(Debug)]
pub(crate) enum QueryError {
    /// Too many queries are waiting.
    Busy,
    /// The query is invalid or too large.
    Invalid(String),
    /// The trace cannot be read.
    Failed(String),
}

impl QueryError {
    /// Returns the message.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Busy => "the server is busy: try again",
            Self::Invalid(why) | Self::Failed(why) => why,
        }
    }
}

impl Worker {
    /// Starts a thread for a session; at most `waiting` queries wait for it.
    pub(crate) fn start(session: Arc<Session>, name: &str, waiting: usize) -> std::io::Result<Self> {
        let (send, queries) = sync_channel(waiting);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || answer_all(&session, &queries))?;
        Ok(Self(send))
    }

    /// Waits for an answer. The query can check whether the client has disconnected, and then end early.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Session, &dyn Fn() -> bool) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, QueryError> {
        let (reply, replied) = oneshot::channel();
        self.queue(move |session| {
            if !reply.is_closed() {
                let answer = query(session, &|| reply.is_closed());
                let _ = reply.send(answer);
            }
        })?;
        replied.await.unwrap_or_else(|_| Err(QueryError::Failed("the trace cannot be read".into())))
    }

    /// Queues a query without waiting for its answer.
    pub(crate) fn queue(&self, query: impl FnOnce(&Session) + Send + 'static) -> Result<(), QueryError> {
        self.0.try_send(Box::new(query)).map_err(|e| match e {
            TrySendError::Full(_) => QueryError::Busy,
            TrySendError::Disconnected(_) => QueryError::Failed("the thread that reads the trace has ended".into()),
        })
    }
}

fn answer_all(session: &Session, queries: &Receiver<Query>) {
    queries.iter().for_each(|query| query(session));
}
