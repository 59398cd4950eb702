//! Which program each process ran: executable, build id, command line.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use symbols::build_id;

/// More programs than this are not kept: a bound, for a machine that execs without end.
const MOST: usize = 50_000;

/// A program that a process ran, from `at_ns` on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Process {
    /// The process.
    pub pid: i32,
    /// When it was seen (after an exec or in a snapshot), ns on the trace's clock.
    pub at_ns: u64,
    /// The executable; `None` for kernel threads and where it may not be read.
    pub exe: Option<String>,
    /// GNU build id of the executable, in hexadecimal.
    pub build_id: Option<String>,
    /// Its arguments.
    pub command_line: Vec<String>,
}

/// The programs seen in a recording: `processes.json` of its spool.
///
/// # Errors
/// A sentence, where the file is there and cannot be read.
pub fn processes(dir: &Path) -> Result<Vec<Process>, String> {
    let path = crate::spool::folder(dir).join("processes.json");
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

/// Gathers them while recording.
#[derive(Default)]
pub struct Gatherer {
    seen: Vec<Process>,
    known: HashSet<i32>,
    build_ids: HashMap<String, Option<String>>,
    /// How many programs were seen beyond those that are kept.
    pub left_out: u64,
    /// Whether there is something that was not stored yet.
    pub changed: bool,
}

impl Gatherer {
    /// A process was seen; read what it runs if it is new, or runs something new.
    pub fn see(&mut self, pid: i32, at_ns: u64, after_exec: bool) {
        // What is known is not forgotten, so this set is bounded by the numbers that a process may have.
        if !self.known.insert(pid) && !after_exec {
            return;
        }
        if self.seen.len() >= MOST {
            self.left_out += 1;
            return;
        }
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(|p| p.to_string_lossy().into_owned());
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if exe.is_none() && line.is_empty() {
            return; // a kernel thread, or gone already
        }
        let build_id = exe.as_ref().and_then(|exe| {
            let ids = &mut self.build_ids;
            ids.entry(exe.clone()).or_insert_with(|| build_id::of_file(Path::new(&format!("/proc/{pid}/exe")))).clone()
        });
        let command_line = line
            .split(|b| *b == 0)
            .filter(|word| !word.is_empty())
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        self.seen.push(Process { pid, at_ns, exe, build_id, command_line });
        self.changed = true;
    }

    /// Writes what is there into a spool's folder.
    ///
    /// # Errors
    /// As the file system says.
    pub fn store(&mut self, spool: &Path) -> std::io::Result<()> {
        self.changed = false;
        crate::spool::replace(&spool.join("processes.json"), &serde_json::to_vec(&self.seen)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_itself() {
        let mut all = Gatherer::default();
        all.see(std::process::id().cast_signed(), 1, false);
        let me = all.seen.first().unwrap();
        assert_eq!(Path::new(me.exe.as_ref().unwrap()), std::env::current_exe().unwrap());
        assert!(!me.command_line.is_empty());
    }
}
