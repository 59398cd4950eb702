//! Rows of a table that overlap a time range.

use crate::answer;
use crate::queries::QueryError;
use crate::query::Rows;
use engine::Session;
use model::Value;
use model::tables::thread_state::{CPU, THREAD, WAKER};

/// The maximum number of rows in an answer, a few megabytes.
const MAX_ROWS: usize = 100_000;

/// Returns the rows of the requested thread, CPU or waker.
pub(crate) fn rows(
    session: &Session,
    table: &str,
    query: &Rows,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<u8>, QueryError> {
    let span = query.span().map_err(QueryError::Invalid)?;
    let def = session.definition(table).map_err(|e| QueryError::Invalid(e.to_string()))?;
    let place = |col: &str, wanted: Option<Value>| {
        let none = || QueryError::Invalid(format!("{table} has no column {col}"));
        wanted.map(|wanted| Ok((def.col(col).ok_or_else(none)?, wanted))).transpose()
    };
    let only = [
        place(THREAD.name(), query.thread.map(Value::from))?,
        place(CPU.name(), query.cpu.map(Value::from))?,
        place(WAKER.name(), query.waker.map(Value::from))?,
    ];
    let mut kept: Vec<Vec<Value>> = Vec::new();
    let mut too_many = false;
    let read = session.rows_within(table, Some(span), &mut |rows| {
        let wanted = |row: &&Vec<Value>| only.iter().flatten().all(|(at, key)| row.get(*at) == Some(key));
        kept.extend(rows.iter().filter(wanted).cloned());
        too_many = kept.len() > MAX_ROWS;
        if too_many || cancelled() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    if too_many {
        return Err(QueryError::Invalid(format!("the answer has more than {MAX_ROWS} rows: request a shorter time")));
    }
    read.map_err(|e| QueryError::Failed(e.to_string()))?;
    answer::rows(def, &kept).map_err(|e| QueryError::Failed(e.to_string()))
}
