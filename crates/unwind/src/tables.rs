//! Tables of the files of a recording, which the reader of the recording asks for and does not open itself.

use crate::{Ended, Table, Why};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the kernel calls a file that was mapped, on the recorded machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inode {
    /// The device of its file system: major and minor number.
    pub device: [u32; 2],
    /// Its number there. Another file can have it after this one was removed.
    pub number: u64,
}

/// Finds the tables of the files in a recording.
pub trait Tables: Send + Sync {
    /// Returns the table of a file that was mapped in a recorded process.
    ///
    /// # Errors
    /// The same file, by its build id, was not found, or has no table.
    fn table(&self, path: &str, build_id: Option<&str>) -> Result<Arc<Table>, Why>;

    /// Returns the build id of a file that was mapped, if the recording does not say it and the same file, which has not been changed since
    /// the recording began, is still at its path. `lasted_ns`: how long the recording lasted at least.
    fn identify(&self, _path: &str, _inode: Inode, _lasted_ns: u64) -> Option<String> {
        None
    }

    /// Takes how the walks of one stream ended, when it has been read to its end.
    fn ended(&self, endings: Endings);
}

/// How many walks through copies of stacks ended in which way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Endings {
    /// At the root.
    pub root: u64,
    /// At the most frames that are followed.
    pub depth: u64,
    /// Where the copy of the stack ends: the rest was not recorded.
    pub cut: u64,
    /// In code without a rule, by the file of the code; empty: code of no file.
    pub no_table: BTreeMap<String, u64>,
    /// The stack could not be read, or is none.
    pub unreadable: u64,
    /// At an address that is not in code.
    pub not_code: u64,
    /// Not walked: the registers are those of another machine, or what was mapped is not known.
    pub not_walked: u64,
}

impl Endings {
    /// Counts a walk. `cut`: it needed memory after the end of the copy; `file`: that of the outermost code.
    pub fn count(&mut self, ended: Ended, cut: bool, file: &str) {
        match ended {
            Ended::Root => self.root += 1,
            Ended::Depth => self.depth += 1,
            Ended::NoTable => match self.no_table.get_mut(file) {
                Some(count) => *count += 1,
                None => drop(self.no_table.insert(file.to_owned(), 1)),
            },
            Ended::Unreadable if cut => self.cut += 1,
            Ended::Unreadable => self.unreadable += 1,
            Ended::NotCode => self.not_code += 1,
        }
    }

    /// Adds those of another stream.
    pub fn add(&mut self, more: &Self) {
        self.root += more.root;
        self.depth += more.depth;
        self.cut += more.cut;
        self.unreadable += more.unreadable;
        self.not_code += more.not_code;
        self.not_walked += more.not_walked;
        for (file, count) in &more.no_table {
            *self.no_table.entry(file.clone()).or_default() += count;
        }
    }

    /// Returns the number of all stacks.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.root + self.depth + self.cut + self.without() + self.unreadable + self.not_code + self.not_walked
    }

    /// Returns the number of those that ended in code without a rule.
    #[must_use]
    pub fn without(&self) -> u64 {
        self.no_table.values().sum()
    }
}
