//! Threads that share work: those of one process that are called alike.

use crate::given::Given;
use engine::EngineError;
use std::collections::BTreeMap;

/// Of which process each thread is, where told.
#[derive(Default)]
pub(crate) struct Processes(BTreeMap<i64, i64>);

/// The threads of one name in one process; of sources that tell no processes, of one name.
pub(crate) type Pool = (Option<i64>, String);

impl Processes {
    pub(crate) fn new(given: &Given<'_>) -> Result<Self, EngineError> {
        let mut of = BTreeMap::new();
        given.each("threads", |row| {
            if let Some(pid) = row.int("pid") {
                of.insert(row.sum("thread"), pid);
            }
        })?;
        Ok(Self(of))
    }

    /// Whether anything tells of which process threads are.
    pub(crate) fn are_told(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether two threads are of one process; where nobody tells processes at all, they may be.
    pub(crate) fn are_one(&self, a: i64, b: i64) -> bool {
        match (self.0.get(&a), self.0.get(&b)) {
            (Some(a), Some(b)) => a == b,
            _ => !self.are_told(),
        }
    }

    /// To which pool a thread belongs.
    pub(crate) fn pool(&self, given: &Given<'_>, thread: i64) -> Pool {
        (self.0.get(&thread).copied(), given.name(thread))
    }
}
