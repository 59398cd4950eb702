//! Systrace's list of processes and threads: the output of `ps` on the device at the start and at the end, as a block
//! of the page that starts with `PROCESS DUMP`. It contains the process of threads for which the kernel had forgotten
//! it (`(-----)`), and, if it is before the trace, the names of threads that the text contains as `<...>`.
//!
//! ```text
//!   USER PID PPID VSIZE RSS WCHAN PC S NAME COMM      processes      before Android 8: USER PID PPID VSIZE RSS WCHAN PC NAME
//!   USER PID TID CMD                                  threads        for both; a thread's line has its process as PPID
//! ```
//!
//! The list does not state since when an entry holds, so the first list that contains a number takes precedence.

use crate::text::scan::{blanks, number};
use model::{Pid, Tid};
use rustc_hash::FxHashSet;

/// The maximum number of threads kept, so that a hostile page cannot exhaust memory.
const MAX_THREADS: usize = 1 << 20;
/// The line with which the list starts.
pub(super) const BEGIN: &[u8] = b"PROCESS DUMP";

/// The list being read.
#[derive(Default)]
pub(super) struct ProcessDump {
    table: Table,
    processes: FxHashSet<i32>,
    seen: FxHashSet<Tid>,
    /// The number of threads beyond the maximum since this was last taken.
    pub(super) left_out: u64,
}

/// The kind of table that the current lines belong to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Table {
    #[default]
    None,
    Processes,
    Threads,
    /// As printed by old Android versions.
    OldProcesses,
    OldThreads,
}

/// The number of columns before the name in an old line, and before COMM in a new one.
const BEFORE_OLD_NAME: usize = 8;
const BEFORE_COMM: usize = 9;

impl ProcessDump {
    /// Returns a thread that a line contains for the first time: its process and its name, which may be empty.
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
            Table::Processes => (first, first, after_columns(line, BEFORE_COMM)),
            Table::Threads => (second?, first, after_columns(line, 3)),
            Table::OldThreads if !self.processes.contains(&first) => {
                (first, second?, after_columns(line, BEFORE_OLD_NAME))
            }
            Table::OldProcesses | Table::OldThreads => (first, first, after_columns(line, BEFORE_OLD_NAME)),
        };
        if matches!(self.table, Table::Processes | Table::OldProcesses) && self.processes.len() < MAX_THREADS {
            self.processes.insert(first);
        }
        // The name of a process is longer than its first thread's, which is in the list of threads.
        let full = self.seen.len() >= MAX_THREADS && !self.seen.contains(&Tid(tid));
        self.left_out += u64::from(full && self.table != Table::OldProcesses);
        let is_new = self.table != Table::OldProcesses && !full && self.seen.insert(Tid(tid));
        is_new.then_some((Tid(tid), Pid(pid), name))
    }
}

/// Skips columns and returns the rest.
fn after_columns(mut line: &[u8], columns: usize) -> &[u8] {
    for _ in 0..columns {
        line = blanks(line);
        line = &line[line.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(line.len())..];
    }
    line.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(lines: &str) -> Vec<String> {
        let mut dump = ProcessDump::default();
        let read = lines.lines().filter_map(|line| dump.line(line.as_bytes()));
        read.map(|(tid, pid, name)| format!("{} of {}: {}", tid.0, pid.0, String::from_utf8_lossy(name))).collect()
    }

    #[test]
    fn lists_of_new_and_old_android_versions_are_read() {
        let new = "USER PID PPID VSIZE RSS WCHAN PC S NAME COMM\n\
                   system 900 300 4096 512 0 0 S com.android.systemui ndroid.systemui\n\
                   USER PID TID CMD\n\
                   system 900 900 ndroid.systemui\n\
                   system   900   907 Jit thread pool\n\
                   unknown line\n\
                   USER PID PPID VSIZE RSS WCHAN PC S NAME COMM\n\
                   USER PID TID CMD\n\
                   system 950 907 another of this number\n";
        assert_eq!(threads(new), ["900 of 900: ndroid.systemui", "907 of 900: Jit thread pool"]);
        let old = "USER     PID   PPID  VSIZE  RSS     WCHAN    PC         NAME\n\
                   system    900   300   4096   512   ffffffff 00000000 S com.android.systemui\n\
                   USER     PID   PPID  VSIZE  RSS     WCHAN    PC         NAME\n\
                   system    900   300   4096   512   ffffffff 00000000 S ndroid.systemui\n\
                   system    907   900   4096   512   ffffffff 00000000 S Binder 1\n";
        assert_eq!(threads(old), ["900 of 900: ndroid.systemui", "907 of 900: Binder 1"]);
        assert!(threads("system 900 300 4096 512 0 0 S a b\n").is_empty(), "no columns without a header");
    }
}
