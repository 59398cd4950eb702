//! TID, process and name of each thread key; one small entry per thread instance.

use crate::ExportError;
use engine::Session;
use model::ThreadKey;
use model::tables::threads;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// A thread instance.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) tid: i64,
    /// Which instance of its TID: 0, 1, …
    pub(crate) instance: i64,
    /// The process; `None` if not recorded.
    pub(crate) pid: Option<i64>,
    /// The last recorded name.
    pub(crate) name: Option<String>,
    pub(crate) begin_ns: i64,
}

impl Thread {
    /// The process under which it is shown; the thread itself if its process was not recorded.
    pub(crate) fn process(&self) -> i64 {
        self.pid.unwrap_or(self.tid)
    }

    /// Its name, or a substitute.
    pub(crate) fn shown(&self) -> Cow<'_, str> {
        self.name.as_deref().map_or_else(|| format!("thread {}", self.tid).into(), Cow::Borrowed)
    }
}

/// All thread instances of a trace.
pub(crate) struct Directory {
    /// Sorted by key.
    pub(crate) threads: Vec<(ThreadKey, Thread)>,
    by_key: FxHashMap<ThreadKey, usize>,
}

impl Directory {
    pub(crate) fn of(session: &Session) -> Result<Self, ExportError> {
        let mut threads: Vec<(ThreadKey, Thread)> = Vec::new();
        session.each(threads::Table, |row| {
            let (key, tid, instance, begin) =
                row.all((threads::THREAD, threads::TID, threads::INSTANCE, threads::BEGIN_NS));
            let (pid, name) = (row.get(threads::PID), row.get(threads::NAME).map(str::to_owned));
            threads.push((key, Thread { tid: tid.0.into(), instance, pid, name, begin_ns: begin.0 }));
        })?;
        threads.sort_by_key(|t| t.0);
        let by_key = threads.iter().enumerate().map(|(at, (key, _))| (*key, at)).collect();
        Ok(Self { threads, by_key })
    }

    pub(crate) fn get(&self, key: ThreadKey) -> Option<&Thread> {
        self.by_key.get(&key).and_then(|at| self.threads.get(*at)).map(|(_, t)| t)
    }

    /// Returns each process with a name: that of its main thread, or else of its first known thread.
    pub(crate) fn processes(&self) -> Vec<(i64, Cow<'_, str>)> {
        let mut all: Vec<(i64, Cow<'_, str>)> = Vec::new();
        let mut at: FxHashMap<i64, usize> = FxHashMap::default();
        for (_, thread) in &self.threads {
            let pid = thread.process();
            let place = *at.entry(pid).or_insert_with(|| {
                all.push((pid, thread.shown()));
                all.len() - 1
            });
            if thread.tid == pid {
                all[place].1 = thread.shown();
            }
        }
        all
    }
}
