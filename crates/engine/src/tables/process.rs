//! Which rows of a table are of a process.

use crate::{EngineError, Session};
use model::tables::{frames, threads};
use model::{Row, TableDef, Value, tables};
use std::collections::HashSet;

/// The columns of any table that tell of threads, processes, and programs of frames.
const COLUMNS: [&str; 3] = [threads::THREAD.name(), threads::PID.name(), frames::APPLICATION.name()];

/// The rows of a table that are of a process.
pub(crate) struct OfProcess {
    /// Keys of its threads.
    threads: HashSet<i64>,
    /// Its number; several, where a name is that of several processes.
    pids: HashSet<i64>,
    /// What it is called.
    name: String,
    /// Where the table has threads, processes, and programs of frames.
    cols: [Option<usize>; 3],
}

impl OfProcess {
    /// A row that tells its thread is of the process of that, whatever else it tells.
    pub(crate) fn has(&self, row: &[Value]) -> bool {
        let [thread, pid, application] = self.cols.map(|at| at.and_then(|at| row.get(at)));
        match (thread, pid, application) {
            (Some(Value::Int(thread)), ..) => self.threads.contains(thread),
            (_, Some(Value::Int(pid)), _) => self.pids.contains(pid),
            (.., Some(Value::Text(application))) => *application == self.name,
            _ => false,
        }
    }
}

impl Session {
    /// By number, by the name of a process's first thread, or by that of threads.
    ///
    /// # Errors
    /// The table tells nothing of single threads or processes, or the trace cannot be read.
    pub(crate) fn process(&self, asked: &str, def: &TableDef) -> Result<OfProcess, EngineError> {
        let cols_of = |def: &TableDef| COLUMNS.map(|col| def.col(col));
        let cols = cols_of(def);
        if cols.iter().all(Option::is_none) {
            let has = tables::ALL.iter().filter(|def| cols_of(def).iter().any(Option::is_some));
            let has: Vec<&str> = has.map(|def| def.name).collect();
            return Err(EngineError::Other(format!(
                "{} tells nothing of single processes; of one there are {}",
                def.name,
                has.join(", ")
            )));
        }
        let mut pids: HashSet<i64> = asked.parse().into_iter().collect();
        let is_number = !pids.is_empty();
        if !is_number {
            self.each_thread(&mut |t| {
                if t.name == asked && t.pid == Some(t.tid) {
                    pids.insert(t.tid);
                }
            })?;
        }
        let mut threads = HashSet::new();
        self.each_thread(&mut |t| {
            let of_pid = t.pid.is_some_and(|pid| pids.contains(&pid)) || is_number && pids.contains(&t.tid);
            if of_pid || !is_number && t.name == asked {
                threads.insert(t.thread);
            }
        })?;
        let of_frames = cols[0].is_none() && cols[2].is_some();
        if threads.is_empty() && !of_frames {
            let path = self.path().display();
            return Err(EngineError::Other(format!(
                "{path}: no thread of a process called {asked}; `corewise table {path} threads` lists all threads"
            )));
        }
        Ok(OfProcess { threads, pids, name: asked.to_owned(), cols })
    }

    /// Each row of the table of threads.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn each_thread(&self, each: &mut dyn FnMut(&Thread<'_>)) -> Result<(), EngineError> {
        self.rows_of(tables::THREADS.name, None, &mut |rows| {
            for row in rows.iter().map(|row| Row::<threads::Table>::new(row)) {
                let [thread, tid] = row.all([threads::THREAD, threads::TID]);
                each(&Thread { thread, tid, pid: row.get(threads::PID), name: row.get(threads::NAME.or_empty()) });
            }
            Ok(())
        })
    }
}

/// A row of the table of threads.
pub(crate) struct Thread<'a> {
    /// Its key.
    pub(crate) thread: i64,
    pub(crate) tid: i64,
    /// `None`: nobody told of its process.
    pub(crate) pid: Option<i64>,
    name: &'a str,
}

impl Thread<'_> {
    /// Whether it is of a process, or is the thread of that number.
    pub(crate) fn is_of(&self, pid: i64) -> bool {
        [self.pid, Some(self.tid)].contains(&Some(pid))
    }
}
