//! systrace's list of processes and threads: what `ps` printed on the device at the begin and at the end, as a block of the
//! page that begins with `PROCESS DUMP`. It tells whose a thread is where the kernel had forgotten (`(-----)`), and, where it
//! stands before the trace, the names of threads that the text has as `<...>`.
//!
//! ```text
//!   USER PID PPID VSIZE RSS WCHAN PC S NAME COMM      processes      before Android 8: USER PID PPID VSIZE RSS WCHAN PC NAME
//!   USER PID TID CMD                                  threads        for both; a thread's line has its process as PPID
//! ```
//!
//! When something in it began to hold is not told, so what the first list says of a number stands.

use crate::text::scan::{blanks, number};
use model::{Pid, Tid};
use rustc_hash::FxHashSet;

/// Threads that are told of; a hostile page must not fill the memory.
const MOST_THREADS: usize = 1 << 20;
/// The line that it begins with.
pub(super) const BEGIN: &[u8] = b"PROCESS DUMP";

/// The list that is being read.
#[derive(Default)]
pub(super) struct ProcessDump {
    table: Table,
    processes: FxHashSet<i32>,
    told: FxHashSet<Tid>,
    /// Threads beyond those that are told, since this was last taken.
    pub(super) left_out: u64,
}

/// Whose lines follow.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Table {
    #[default]
    None,
    Processes,
    Threads,
    /// As old Androids print them.
    OldProcesses,
    OldThreads,
}

/// Columns before the name of an old line, and before COMM of a new one.
const BEFORE_OLD_NAME: usize = 8;
const BEFORE_COMM: usize = 9;

impl ProcessDump {
    /// A thread that a line tells of for the first time: its process and its name, which may be empty.
    pub(super) fn line<'l>(&mut self, line: &'l [u8]) -> Option<(Tid, Pid, &'l [u8])> {
        let words = |line: &'l [u8]| line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        if words(line).next() == Some(b"USER") {
            let has = |word: &[u8]| words(line).any(|w| w == word);
            self.table = match self.table {
                _ if has(b"TID") => Table::Threads,
                _ if has(b"COMM") => Table::Processes,
                Table::OldProcesses => Table::OldThreads,
                _ => Table::OldProcesses,
            };
            return None;
        }
        let id = |at: usize| i32::try_from(number(words(line).nth(at)?)?.0).ok().filter(|id| *id > 0);
        let (first, second) = (id(1)?, id(2));
        let (tid, pid, name) = match self.table {
            Table::None => return None,
            Table::Processes => (first, first, behind(line, BEFORE_COMM)),
            Table::Threads => (second?, first, behind(line, 3)),
            Table::OldThreads if !self.processes.contains(&first) => (first, second?, behind(line, BEFORE_OLD_NAME)),
            Table::OldProcesses | Table::OldThreads => (first, first, behind(line, BEFORE_OLD_NAME)),
        };
        if matches!(self.table, Table::Processes | Table::OldProcesses) && self.processes.len() < MOST_THREADS {
            self.processes.insert(first);
        }
        // The name of a process is longer than its first thread's, which the list of threads has.
        let full = self.told.len() >= MOST_THREADS && !self.told.contains(&Tid(tid));
        self.left_out += u64::from(full && self.table != Table::OldProcesses);
        let fresh = self.table != Table::OldProcesses && !full && self.told.insert(Tid(tid));
        fresh.then_some((Tid(tid), Pid(pid), name))
    }
}

/// What stands behind so many columns.
fn behind(mut line: &[u8], columns: usize) -> &[u8] {
    for _ in 0..columns {
        line = blanks(line);
        line = &line[line.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(line.len())..];
    }
    line.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &str) -> Vec<String> {
        let mut dump = ProcessDump::default();
        let read = lines.lines().filter_map(|line| dump.line(line.as_bytes()));
        read.map(|(tid, pid, name)| format!("{} of {}: {}", tid.0, pid.0, String::from_utf8_lossy(name))).collect()
    }

    #[test]
    fn lists_of_androids_new_and_old() {
        let new = "USER PID PPID VSIZE RSS WCHAN PC S NAME COMM\n\
                   system 900 300 4096 512 0 0 S com.android.systemui ndroid.systemui\n\
                   USER PID TID CMD\n\
                   system 900 900 ndroid.systemui\n\
                   system   900   907 Jit thread pool\n\
                   odd line\n\
                   USER PID PPID VSIZE RSS WCHAN PC S NAME COMM\n\
                   USER PID TID CMD\n\
                   system 950 907 another of this number\n";
        assert_eq!(told(new), ["900 of 900: ndroid.systemui", "907 of 900: Jit thread pool"]);
        let old = "USER     PID   PPID  VSIZE  RSS     WCHAN    PC         NAME\n\
                   system    900   300   4096   512   ffffffff 00000000 S com.android.systemui\n\
                   USER     PID   PPID  VSIZE  RSS     WCHAN    PC         NAME\n\
                   system    900   300   4096   512   ffffffff 00000000 S ndroid.systemui\n\
                   system    907   900   4096   512   ffffffff 00000000 S Binder 1\n";
        assert_eq!(told(old), ["900 of 900: ndroid.systemui", "907 of 900: Binder 1"]);
        assert!(told("system 900 300 4096 512 0 0 S a b\n").is_empty(), "no header, no columns");
    }
}
