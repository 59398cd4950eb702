//! Threads that share work: those of one process that are called alike, but for a number at the end.

use crate::given::Given;
use engine::EngineError;
use model::tables::threads;
use std::collections::BTreeMap;

/// Of which process each thread is, where told.
#[derive(Default)]
pub(crate) struct Processes {
    of: BTreeMap<i64, i64>,
    /// The process that the recording was made for.
    focus: Option<i64>,
}

/// The threads of one name ([`base`]) in one process; of sources that tell no processes, of one name.
pub(crate) type Pool = (Option<i64>, String);

impl Processes {
    pub(crate) fn new(given: &Given<'_>) -> Result<Self, EngineError> {
        let mut of = BTreeMap::new();
        given.each(threads::Table, |row| {
            if let Some(pid) = row.get(threads::PID) {
                of.insert(row.get(threads::THREAD), pid);
            }
        })?;
        Ok(Self { of, focus: given.facts().focus.map(i64::from) })
    }

    /// By threads' keys and their processes.
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(of: [(i64, i64); N], focus: Option<i64>) -> Self {
        Self { of: of.into(), focus }
    }

    /// The process that the recording was made for, where any thread is of it.
    pub(crate) fn focus(&self) -> Option<i64> {
        self.focus.filter(|focus| self.of.values().any(|pid| pid == focus))
    }

    /// Whether a thread is of the process that the recording was made for.
    pub(crate) fn is_focus(&self, thread: i64) -> bool {
        self.focus.is_some() && self.of.get(&thread).copied() == self.focus
    }

    /// Whether anything tells of which process threads are.
    pub(crate) fn are_told(&self) -> bool {
        !self.of.is_empty()
    }

    /// Whether two threads are of one process; where nobody tells processes at all, they may be.
    pub(crate) fn are_one(&self, a: i64, b: i64) -> bool {
        match (self.of.get(&a), self.of.get(&b)) {
            (Some(a), Some(b)) => a == b,
            _ => !self.are_told(),
        }
    }

    /// To which pool a thread belongs.
    pub(crate) fn pool(&self, given: &Given<'_>, thread: i64) -> Pool {
        (self.of.get(&thread).copied(), base(&given.name(thread)).to_owned())
    }
}

/// A thread's name without the number that tells it from others of its pool: `worker 3`, `pool-1-thread-7`, `io_thread2`. What is
/// nothing but a number stays.
pub(crate) fn base(name: &str) -> &str {
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let base = word.trim_end_matches([' ', '-', '_', '#', '.', ':', '/']);
    match base {
        "" => name,
        _ if word == name => name,
        _ => base,
    }
}

#[cfg(test)]
mod tests {
    use super::base;

    #[test]
    fn a_number_at_the_end_is_none_of_the_name() {
        let names = ["worker 3", "pool-1-thread-7", "io_thread2", "work-", "7042", "#7", "main"];
        assert_eq!(names.map(base), ["worker", "pool-1-thread", "io_thread", "work-", "7042", "#7", "main"]);
    }
}
