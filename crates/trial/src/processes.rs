//! Which threads a fix is for: threads of a tree of processes, or of other processes of the same user, by name (proc(5)).

use model::pool_name;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

/// Threads by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selector {
    /// The threads' name, as far as the kernel keeps it.
    pub name: String,
    /// Whether the fix is for all threads of the same pool ([`pool_name`]).
    pub is_role: bool,
    /// Whether it is for the first threads of processes only, or for others only; `None`: for both.
    pub first: Option<bool>,
    /// The name of the process's first thread, for threads outside of the tree.
    pub process: String,
}

impl Selector {
    /// Whether it selects a thread of this name, which is the first of its process or not.
    #[must_use]
    pub fn takes(&self, name: &str, is_first: bool) -> bool {
        if self.first.is_some_and(|first| first != is_first) {
            return false;
        }
        if self.is_role { pool_name(&self.name) == pool_name(name) } else { self.name == name }
    }
}

/// A thread that exists.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Running {
    /// Its TID, and the TID of its process's first thread.
    pub tid: i32,
    pub pid: i32,
    /// When it began, in clock ticks since boot: with the TID it is unique.
    pub start: u64,
}

/// When a thread began; `None` if it has ended.
pub(crate) fn start_of(tid: i32) -> Option<u64> {
    start_in(&std::fs::read_to_string(format!("/proc/{tid}/stat")).ok()?)
}

/// The 22nd word of the file `stat`; the second one, a name in brackets, may contain spaces and brackets.
fn start_in(stat: &str) -> Option<u64> {
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The name of a thread.
pub(crate) fn name_of(tid: i32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{tid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end_matches('\n').to_owned())
}

/// The user of a process.
pub(crate) fn user_of(pid: i32) -> Option<u32> {
    std::fs::metadata(format!("/proc/{pid}")).ok().map(|of| of.uid())
}

/// The user of this program: with sudo, the one who called it.
pub(crate) fn user() -> u32 {
    let by_sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    // SAFETY: no memory is involved.
    let (real, effective) = unsafe { (libc::getuid(), libc::geteuid()) };
    by_sudo.filter(|_| effective == 0).unwrap_or(real)
}

/// Whether a process is one of the user's own.
///
/// # Errors
/// It does not exist, or belongs to another user: a sentence without a full stop.
pub fn may_change(pid: i32) -> Result<(), String> {
    match user_of(pid) {
        None => Err(format!("there is no process {pid}")),
        Some(of) if of == user() => Ok(()),
        Some(of) => Err(format!("process {pid} belongs to another user (UID {of}): its threads are not changed")),
    }
}

/// The threads of a process.
pub(crate) fn threads_of(pid: i32) -> Vec<i32> {
    numbers(&format!("/proc/{pid}/task"))
}

fn numbers(folder: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// All processes.
pub(crate) fn all() -> Vec<i32> {
    numbers("/proc")
}

/// The processes that `root` started, and those that these started, as far as they have not been adopted.
pub(crate) fn descendants(root: i32) -> BTreeSet<i32> {
    let (mut found, mut left) = (BTreeSet::new(), vec![root]);
    while let Some(pid) = left.pop() {
        for child in children(pid) {
            if found.insert(child) {
                left.push(child);
            }
        }
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let lists =
        threads_of(pid).into_iter().map(|tid| std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")));
    let lists: Vec<String> = lists.filter_map(Result::ok).collect();
    if !lists.is_empty() || !std::path::Path::new(&format!("/proc/{pid}")).exists() {
        return lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect();
    }
    // A kernel without CONFIG_PROC_CHILDREN.
    let parent = |of: i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{of}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    all().into_iter().filter(|of| parent(*of) == Some(pid)).collect()
}

/// Whether a process has mapped a file whose name begins so.
pub(crate) fn has_loaded(pid: i32, libraries: &[&str]) -> bool {
    let Ok(maps) = std::fs::read_to_string(format!("/proc/{pid}/maps")) else { return false };
    let names = maps.lines().filter_map(|line| line.rsplit_once('/')).map(|(_, name)| name);
    names.into_iter().any(|name| libraries.iter().any(|library| name.starts_with(library)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_a_name_without_its_number() {
        let role = |name: &str| Selector { name: name.to_owned(), is_role: true, first: None, process: String::new() };
        assert!(role("pool-1-thread-7").takes("pool-1-thread-12", false));
        assert!(!role("worker 1").takes("writer 1", false));
        assert!(!Selector { is_role: false, ..role("fetch-2") }.takes("fetch-1", false));
        assert!(!Selector { first: Some(false), ..role("node") }.takes("node", true));
    }

    #[test]
    fn a_name_may_contain_brackets() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 1 1";
        assert_eq!(start_in(stat), Some(4242));
    }

    #[test]
    fn a_child_is_a_descendant() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let pid = child.id().cast_signed();
        let found = descendants(std::process::id().cast_signed());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&pid), "{found:?}");
        assert_eq!(start_of(pid), None);
    }
}
