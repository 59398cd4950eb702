//! Which threads are shown, and in which order.

use crate::gather::{Gathering, Group};
use crate::{Options, words};
use engine::{EngineError, Session};
use model::tables::{self, ready_wait, threads};
use model::{Ns, Row, ThreadKey};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A row of `threads`.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub key: ThreadKey,
    pub tid: i64,
    pub instance: i64,
    pub pid: Option<i64>,
    pub name: String,
    pub running: Ns,
    /// Running time that the kernel did not charge: stolen, or spent in interrupts.
    pub stolen: Option<Ns>,
    pub ready: Ns,
    /// The part of it in which a CPU quota kept it from running, where that is known without a pass over the recording.
    pub throttled: Ns,
    pub blocked: Ns,
    pub unknown: Ns,
    /// Running time that was inferred.
    pub inferred: Ns,
    pub exited: Ns,
    pub involuntary: i64,
    pub voluntary: i64,
    pub max_ready: Ns,
    pub migrations: i64,
}

impl Thread {
    /// The TID, with the number of the instance if the TID was reused.
    pub fn number(&self) -> String {
        if self.instance > 0 { format!("{}:{}", self.tid, self.instance) } else { self.tid.to_string() }
    }

    /// Whether the recording shows why threads left their CPUs. Without it, all switch-outs are counted as voluntary.
    pub fn has_switch_out_reasons(&self) -> bool {
        self.voluntary == 0
            || self.involuntary > 0
            || self.ready > Ns::ZERO
            || self.blocked > Ns::ZERO
            || self.exited > Ns::ZERO
    }

    /// Adds another thread's sums. The times of a damaged file may overflow.
    pub fn add(&mut self, other: &Self) {
        self.running += other.running;
        if let Some(more) = other.stolen {
            self.stolen = Some(self.stolen.unwrap_or(Ns::ZERO) + more);
        }
        self.ready += other.ready;
        self.throttled += other.throttled;
        self.blocked += other.blocked;
        self.unknown += other.unknown;
        self.inferred += other.inferred;
        self.exited += other.exited;
        self.involuntary = self.involuntary.saturating_add(other.involuntary);
        self.voluntary = self.voluntary.saturating_add(other.voluntary);
        self.max_ready = self.max_ready.max(other.max_ready);
        self.migrations = self.migrations.saturating_add(other.migrations);
    }
}

impl From<Row<'_, threads::Table>> for Thread {
    fn from(row: Row<'_, threads::Table>) -> Self {
        use threads::*;
        let stolen = row.get(EXEC_OF_NS).zip(row.get(EXEC_NS)).map(|(of, exec)| of - exec);
        Self {
            key: row.get(THREAD),
            tid: row.get(TID).0.into(),
            instance: row.get(INSTANCE),
            pid: row.get(PID),
            name: words::plain(row.get(NAME).unwrap_or("?")),
            running: row.get(RUNNING_NS),
            stolen,
            ready: row.get(READY_NS),
            throttled: Ns::ZERO,
            blocked: row.get(BLOCKED_NS),
            unknown: row.get(UNKNOWN_NS),
            inferred: row.get(INFERRED_NS.or_zero()),
            exited: row.get(EXITED_NS),
            involuntary: row.get(INVOLUNTARY),
            voluntary: row.get(VOLUNTARY),
            max_ready: row.get(MAX_READY_NS),
            migrations: row.get(MIGRATIONS),
        }
    }
}

/// How long each thread was kept from running by a CPU quota, where that is known without a pass over the recording.
pub fn throttled(session: &Session) -> Result<HashMap<ThreadKey, Ns>, EngineError> {
    let mut throttled = HashMap::new();
    if session.is_at_hand(&tables::READY_WAIT) {
        session.each(ready_wait::Table, |row| {
            let ns = row.get(ready_wait::THROTTLED_NS).unwrap_or(Ns::ZERO);
            if ns > Ns::ZERO {
                throttled.insert(row.get(ready_wait::THREAD), ns);
            }
        })?;
    }
    Ok(throttled)
}

/// Calls the given function for all threads, each time that it is called.
type Threads<'a> = &'a dyn Fn(&mut dyn FnMut(Thread)) -> Result<(), EngineError>;

