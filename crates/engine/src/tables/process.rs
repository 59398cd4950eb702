//! Selects the rows of a table that belong to a process.

use crate::{EngineError, Session, did_you_mean};
use model::tables::{frames, threads};
use model::{Ns, Row, Shows, TableDef, ThreadKey, Value, tables};
use std::collections::{BTreeSet, HashSet};

/// The columns that identify threads, processes, and the programs of frames, in any table.
const COLUMNS: [&str; 3] = [threads::THREAD.name(), threads::PID.name(), frames::APPLICATION.name()];

/// Selects the rows of a table that belong to a process.
pub(crate) struct OfProcess {
    /// The keys of its threads.
    threads: HashSet<ThreadKey>,
    /// Its PID; several if several processes have the name.
    pids: HashSet<i64>,
    /// Its name.
    name: String,
    /// The places of the columns in the table.
    cols: [Option<usize>; 3],
}

impl OfProcess {
    /// The keys of its threads, which decide in tables with a column `thread`.
    pub(crate) fn threads(&self) -> &HashSet<ThreadKey> {
        &self.threads
    }

    /// Returns whether a row belongs to the process. If the row has a thread, only the thread decides.
    pub(crate) fn has(&self, row: &[Value]) -> bool {
        let [thread, pid, application] = self.cols.map(|at| at.and_then(|at| row.get(at)));
        match (thread, pid, application) {
            (Some(Value::Int(thread)), ..) => self.threads.contains(&ThreadKey(*thread)),
            (_, Some(Value::Int(pid)), _) => self.pids.contains(pid),
            (.., Some(Value::Text(application))) => *application == self.name,
            _ => false,
        }
    }
}

impl Session {
    /// Finds a process by PID, by the name of its main thread, or by the name of its threads.
    ///
    /// # Errors
    /// The table has no columns for threads or processes, or the trace cannot be read.
    pub(crate) fn process(&self, wanted: &str, def: &TableDef) -> Result<OfProcess, EngineError> {
        let cols_of = |def: &TableDef| COLUMNS.map(|col| def.col(col));
        let cols = cols_of(def);
        if cols.iter().all(Option::is_none) {
            let has = tables::ALL.iter().filter(|def| cols_of(def).iter().any(Option::is_some));
            let has: Vec<&str> = has.map(|def| def.name).collect();
            return Err(EngineError::Unfit(format!(
                "the table {} has no columns for processes; tables that have are {}",
                def.name,
                has.join(", ")
            )));
        }
        let mut pids: HashSet<i64> = wanted.parse().into_iter().collect();
        let is_number = !pids.is_empty();
        let (shown, program) = (self.shown_name(Shows::Name, wanted), self.shown_name(Shows::Program, wanted));
        if !is_number {
            self.each_thread(&mut |t| {
                if t.name == shown && t.pid == Some(t.tid) {
                    pids.insert(t.tid);
                }
            })?;
        }
        let mut threads = HashSet::new();
        self.each_thread(&mut |t| {
            let of_pid = t.pid.is_some_and(|pid| pids.contains(&pid)) || is_number && pids.contains(&t.tid);
            if of_pid || !is_number && t.name == shown {
                threads.insert(t.thread);
            }
        })?;
        let of_frames = cols[0].is_none() && cols[2].is_some();
        if threads.is_empty() && !of_frames {
            let path = self.path().display();
            let mut names = BTreeSet::new();
            self.each_thread(&mut |t| _ = names.insert(t.name.to_owned()))?;
            let meant = did_you_mean(wanted, names.iter().map(String::as_str));
            return Err(EngineError::NotFound(format!(
                "{path}: no process or thread {wanted}{meant} `corewise table {path} threads` lists all threads"
            )));
        }
        Ok(OfProcess { threads, pids, name: program, cols })
    }

    /// Passes on each row of the table of threads.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn each_thread(&self, each: &mut dyn FnMut(&Thread<'_>)) -> Result<(), EngineError> {
        self.rows_of(tables::THREADS.name, None, &mut |rows| {
            for row in rows.iter().map(|row| Row::<threads::Table>::new(row)) {
                let (thread, tid) = row.all((threads::THREAD, threads::TID));
                each(&Thread {
                    thread,
                    tid: tid.0.into(),
                    pid: row.get(threads::PID),
                    name: row.get(threads::NAME.or_empty()),
                    exited: row.get(threads::EXITED_NS),
                });
            }
            Ok(())
        })
    }
}

/// A row of the table of threads.
pub(crate) struct Thread<'a> {
    /// The thread's key.
    pub(crate) thread: ThreadKey,
    pub(crate) tid: i64,
    /// `None` if the process was not recorded.
    pub(crate) pid: Option<i64>,
    name: &'a str,
    /// The time after its exit, ns.
    pub(crate) exited: Ns,
}

impl Thread<'_> {
    /// Returns whether the thread belongs to a process or has this TID.
    pub(crate) fn is_of(&self, pid: i64) -> bool {
        [self.pid, Some(self.tid)].contains(&Some(pid))
    }
}
