//! Stretches of threads, read from `thread_state`.

use crate::{ExportError, Job};
use model::tables::{self, thread_state};
use model::{Row, ThreadKey};

/// A stretch of a thread.
pub(crate) struct Stretch<'a> {
    /// The thread key.
    pub(crate) thread: ThreadKey,
    pub(crate) tid: i64,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) state: &'a str,
    pub(crate) cpu: Option<i64>,
    pub(crate) core_type: Option<&'a str>,
    pub(crate) reason: Option<&'a str>,
    /// The thread key of the waker.
    pub(crate) waker: Option<ThreadKey>,
    pub(crate) exec_ns: Option<i64>,
    pub(crate) prio: Option<i64>,
}

impl<'a> Stretch<'a> {
    /// Reads a row of the table.
    fn of(row: Row<'a, thread_state::Table>) -> Self {
        use thread_state::*;
        Self {
            thread: row.get(THREAD),
            tid: row.get(TID).0.into(),
            start_ns: row.get(START_NS).0,
            end_ns: row.get(END_NS).0,
            state: row.get(STATE),
            cpu: row.get(CPU),
            core_type: row.get(CORE_TYPE),
            reason: row.get(REASON),
            waker: row.get(WAKER),
            exec_ns: row.get(EXEC_NS).map(|ns| ns.0),
            prio: row.get(PRIO),
        }
    }
}

/// Calls `each` for all stretches of the job's span, in order of start; `each` may fail.
pub(crate) fn each(
    job: &mut Job<'_>,
    mut each: impl FnMut(&Stretch<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let (mut failed, mut written) = (Ok(()), 0);
    let read = job.session.rows_within(tables::THREAD_STATE.name, job.options.span, &mut |rows| {
        failed = rows.iter().try_for_each(|row| each(&Stretch::of(Row::new(row))));
        written += rows.len() as u64;
        (job.progress)(written);
        if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    });
    failed?;
    Ok(read?)
}