/// The groups: the requested process; or the recorded process and all others; or all threads.
pub fn groups(session: &Session, options: &Options) -> Result<Vec<Group>, EngineError> {
    let throttled = throttled(session)?;
    let threads = |each: &mut dyn FnMut(Thread)| {
        session.each(threads::Table, |row| {
            let thread = Thread::from(row);
            let throttled = throttled.get(&thread.key).copied().unwrap_or(Ns::ZERO);
            each(Thread { throttled, ..thread });
        })
    };
    if let Some(requested) = &options.process {
        return of_process(requested, &threads, options)?.map(|group| vec![group]).ok_or_else(|| {
            let (path, place) =
                (session.path().display(), if session.range().is_some() { " in this range" } else { "" });
            let mut names = BTreeSet::new();
            let _ = threads(&mut |thread| _ = names.insert(thread.name));
            let meant = engine::did_you_mean(requested, names.iter().map(String::as_str));
            EngineError::NotFound(format!(
                "{path}: no thread of a process named {requested}{place}{meant} `corewise report {path}` shows all threads"
            ))
        });
    }
    let focus = session.facts().focus.map(i64::from);
    let (mut inside, mut outside) = (OfPid::new(focus, options), Gathering::new(options));
    threads(&mut |t| if focus.is_some() && t.pid == focus { inside.add(t) } else { outside.add(t) })?;
    let mut groups: Vec<Group> = inside.finish().into_iter().collect();
    let title = if groups.is_empty() { "Threads" } else { "All other threads" };
    if !outside.is_empty() {
        groups.push(outside.finish(title.to_owned()));
    }
    Ok(groups)
}

/// The threads of a process with a known PID.
struct OfPid {
    pid: Option<i64>,
    name: Option<String>,
    threads: Gathering,
}

impl OfPid {
    fn new(pid: Option<i64>, options: &Options) -> Self {
        Self { pid, name: None, threads: Gathering::new(options) }
    }

    fn add(&mut self, thread: Thread) {
        // The name of its first thread, in the first instance.
        if self.name.is_none() && Some(thread.tid) == self.pid {
            self.name = Some(format!(" ({})", thread.name));
        }
        self.threads.add(thread);
    }

    fn finish(self) -> Option<Group> {
        let pid = self.pid.filter(|_| !self.threads.is_empty())?;
        Some(self.threads.finish(format!("Threads of process {pid}{}", self.name.unwrap_or_default())))
    }
}

fn of_process(requested: &str, threads: Threads<'_>, options: &Options) -> Result<Option<Group>, EngineError> {
    if let Ok(pid) = requested.parse::<i64>() {
        let mut of = OfPid::new(Some(pid), options);
        threads(&mut |t| {
            if t.pid == Some(pid) || t.tid == pid {
                of.add(t);
            }
        })?;
        return Ok(of.finish());
    }
    let mut pids = HashSet::new();
    threads(&mut |t| {
        if t.name == requested && t.pid == Some(t.tid) {
            pids.insert(t.tid);
        }
    })?;
    let mut of = Gathering::new(options);
    threads(&mut |t| {
        if t.name == requested || t.pid.is_some_and(|p| pids.contains(&p)) {
            of.add(t);
        }
    })?;
    Ok((!of.is_empty()).then(|| of.finish(format!("Threads of {requested}"))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_process_is_found_by_pid_or_by_a_thread_name() {
        let thread = |key, pid, name: &str| Thread {
            key: ThreadKey(key),
            tid: key,
            pid: Some(pid),
            name: name.to_owned(),
            ..Thread::default()
        };
        let all = [thread(10, 10, "game"), thread(11, 10, "Render"), thread(12, 12, "hog")];
        let threads = |each: &mut dyn FnMut(Thread)| {
            all.iter().cloned().for_each(each);
            Ok(())
        };
        let group = |requested| of_process(requested, &threads, &Options::default()).unwrap();
        let keys = |requested| group(requested).unwrap().shown.iter().map(|t| t.key).collect::<Vec<_>>();
        assert_eq!(keys("10"), [10, 11].map(ThreadKey));
        assert_eq!(keys("game"), [10, 11].map(ThreadKey));
        assert_eq!(keys("Render"), [11].map(ThreadKey));
        assert!(group("missing").is_none());
        assert_eq!(group("10").unwrap().title, "Threads of process 10 (game)");
    }
}
