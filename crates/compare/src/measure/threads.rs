//! What each thread of a run did, from tables.

use crate::ThreadFacts;
use diagnose::Program;
use engine::{EngineError, Session};
use model::tables::{ready_wait, threads, waits, wakers};
use model::{Ns, ThreadKey};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The tables that [`threads()`] reads.
pub const TABLES: [&str; 4] = ["threads", "wakers", "waits", "ready_wait"];

/// Reads what each thread did, but for the idle task. The values are `running_ns`, `ready_ns`, `blocked_ns`, `unknown_ns`, `exited_ns`,
/// `exec_ns`, `exec_of_ns`, `voluntary`, `involuntary`, `migrations`, `running_count` and `wakings` (how often it was woken), where recorded.
///
/// # Errors
/// The trace cannot be read.
pub fn threads(session: &Session) -> Result<Vec<ThreadFacts>, EngineError> {
    session.prepare(&TABLES)?;
    let (names, program) = (session.names()?, Program::of(session)?);
    let ready_known = session.summary().ready_known;
    let mut facts = Vec::new();
    session.each(threads::Table, |row| {
        let thread = row.get(threads::THREAD);
        if thread == ThreadKey::IDLE {
            return;
        }
        let (tid, pid, name) =
            (i64::from(row.get(threads::TID).0), row.get(threads::PID), names.get(thread).unwrap_or_default());
        let timed = [
            ("running_ns", Some(row.get(threads::RUNNING_NS))),
            // Without wakeups, both would be bounds.
            ("ready_ns", ready_known.then(|| row.get(threads::READY_NS))),
            ("blocked_ns", Some(row.get(threads::BLOCKED_NS))),
            ("unknown_ns", Some(row.get(threads::UNKNOWN_NS))),
            ("exited_ns", Some(row.get(threads::EXITED_NS))),
            ("exec_ns", row.get(threads::EXEC_NS)),
            ("exec_of_ns", row.get(threads::EXEC_OF_NS)),
        ];
        let switched = [
            ("voluntary", row.get(threads::VOLUNTARY)),
            ("involuntary", row.get(threads::INVOLUNTARY)),
            ("migrations", row.get(threads::MIGRATIONS)),
        ];
        let times = timed.into_iter().filter_map(|(id, ns)| Some((id, ns?.as_f64())));
        facts.push(ThreadFacts {
            thread,
            tid,
            pid,
            name: name.to_owned(),
            process: String::new(),
            is_own: program.is_own(thread),
            is_focus: program.is_focus(thread),
            // A kernel thread is a process of its own.
            is_kernel: pid.is_none_or(|pid| pid == tid) && model::is_kernel_thread(name),
            begin_ns: row.get(threads::BEGIN_NS).0,
            exited: row.get(threads::EXITED_NS) > Ns::ZERO,
            values: times.chain(switched.map(|(id, count)| (id, count as f64))).collect(),
            wakers: Vec::new(),
            waits: Vec::new(),
        });
    })?;
    name_processes(&mut facts);
    let at: FxHashMap<ThreadKey, usize> = facts.iter().enumerate().map(|(at, of)| (of.thread, at)).collect();
    session.each(wakers::Table, |row| {
        let (Some(waker), Some(at)) = (row.get(wakers::WAKER), at.get(&row.get(wakers::THREAD))) else { return };
        let Some(of) = facts.get_mut(*at) else { return };
        let wakings = row.get(wakers::WAKINGS);
        of.wakers.push((waker, wakings));
        *of.values.entry("wakings").or_default() += wakings as f64;
    })?;
    let mut by_cause = BTreeMap::<(usize, String), Ns>::new();
    session.each(waits::Table, |row| {
        let Some(at) = at.get(&row.get(waits::THREAD)) else { return };
        let (reason, letter) = (row.get(waits::REASON.or_empty()), row.get(waits::STATE_LETTER.or_empty()));
        let cause = if reason.is_empty() { letter } else { reason };
        let sum = by_cause.entry((*at, cause.to_owned())).or_default();
        *sum += row.get(waits::BLOCKED_NS);
    })?;
    for ((at, cause), ns) in by_cause {
        if let Some(of) = facts.get_mut(at) {
            of.waits.push((cause, ns.0));
        }
    }
    session.each(ready_wait::Table, |row| {
        if let Some(of) = at.get(&row.get(ready_wait::THREAD)).and_then(|at| facts.get_mut(*at)) {
            of.values.insert("running_count", row.get(ready_wait::RUNNING_COUNT) as f64);
        }
    })?;
    Ok(facts)
}

/// A process has the name of its main thread; of several instances of its TID, that of the last.
fn name_processes(facts: &mut [ThreadFacts]) {
    let main: FxHashMap<i64, String> = facts
        .iter()
        .filter(|of| of.pid == Some(of.tid) && !of.name.is_empty())
        .map(|of| (of.tid, of.name.clone()))
        .collect();
    for of in facts {
        if let Some(name) = of.pid.and_then(|pid| main.get(&pid)) {
            of.process.clone_from(name);
        }
    }
}
