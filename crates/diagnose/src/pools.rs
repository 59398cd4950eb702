//! Threads that share work: those of one process that are called alike, but for a number at the end.

use crate::given::Given;
use engine::EngineError;
use std::collections::BTreeMap;

/// Of which process each thread is, where told.
#[derive(Default)]
pub(crate) struct Processes(BTreeMap<i64, i64>);

/// The threads of one name ([`base`]) in one process; of sources that tell no processes, of one name.
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
        (self.0.get(&thread).copied(), base(&given.name(thread)).to_owned())
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
