//! Thread pools: threads of one process whose names differ only by a number at the end.

use crate::context::RuleContext;
use engine::EngineError;
use model::tables::threads;
use model::{Ns, ThreadKey, pool_name};
use std::collections::{BTreeMap, BTreeSet};

/// The process of each thread, where recorded.
#[derive(Default)]
pub(crate) struct Processes {
    of: BTreeMap<ThreadKey, i64>,
    /// The process that the recording was made for.
    focus: Option<i64>,
    /// The threads that were created during the recording.
    new: BTreeSet<ThreadKey>,
}

/// The threads of one name ([`pool_name`]) in one process; of one name only, if the source records no processes.
pub(crate) type Pool = (Option<i64>, String);

impl Processes {
    pub(crate) fn new(ctx: &RuleContext<'_>) -> Result<Self, EngineError> {
        let (mut of, mut new) = (BTreeMap::new(), BTreeSet::new());
        ctx.each_row(threads::Table, |row| {
            let thread = row.get(threads::THREAD);
            if let Some(pid) = row.get(threads::PID) {
                of.insert(thread, pid);
            }
            if row.get(threads::BEGIN_NS) > Ns::ZERO {
                new.insert(thread);
            }
        })?;
        Ok(Self { of, focus: ctx.facts().focus.map(i64::from), new })
    }

    /// Builds it from thread keys and their processes.
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(of: [(i64, i64); N], focus: Option<i64>) -> Self {
        Self { of: of.map(|(thread, pid)| (ThreadKey(thread), pid)).into(), focus, new: BTreeSet::new() }
    }

    /// The process of a thread, if recorded.
    pub(crate) fn process(&self, thread: ThreadKey) -> Option<i64> {
        self.of.get(&thread).copied()
    }

    /// The process that the recording was made for, if any of its threads is in the trace.
    pub(crate) fn focus(&self) -> Option<i64> {
        self.focus.filter(|focus| self.of.values().any(|pid| pid == focus))
    }

    /// Whether a thread belongs to the process that the recording was made for.
    pub(crate) fn is_focus(&self, thread: ThreadKey) -> bool {
        self.focus.is_some() && self.of.get(&thread).copied() == self.focus
    }

    /// Whether a thread had been there before the command that the recording was made for: that of a server, whose work is what others ask
    /// for.
    pub(crate) fn is_servers(&self, thread: ThreadKey) -> bool {
        self.focus().is_some() && !self.is_focus(thread) && !self.new.contains(&thread)
    }

    /// Whether the source records the processes of threads.
    pub(crate) fn are_recorded(&self) -> bool {
        !self.of.is_empty()
    }

    /// Whether two threads are of the same process; assumed if no processes are recorded.
    pub(crate) fn are_one(&self, a: ThreadKey, b: ThreadKey) -> bool {
        match (self.of.get(&a), self.of.get(&b)) {
            (Some(a), Some(b)) => a == b,
            _ => !self.are_recorded(),
        }
    }

    /// The pool of a thread.
    pub(crate) fn pool(&self, ctx: &RuleContext<'_>, thread: ThreadKey) -> Pool {
        (self.of.get(&thread).copied(), pool_name(&ctx.name(thread)).to_owned())
    }
}

/// The program of each process: the name of its first thread, without a number at the end.
#[derive(Default)]
pub(crate) struct Programs {
    processes: Processes,
    names: BTreeMap<i64, String>,
}

impl Programs {
    /// Reads the table `threads`.
    pub(crate) fn new(ctx: &RuleContext<'_>) -> Result<Self, EngineError> {
        let mut names = BTreeMap::new();
        ctx.each_row(threads::Table, |row| {
            if let Some(pid) = row.get(threads::PID).filter(|pid| *pid == i64::from(row.get(threads::TID).0)) {
                names.insert(pid, pool_name(&ctx.name(row.get(threads::THREAD))).to_owned());
            }
        })?;
        Ok(Self { processes: Processes::new(ctx)?, names })
    }

    /// The program of a thread; the number of its process, or nothing, if that is all that is recorded.
    pub(crate) fn of(&self, ctx: &RuleContext<'_>, thread: ThreadKey) -> String {
        let Some(pid) = self.processes.process(thread) else { return String::new() };
        match self.names.get(&pid) {
            Some(name) if !ctx.is_kernel_thread(thread) => name.clone(),
            _ => pid.to_string(),
        }
    }
}
