//! Files of recorded processes, opened while these run, so that nothing of them needs to be there when functions are named.
//!
//! A path is resolved within the root of its process: a link there cannot lead to a file of another container.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use symbols::build_id;

/// The most files that are kept open: half of what a process may have open by default is left to the rest of the recorder.
const MAX_KEPT: usize = 384;

/// Files that are kept open.
#[derive(Default)]
pub struct Kept(usize);

impl Kept {
    /// Returns whether one more file may be kept.
    pub fn has_room(&mut self) -> bool {
        self.0 += 1;
        self.0 <= MAX_KEPT
    }

    /// Opens the file of a mapping, in the process's root or here; `None` if it is another file by now.
    pub fn mapped(pid: i32, name: &str, inode: u64) -> Option<File> {
        let is_same = |file: &File| inode != 0 && file.metadata().is_ok_and(|m| m.is_file() && m.ino() == inode);
        let open = |path: &str| regular(File::options().read(true).custom_flags(libc::O_PATH).open(path).ok()?);
        // A program that was deleted is still there by its process.
        let program = || open(&format!("/proc/{pid}/exe")).filter(is_same);
        in_root(pid, name).filter(is_same).or_else(|| open(name).filter(is_same)).or_else(program)
    }

    /// Opens a file with this build id, in the process's root or here.
    pub fn with_id(pid: i32, name: &str, id: &str) -> Option<File> {
        let is_it = |file: &File| build_id::of_file(&path_of(file)).as_deref() == Some(id);
        let outside = || regular(File::options().read(true).custom_flags(libc::O_PATH).open(name).ok()?);
        in_root(pid, name).filter(is_it).or_else(|| outside().filter(is_it))
    }

    /// Opens the root of a process.
    pub fn root(&mut self, pid: i32) -> Option<Root> {
        let root = Root { folder: root_of(pid)?, status: Status::of(pid)? };
        self.has_room().then_some(root)
    }

    /// Opens `/tmp/perf-PID.map` of a process.
    pub fn perf_map(&mut self, root: &Root) -> Option<File> {
        let file = within(&root.folder, &format!("/tmp/perf-{}.map", root.status.pid))?;
        let about = file.metadata().ok()?;
        let is_its = about.is_file() && (about.uid() == 0 || root.status.users.contains(&about.uid()));
        (is_its && self.has_room()).then_some(file)
    }

    /// Opens a jitdump file that a process has mapped.
    pub fn jitdump(&mut self, pid: i32, name: &str, inode: u64) -> Option<File> {
        let status = Status::of(pid)?;
        let last = Path::new(name).file_name()?.to_str()?;
        let is_dump = last == format!("jit-{}.dump", status.pid) || last == format!("jit-{pid}.dump");
        let file = is_dump.then(|| Self::mapped(pid, name, inode)).flatten()?;
        let owner = file.metadata().ok()?.uid();
        let is_its = owner == 0 || status.users.contains(&owner);
        (is_its && self.has_room()).then_some(file)
    }
}

/// Returns the path of an open file, by which it can be opened again wherever it was.
pub fn path_of(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// The root of a process, which stays open when the process has ended.
pub struct Root {
    folder: File,
    status: Status,
}

fn root_of(pid: i32) -> Option<File> {
    let how = libc::O_PATH | libc::O_DIRECTORY;
    File::options().read(true).custom_flags(how).open(format!("/proc/{pid}/root")).ok()
}

fn in_root(pid: i32, path: &str) -> Option<File> {
    within(&root_of(pid)?, path)
}

/// Opens a file in the root of a process. The last part of the path may not be a link.
fn within(root: &File, path: &str) -> Option<File> {
    let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolved = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, how, Mode::empty(), resolved).ok().map(File::from).and_then(regular)
}

/// Opens for reading what was opened only as a path, if it is a file: to open a device or a pipe may have effects.
fn regular(path: File) -> Option<File> {
    path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    File::open(path_of(&path)).ok()
}

/// What a process is, by `/proc/PID/status`.
struct Status {
    /// Its PID as it sees it.
    pid: i32,
    /// Its real, effective and saved user.
    users: Vec<u32>,
}

impl Status {
    fn of(pid: i32) -> Option<Self> {
        Self::of_text(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
    }

    fn of_text(text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        // From the outermost namespace to the innermost one.
        let pid = field("NSpid:").or_else(|| field("Pid:"))?.split_ascii_whitespace().next_back()?.parse().ok()?;
        let users = field("Uid:")?.split_ascii_whitespace().take(3).filter_map(|user| user.parse().ok()).collect();
        Some(Self { pid, users })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_pid_is_that_of_the_innermost_namespace() {
        let status =
            Status::of_text("Name:\tnode\nPid:\t4711\nUid:\t1000\t0\t1000\t1000\nNSpid:\t4711\t12\t7\n").unwrap();
        assert_eq!((status.pid, status.users), (7, vec![1000, 0, 1000]));
        assert!(Status::of_text("Name:\tnode\n").is_none());
        let own = std::process::id().cast_signed();
        assert_eq!(Status::of(own).unwrap().pid, own);
    }

    #[test]
    fn a_file_of_a_process_stays_readable_when_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library");
        std::fs::write(&path, "code").unwrap();
        let (own, inode) = (std::process::id().cast_signed(), std::fs::metadata(&path).unwrap().ino());
        let name = path.to_str().unwrap();
        assert!(Kept::mapped(own, name, inode + 1).is_none(), "another file");
        let file = Kept::mapped(own, name, inode).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut text = String::new();
        File::open(path_of(&file)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "code");
    }

    #[test]
    fn links_and_files_of_others_are_not_opened() {
        let own = std::process::id().cast_signed();
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join(format!("jit-{own}.dump")), folder.path().join("link"));
        std::fs::write(&file, "JiTD").unwrap();
        symlink(&file, &link).unwrap();
        assert!(in_root(own, link.to_str().unwrap()).is_none(), "the last part is a link");
        let inode = std::fs::metadata(&file).unwrap().ino();
        assert!(Kept::default().jitdump(own, file.to_str().unwrap(), inode).is_some());
        assert!(Kept(MAX_KEPT).jitdump(own, file.to_str().unwrap(), inode).is_none(), "too many files are open");
        std::fs::rename(&file, folder.path().join("jit-1.dump")).unwrap();
        let other = folder.path().join("jit-1.dump");
        assert!(Kept::default().jitdump(own, other.to_str().unwrap(), inode).is_none(), "of another process");
    }
}
