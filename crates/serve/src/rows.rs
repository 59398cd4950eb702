//! Rows of a table that overlap a time: what is told of a moment.

use crate::answer;
use crate::asked::Rows;
use crate::questions::Unanswered;
use engine::Session;
use model::Value;
use model::tables::thread_state::{CPU, THREAD, WAKER};

/// Rows of an answer: what a person may look through, and some megabytes.
const MOST_ROWS: usize = 100_000;

/// Those of the thread, CPU or waker that is asked for.
pub(crate) fn rows(
    session: &Session,
    table: &str,
    asked: &Rows,
    left: &dyn Fn() -> bool,
) -> Result<Vec<u8>, Unanswered> {
    let span = asked.span().map_err(Unanswered::Asked)?;
    let def = session.definition(table).map_err(|e| Unanswered::Asked(e.to_string()))?;
    let place = |col: &str, key: Option<i64>| {
        let none = || Unanswered::Asked(format!("{table} has no column {col}"));
        key.map(|key| Ok((def.col(col).ok_or_else(none)?, Value::Int(key)))).transpose()
    };
    let only = [place(THREAD.name(), asked.thread)?, place(CPU.name(), asked.cpu)?, place(WAKER.name(), asked.waker)?];
    let mut kept: Vec<Vec<Value>> = Vec::new();
    let mut too_many = false;
    let read = session.rows_within(table, Some(span), &mut |rows| {
        let wanted = |row: &&Vec<Value>| only.iter().flatten().all(|(at, key)| row.get(*at) == Some(key));
        kept.extend(rows.iter().filter(wanted).cloned());
        too_many = kept.len() > MOST_ROWS;
        if too_many || left() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    if too_many {
        return Err(Unanswered::Asked(format!("these are more than {MOST_ROWS} rows: ask for a shorter time")));
    }
    read.map_err(|e| Unanswered::Failed(e.to_string()))?;
    answer::rows(def, &kept).map_err(|e| Unanswered::Failed(e.to_string()))
}
