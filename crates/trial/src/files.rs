//! Files of the kernel that a fix writes to: settings of the machine and of cgroups.

use std::io::Result;
use std::path::{Path, PathBuf};

/// The file with the nice value of a process's session, while sessions share CPUs evenly (autogroups, sched(7)).
pub(crate) fn autogroup(pid: i32) -> PathBuf {
    format!("/proc/{pid}/autogroup").into()
}

/// The session of a process, as the kernel names it; `None` if it has none.
pub(crate) fn session(pid: i32) -> Option<String> {
    let text = std::fs::read_to_string(autogroup(pid)).ok()?;
    Some(text.trim().rsplit_once(NICE)?.0.to_owned())
}

/// What stands between a session's name and its nice value: `/autogroup-33 nice 0`.
const NICE: &str = " nice ";

/// Reads the value of a file of one line. Of a list with the value in brackets, as in `always [madvise] never`, that value; of a session, its
/// nice value.
pub(crate) fn value(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path)?;
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    if let Some((_, nice)) = line.rsplit_once(NICE) {
        return Ok(nice.to_owned());
    }
    let chosen = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen.to_owned());
    Ok(chosen.unwrap_or(line))
}

/// Writes a value.
pub(crate) fn set(path: &Path, value: &str) -> Result<()> {
    std::fs::write(path, value)
}
