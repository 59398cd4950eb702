//! The program of each process: executable, build id, command line.

use crate::spool::SPOOL;
use model::{Autogroup, PROCESSES, Process};
use safefs::Dir;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use symbols::build_id;

/// Maximum number of programs recorded: a limit for machines that start programs continuously.
const MAX_PROGRAMS: usize = 50_000;

/// Reads the programs of a recording from `processes.json` of its spool.
///
/// # Errors
/// A sentence, if the file exists and cannot be read.
pub fn processes(dir: &Path) -> Result<Vec<Process>, String> {
    let path = dir.join(SPOOL).join(PROCESSES);
    match Dir::open(dir).and_then(|dir| dir.open_dir(SPOOL)?.read(PROCESSES)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| format!("cannot parse {}: {e}", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("cannot read {}: {e}", path.display())),
    }
}

/// Collects the programs during a recording.
#[derive(Default)]
pub struct Gatherer {
    seen: Vec<Process>,
    known: HashSet<i32>,
    build_ids: HashMap<String, Option<String>>,
    /// The number of programs beyond the limit.
    pub left_out: u64,
    /// Whether there are changes since the last call of [`Self::store`].
    pub changed: bool,
}

impl Gatherer {
    /// Notes a process. Reads its program if the process is new, or after an exec.
    pub fn see(&mut self, pid: i32, at_ns: u64, after_exec: bool) {
        // Entries are never removed. The range of PIDs limits the size of this set.
        if !self.known.insert(pid) && !after_exec {
            return;
        }
        if self.seen.len() >= MAX_PROGRAMS {
            self.left_out += 1;
            return;
        }
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(|p| p.to_string_lossy().into_owned());
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if exe.is_none() && line.is_empty() {
            return; // a kernel thread, or already ended
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
        let autogroup = std::fs::read_to_string(format!("/proc/{pid}/autogroup")).ok();
        let autogroup = autogroup.as_deref().and_then(Autogroup::parse);
        self.seen.push(Process { pid, at_ns, exe, build_id, command_line, autogroup });
        self.changed = true;
    }

    /// Writes the programs to a spool's folder.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn store(&mut self, spool: &Dir) -> std::io::Result<()> {
        self.changed = false;
        spool.replace(PROCESSES, &serde_json::to_vec(&self.seen)?).map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_its_own_process() {
        let mut all = Gatherer::default();
        all.see(std::process::id().cast_signed(), 1, false);
        let me = all.seen.first().unwrap();
        assert_eq!(Path::new(me.exe.as_ref().unwrap()), std::env::current_exe().unwrap());
        assert!(!me.command_line.is_empty());
    }
}
