//! What one recording of a command shows: how long it took, and what else used the CPUs meanwhile.

use super::Disturbance;
use engine::{EngineError, Session};
use model::tables::{threads, wakers};
use model::{Ns, ThreadKey};
use rustc_hash::{FxHashMap, FxHashSet};

/// Two processes that woke each other's threads this often work together, as a client and its server do.
const MIN_WAKEUPS: i64 = 20;

/// What one recording shows.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measured {
    /// From the start of the recording, with which the command starts, to the command's exit, ns; `None` if the exit was not recorded.
    pub wall_ns: Option<i64>,
    /// What else used the CPUs.
    pub disturbance: Disturbance,
}

/// Measures the recording of a command. Time of kernel threads and of interrupts counts for no program, as the command may be their cause.
///
/// # Errors
/// The trace cannot be read.
pub fn measure(session: &Session) -> Result<Measured, EngineError> {
    let (summary, facts) = (session.summary(), session.facts());
    let threads = read_threads(session)?;
    let Some(focus) = facts.focus.map(i64::from) else { return Ok(Measured::default()) };
    let recorder = facts.recorder.map(i64::from);
    let own = own_processes(session, &threads, focus, recorder, Own::Exchanging)?;
    let exited = threads.values().find(|t| t.tid == focus && t.exited_ns > 0).map(|t| t.exited_ns);
    let mut other: FxHashMap<i64, i64> = FxHashMap::default();
    for thread in threads.values().filter(|t| !t.is_kernel) {
        let Some(pid) = thread.pid.filter(|pid| Some(*pid) != recorder && !own.contains(pid)) else { continue };
        *other.entry(pid).or_default() += thread.running_ns;
    }
    let all = summary.busy_ns.saturating_add(summary.idle_ns).saturating_add(summary.unknown_ns);
    let share = |ns: i64| (all > 0).then(|| (ns as f64 / all as f64).clamp(0.0, 1.0));
    let most = other.iter().filter(|(_, ns)| **ns > 0).max_by_key(|(pid, ns)| (**ns, **pid)).map(|(pid, _)| *pid);
    let steal = facts.conditions.iter().find(|c| c.name == "steal_ns");
    let steal = steal.and_then(|c| Some((total(c.end.as_ref().ok()?)? - total(c.start.as_ref().ok()?)?).max(0)));
    let disturbance = Disturbance {
        steal_share: steal.and_then(share),
        other_share: share(other.values().sum()),
        most_of_other: most.map_or_else(String::new, |pid| name_of(&threads, pid)),
    };
    Ok(Measured { wall_ns: exited.map(|exited| summary.span_ns - exited), disturbance })
}

/// A thread, as far as it is needed here. Times in ns.
pub(super) struct Thread {
    tid: i64,
    pub pid: Option<i64>,
    name: String,
    running_ns: i64,
    exited_ns: i64,
    /// Whether it began during the recording.
    is_new: bool,
    pub is_kernel: bool,
}

/// Which processes count as the command's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// Those that it started.
    Started,
    /// Also those with which these exchange wakeups, as with a server.
    Exchanging,
}

pub(super) fn read_threads(session: &Session) -> Result<FxHashMap<ThreadKey, Thread>, EngineError> {
    let mut all = FxHashMap::default();
    session.each(threads::Table, |row| {
        let name = row.get(threads::NAME).unwrap_or_default();
        let thread = Thread {
            tid: row.get(threads::TID).0.into(),
            pid: row.get(threads::PID),
            name: model::words::plain(name),
            running_ns: row.get(threads::RUNNING_NS).0,
            exited_ns: row.get(threads::EXITED_NS).0,
            is_new: row.get(threads::BEGIN_NS) > Ns::ZERO,
            is_kernel: model::is_kernel_thread(name),
        };
        all.insert(row.get(threads::THREAD), thread);
    })?;
    Ok(all)
}

/// Returns the processes of the command.
pub(super) fn own_processes(
    session: &Session,
    threads: &FxHashMap<ThreadKey, Thread>,
    focus: i64,
    recorder: Option<i64>,
    own_are: Own,
) -> Result<FxHashSet<i64>, EngineError> {
    let of = |thread: ThreadKey| threads.get(&thread).filter(|t| !t.is_kernel && t.pid.is_some() && t.pid != recorder);
    let (mut started, mut together) = (Vec::new(), FxHashMap::<(i64, i64), i64>::default());
    session.each(wakers::Table, |row| {
        let (woken, waker) = (of(row.get(wakers::THREAD)), of(row.get(wakers::WAKER).unwrap_or(ThreadKey::IDLE)));
        let (Some(woken), Some(waker)) = (woken, waker) else { return };
        let (Some(to), Some(by)) = (woken.pid, waker.pid) else { return };
        if to != by {
            if woken.is_new {
                started.push((by, to));
            }
            *together.entry((by.min(to), by.max(to))).or_default() += row.get(wakers::WAKINGS);
        }
    })?;
    together.retain(|_, wakeups| own_are == Own::Exchanging && *wakeups >= MIN_WAKEUPS);
    let mut own = FxHashSet::from_iter([focus]);
    loop {
        let before = own.len();
        own.extend(started.iter().filter(|(by, _)| own.contains(by)).map(|(_, to)| *to).collect::<Vec<_>>());
        let pairs = together.keys().filter(|(a, b)| own.contains(a) || own.contains(b));
        own.extend(pairs.flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>());
        if own.len() == before {
            return Ok(own);
        }
    }
}

/// Returns the PIDs of the recorded command's processes: itself and those that it started. `None` if no command was recorded.
///
/// # Errors
/// The trace cannot be read.
pub fn command_processes(session: &Session) -> Result<Option<FxHashSet<i64>>, EngineError> {
    let facts = session.facts();
    let Some(focus) = facts.focus.map(i64::from) else { return Ok(None) };
    let recorder = facts.recorder.map(i64::from);
    own_processes(session, &read_threads(session)?, focus, recorder, Own::Started).map(Some)
}

/// The name of a process: of its main thread, else of any of its threads.
fn name_of(threads: &FxHashMap<ThreadKey, Thread>, pid: i64) -> String {
    let of = threads.values().filter(|t| t.pid == Some(pid) && !t.name.is_empty());
    of.min_by_key(|t| (t.tid != pid, t.tid)).map_or_else(String::new, |t| t.name.clone())
}

/// Returns the sum of `cpu0=1 cpu1=2`, ns.
fn total(of: &str) -> Option<i64> {
    of.split_whitespace().map(|word| word.split_once('=')?.1.parse::<i64>().ok()).sum()
}
