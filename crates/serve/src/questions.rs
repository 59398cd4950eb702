//! Questions for the engine, answered one after the other in a thread of their own.

use engine::Session;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use tokio::sync::oneshot;

/// Where questions go. There are two such threads: what is told of a moment must not wait for what is reckoned of a whole time.
#[derive(Clone)]
pub(crate) struct Questions(SyncSender<Question>);

type Question = Box<dyn FnOnce(&Session) + Send>;

/// Why there is no answer, in words.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// Too many wait.
    Busy,
    /// What is asked for makes no sense, or is too much.
    Asked(String),
    /// The trace cannot be read.
    Failed(String),
}

impl Unanswered {
    /// In words.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Busy => "too much is asked at once: ask again",
            Self::Asked(why) | Self::Failed(why) => why,
        }
    }
}

impl Questions {
    /// A thread that asks the session; so many may wait for it.
    pub(crate) fn of(session: Arc<Session>, name: &str, waiting: usize) -> std::io::Result<Self> {
        let (ask, asked) = sync_channel(waiting);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || answer_all(&session, &asked))?;
        Ok(Self(ask))
    }

    /// An answer. The question is told whether who asked has left: an answer that is still being read then ends.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Session, &dyn Fn() -> bool) -> Result<T, Unanswered> + Send + 'static,
    ) -> Result<T, Unanswered> {
        let (reply, replied) = oneshot::channel();
        self.later(move |session| {
            if !reply.is_closed() {
                let answer = question(session, &|| reply.is_closed());
                let _ = reply.send(answer);
            }
        })?;
        replied.await.unwrap_or_else(|_| Err(Unanswered::Failed("the trace cannot be read".into())))
    }

    /// Something that nobody waits for.
    pub(crate) fn later(&self, question: impl FnOnce(&Session) + Send + 'static) -> Result<(), Unanswered> {
        self.0.try_send(Box::new(question)).map_err(|e| match e {
            TrySendError::Full(_) => Unanswered::Busy,
            TrySendError::Disconnected(_) => Unanswered::Failed("the trace is not read any more".into()),
        })
    }
}

fn answer_all(session: &Session, asked: &Receiver<Question>) {
    asked.iter().for_each(|question| question(session));
}
