//! Which program each process ran: executable, build id, command line.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

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
    /// Whether there is something that was not stored yet.
    pub changed: bool,
}

impl Gatherer {
    /// A process was seen; read what it runs if it is new, or runs something new.
    pub fn see(&mut self, pid: i32, at_ns: u64, after_exec: bool) {
        if self.seen.len() >= MOST || (!self.known.insert(pid) && !after_exec) {
            return;
        }
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(|p| p.to_string_lossy().into_owned());
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if exe.is_none() && line.is_empty() {
            return; // a kernel thread, or gone already
        }
        let build_id = exe.as_ref().and_then(|exe| {
            let ids = &mut self.build_ids;
            ids.entry(exe.clone()).or_insert_with(|| build_id(Path::new(&format!("/proc/{pid}/exe")))).clone()
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

/// The build id in an ELF file's notes.
pub(crate) fn build_id(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut head = [0; 64];
    file.read_exact(&mut head).ok()?;
    let native = if cfg!(target_endian = "little") { 1 } else { 2 };
    if head[..4] != *b"\x7fELF" || head[5] != native {
        return None;
    }
    let wide = head[4] == 2;
    let number = |bytes: &[u8], at: usize, size: usize| -> Option<u64> {
        let mut value = [0; 8];
        let from = bytes.get(at..at + size)?;
        if cfg!(target_endian = "little") {
            value[..size].copy_from_slice(from);
        } else {
            value[8 - size..].copy_from_slice(from);
        }
        Some(u64::from_ne_bytes(value))
    };
    let word = if wide { 8 } else { 4 };
    let table = number(&head, if wide { 32 } else { 28 }, word)?;
    let size = number(&head, if wide { 54 } else { 42 }, 2)? as usize;
    let count = number(&head, if wide { 56 } else { 44 }, 2)? as usize;
    if !(32..=256).contains(&size) || count > 256 {
        return None;
    }
    let mut headers = vec![0; size * count];
    file.seek(SeekFrom::Start(table)).ok()?;
    file.read_exact(&mut headers).ok()?;
    for header in headers.chunks_exact(size) {
        if number(header, 0, 4)? != 4 {
            continue; // not PT_NOTE
        }
        let at = number(header, if wide { 8 } else { 4 }, word)?;
        let length = number(header, if wide { 32 } else { 16 }, word)?.min(64 << 10) as usize;
        let mut notes = vec![0; length];
        file.seek(SeekFrom::Start(at)).ok()?;
        file.read_exact(&mut notes).ok()?;
        let mut rest = &notes[..];
        while rest.len() >= 12 {
            let (name, text) = (number(rest, 0, 4)? as usize, number(rest, 4, 4)? as usize);
            let kind = number(rest, 8, 4)?;
            let text_at = 12 + name.checked_next_multiple_of(4)?;
            let id = rest.get(text_at..text_at.checked_add(text)?)?;
            if kind == 3 && rest.get(12..16) == Some(b"GNU\0") {
                return Some(id.iter().map(|b| format!("{b:02x}")).collect());
            }
            rest = rest.get(text_at + text.checked_next_multiple_of(4)?..)?;
        }
    }
    None
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

    #[test]
    fn what_is_no_elf_has_no_build_id() {
        assert_eq!(build_id(Path::new("/proc/self/status")), None);
        assert_eq!(build_id(Path::new("/nowhere")), None);
    }
}
