//! A row of `thread_state`, read.

use crate::{ExportError, Job};
use model::{TableDef, Value, tables};

/// A stretch of a thread.
pub(crate) struct Stretch<'a> {
    /// Its key.
    pub(crate) thread: i64,
    pub(crate) tid: i64,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) state: &'a str,
    pub(crate) cpu: Option<i64>,
    pub(crate) core_type: Option<&'a str>,
    pub(crate) reason: Option<&'a str>,
    /// The key of who woke it.
    pub(crate) waker: Option<i64>,
    pub(crate) exec_ns: Option<i64>,
    pub(crate) prio: Option<i64>,
}

impl<'a> Stretch<'a> {
    /// Of a row of the table as the model declares it.
    fn of(row: &'a [Value], at: &Columns) -> Self {
        let int = |col: usize| match row.get(col) {
            Some(Value::Int(v)) => Some(*v),
            _ => None,
        };
        let text = |col: usize| match row.get(col) {
            Some(Value::Text(v)) => Some(v.as_str()),
            _ => None,
        };
        Self {
            thread: int(at.0[0]).unwrap_or(-1),
            tid: int(at.0[1]).unwrap_or(-1),
            start_ns: int(at.0[2]).unwrap_or(0),
            end_ns: int(at.0[3]).unwrap_or(0),
            state: text(at.0[4]).unwrap_or("unknown"),
            cpu: int(at.0[5]),
            core_type: text(at.0[6]),
            reason: text(at.0[7]),
            waker: int(at.0[8]),
            exec_ns: int(at.0[9]),
            prio: int(at.0[10]),
        }
    }
}

/// Where the columns stand.
struct Columns([usize; 11]);

impl Columns {
    const NAMES: [&'static str; 11] =
        ["thread", "tid", "start_ns", "end_ns", "state", "cpu", "core_type", "reason", "waker", "exec_ns", "prio"];

    fn of(def: &TableDef) -> Self {
        Self(Self::NAMES.map(|name| def.col(name).unwrap_or(usize::MAX)))
    }
}

/// All stretches of the job's span, in order of start; `each` may fail.
pub(crate) fn each(
    job: &mut Job<'_>,
    mut each: impl FnMut(&Stretch<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let columns = Columns::of(&tables::THREAD_STATE);
    let (mut failed, mut written) = (Ok(()), 0);
    let read = job.session.rows_within(tables::THREAD_STATE.name, job.options.span, &mut |rows| {
        failed = rows.iter().try_for_each(|row| each(&Stretch::of(row, &columns)));
        written += rows.len() as u64;
        (job.progress)(written);
        if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    });
    failed?;
    Ok(read?)
}
