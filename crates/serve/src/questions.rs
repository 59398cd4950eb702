//! Questions for the engine, answered one after the other in a thread of their own.

use crate::answer;
use crate::asked::Rows;
use engine::Session;
use model::Value;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use tokio::sync::oneshot;

/// That may wait for an answer.
const WAITING: usize = 32;
/// Rows of an answer: what a person may look through, and some megabytes.
const MOST_ROWS: usize = 100_000;

/// Where questions go.
#[derive(Clone)]
pub(crate) struct Questions(SyncSender<Question>);

struct Question {
    table: String,
    asked: Rows,
    reply: oneshot::Sender<Result<Vec<u8>, Unanswered>>,
}

/// Why there is no answer, in words.
pub(crate) enum Unanswered {
    /// Too many wait.
    Busy,
    /// What is asked for makes no sense, or is too much.
    Asked(String),
    /// The trace cannot be read.
    Failed(String),
}

impl Questions {
    /// A thread that asks the session.
    pub(crate) fn of(session: Session) -> std::io::Result<Self>
    where
        Session: Send,
    {
        let (ask, asked) = sync_channel(WAITING);
        std::thread::Builder::new().name("questions".into()).spawn(move || answer_all(&session, &asked))?;
        Ok(Self(ask))
    }

    /// Rows of a table.
    pub(crate) async fn rows(&self, table: String, asked: Rows) -> Result<Vec<u8>, Unanswered> {
        let (reply, replied) = oneshot::channel();
        self.0.try_send(Question { table, asked, reply }).map_err(|e| match e {
            TrySendError::Full(_) => Unanswered::Busy,
            TrySendError::Disconnected(_) => Unanswered::Failed("the trace is not read any more".into()),
        })?;
        replied.await.unwrap_or_else(|_| Err(Unanswered::Failed("the trace cannot be read".into())))
    }
}

fn answer_all(session: &Session, asked: &Receiver<Question>) {
    for Question { table, asked, reply } in asked {
        // Whoever left needs no answer.
        if !reply.is_closed() {
            let _ = reply.send(answer(session, &table, &asked));
        }
    }
}

fn answer(session: &Session, table: &str, asked: &Rows) -> Result<Vec<u8>, Unanswered> {
    let span = asked.span().map_err(Unanswered::Asked)?;
    let def = session.definition(table).map_err(|e| Unanswered::Asked(e.to_string()))?;
    let place = |col: &str, key: Option<i64>| {
        let none = || Unanswered::Asked(format!("{table} has no column {col}"));
        key.map(|key| Ok((def.col(col).ok_or_else(none)?, Value::Int(key)))).transpose()
    };
    let only = [place("thread", asked.thread)?, place("cpu", asked.cpu)?];
    let mut kept: Vec<Vec<Value>> = Vec::new();
    let mut too_many = false;
    let read = session.rows_within(table, Some(span), &mut |rows| {
        let wanted = |row: &&Vec<Value>| only.iter().flatten().all(|(at, key)| row.get(*at) == Some(key));
        kept.extend(rows.iter().filter(wanted).cloned());
        too_many = kept.len() > MOST_ROWS;
        if too_many { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    if too_many {
        return Err(Unanswered::Asked(format!("these are more than {MOST_ROWS} rows: ask for a shorter time")));
    }
    read.map_err(|e| Unanswered::Failed(e.to_string()))?;
    answer::rows(def, &kept).map_err(|e| Unanswered::Failed(e.to_string()))
}
