//! The critical path to the objective, as parts that sum to it.

use crate::{Cause, PathPart, ThreadFacts};
use engine::{EngineError, PathWindow, Session};
use model::tables::critical_path;
use model::{Ns, Row, Span, ThreadKey};
use rustc_hash::FxHashMap;

/// Time by thread and cause.
#[derive(Default)]
pub(super) struct Parts(FxHashMap<(ThreadKey, Cause), (i64, i128)>);

impl Parts {
    fn add(&mut self, thread: ThreadKey, cause: Cause, ns: i64, khz_ns: i128) {
        let sum = self.0.entry((thread, cause)).or_default();
        *sum = (sum.0 + ns, sum.1 + khz_ns);
    }

    /// The parts. The share of a thread's running time that the kernel did not charge to it is [`Cause::Steal`].
    pub(super) fn finish(self, threads: &[ThreadFacts]) -> Vec<PathPart> {
        let stolen: FxHashMap<ThreadKey, f64> = threads.iter().map(|t| (t.thread, stolen_share(t))).collect();
        let mut parts = Vec::with_capacity(self.0.len());
        for ((thread, cause), (ns, khz_ns)) in self.0 {
            let share = if matches!(cause, Cause::Running { .. }) {
                stolen.get(&thread).copied().unwrap_or_default()
            } else {
                0.0
            };
            let steal = (ns as f64 * share).round() as i64;
            if steal > 0 {
                parts.push(PathPart { thread, cause: Cause::Steal, ns: steal, khz_ns: 0 });
            }
            let khz_ns = (khz_ns as f64 * (1.0 - share)).round() as i128;
            parts.push(PathPart { thread, cause, ns: ns - steal, khz_ns });
        }
        parts.sort_by(|a, b| (a.thread, &a.cause).cmp(&(b.thread, &b.cause)));
        parts
    }
}

/// The share of a thread's running time that was not charged to it: the hypervisor or interrupts had its CPU. 0 if charges are unknown.
fn stolen_share(thread: &ThreadFacts) -> f64 {
    let value = |id: &str| thread.values.get(id).copied().unwrap_or_default();
    let (charged, of) = (value("exec_ns"), value("exec_of_ns"));
    if of > 0.0 && charged < of { (of - charged) / of } else { 0.0 }
}

/// A row of the path as a cause.
fn cause(row: &Row<'_, critical_path::Table>) -> Cause {
    match row.get(critical_path::STATE) {
        "running" => Cause::Running {
            core_type: crate::cause::core_type(row.get(critical_path::CORE_TYPE.or_empty())),
            sibling_busy: row.get(critical_path::SIBLING.or_empty()) == "busy",
        },
        "ready" => Cause::Ready(row.get(critical_path::QUEUED_BEHIND)),
        "wakeup_latency" => Cause::WakeupLatency,
        "throttled" => Cause::Throttled,
        "blocked" => Cause::Blocked(row.get(critical_path::REASON.or_empty()).to_owned()),
        _ => Cause::Unknown,
    }
}

/// A row of the path: its span and part.
struct PathRow {
    start: Ns,
    end: Ns,
    thread: ThreadKey,
    cause: Cause,
    khz: i64,
}

fn each_row(session: &Session, windows: &[PathWindow], mut each: impl FnMut(PathRow)) -> Result<(), EngineError> {
    session.path_rows(windows, &mut |rows| {
        for cells in rows {
            let row = Row::<critical_path::Table>::new(cells);
            let (start, end, thread) = row.all((critical_path::START_NS, critical_path::END_NS, critical_path::THREAD));
            let khz = row.get(critical_path::FREQ_KHZ).unwrap_or(0);
            each(PathRow { start, end, thread, cause: cause(&row), khz });
        }
        Ok(())
    })
}

/// The path to the end of the recorded command: its time from when its first thread became ready to run it to its exit, and the parts of that time.
/// `None` if no thread of the program is on the path.
pub(super) fn to_end(
    session: &Session,
    main: ThreadKey,
    exit: Ns,
    is_own: impl Fn(ThreadKey) -> bool,
) -> Result<Option<(Ns, Parts)>, EngineError> {
    let window = PathWindow { span: Span::new(Ns::ZERO, exit), thread: main };
    let (mut parts, mut begin) = (Parts::default(), None);
    each_row(session, &[window], |row| {
        // The recorder starts the program: what was before its first thread was ready is not the program's time.
        let begins = is_own(row.thread) && !matches!(row.cause, Cause::Blocked(_) | Cause::Unknown);
        if begin.is_some() || begins {
            begin.get_or_insert(row.start);
            let ns = (row.end - row.start).0;
            parts.add(row.thread, row.cause, ns, i128::from(row.khz) * i128::from(ns));
        }
    })?;
    Ok(begin.map(|begin| (exit - begin, parts)))
}

/// The paths of frames, periods or requests, in sums.
pub(super) fn of_windows(session: &Session, windows: &[PathWindow]) -> Result<Parts, EngineError> {
    let mut parts = Parts::default();
    each_row(session, windows, |row| {
        let ns = (row.end - row.start).0;
        parts.add(row.thread, row.cause, ns, i128::from(row.khz) * i128::from(ns));
    })?;
    Ok(parts)
}
