//! The files of a machine: those of this one, or a tree that was handed in.

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags, openat2};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// The maximum length of a file of sysfs, bytes: it writes at most a page. `/proc/cpuinfo` is longer, and only its begin is needed.
const MAX_BYTES: u64 = 64 << 10;
/// How often a path is resolved again, if the kernel requires that.
const ATTEMPTS: usize = 1000;
/// The maximum number of names in a folder.
const MAX_NAMES: usize = 16 << 10;

/// A folder that contains `sys` and `proc`. No path leads out of it: links out of it are refused by the kernel.
#[derive(Clone, Debug)]
pub struct Tree {
    root: Arc<OwnedFd>,
    live: bool,
}

impl Tree {
    /// Opens the files of this machine.
    ///
    /// # Errors
    /// `/` cannot be opened.
    pub fn live() -> io::Result<Self> {
        Self::open(Path::new("/"))
    }

    /// Opens a tree. `/` is this machine.
    ///
    /// # Errors
    /// It is not a folder, or cannot be opened.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let root = rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let live = dir.canonicalize()? == Path::new("/");
        Ok(Self { root: Arc::new(root), live })
    }

    /// Whether it is this machine, so that counters can be opened too.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    fn fd(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        // sysfs has relative links only. RESOLVE_BENEATH refuses those that leave the root, at every component, also if one is replaced
        // meanwhile. Reading a pipe in a tree that was handed in would block.
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        for _ in 0..ATTEMPTS {
            match openat2(&*self.root, path.trim_start_matches('/'), flags, Mode::empty(), ResolveFlags::BENEATH) {
                // The kernel cannot be sure of a ".." while anything on the machine is renamed (openat2(2)).
                Err(rustix::io::Errno::AGAIN) => {}
                other => return Ok(other?),
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "folders are renamed all the time"))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It does not exist, may not be read, or leads out of the tree.
    pub fn read(&self, path: &str) -> io::Result<String> {
        let mut bytes = Vec::new();
        File::from(self.fd(path, OFlags::empty())?).take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// Reads a whole number.
    ///
    /// # Errors
    /// As [`Self::read`], or it is no number.
    pub fn number(&self, path: &str) -> io::Result<i64> {
        self.read(path)?.trim().parse().map_err(|_| not_a_number(path))
    }

    /// Returns the names in a folder, in order of their numbers (`state2` before `state10`).
    ///
    /// # Errors
    /// It does not exist or may not be read.
    pub fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let dir = Dir::new(self.fd(path, OFlags::DIRECTORY)?)?;
        let names =
            dir.flatten().take(MAX_NAMES).filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").collect();
        names.sort_by_cached_key(|name| {
            let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let before = name[..name.len() - digits.len()].to_owned();
            (before, digits[..end].parse::<u64>().unwrap_or(0), name.clone())
        });
        Ok(names)
    }

    /// Returns a file that holds one number, to be read often.
    ///
    /// # Errors
    /// It does not exist, may not be read, or holds no number.
    pub fn value(&self, path: &str) -> io::Result<ValueFile> {
        let file = self.value_later(path)?;
        file.read()?;
        Ok(file)
    }

    /// Returns a file that is not read yet: some have no value at times.
    ///
    /// # Errors
    /// It does not exist or may not be read.
    pub fn value_later(&self, path: &str) -> io::Result<ValueFile> {
        let file = File::from(self.fd(path, OFlags::empty())?);
        Ok(ValueFile { tree: self.clone(), path: path.to_owned(), kept: self.live.then_some(file) })
    }
}

fn not_a_number(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{path} holds no number"))
}

/// A file that holds one number. On this machine it stays open; in a tree that was handed in, it is opened for each reading, since such a
/// file may be replaced by another one.
#[derive(Debug)]
pub struct ValueFile {
    tree: Tree,
    path: String,
    kept: Option<File>,
}

impl ValueFile {
    /// Reads the number.
    ///
    /// # Errors
    /// The file is gone, may not be read, or holds no number.
    pub fn read(&self) -> io::Result<i64> {
        let mut bytes = [0_u8; 64];
        let n = match &self.kept {
            Some(file) => file.read_at(&mut bytes, 0)?,
            None => File::from(self.tree.fd(&self.path, OFlags::empty())?).read(&mut bytes)?,
        };
        let text = std::str::from_utf8(bytes.get(..n).unwrap_or_default()).unwrap_or_default();
        text.trim().parse().map_err(|_| not_a_number(&self.path))
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, Tree) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sys/a")).unwrap();
        std::fs::write(dir.path().join("sys/a/one"), "1\n").unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        (dir, tree)
    }

    #[test]
    fn links_within_the_tree_are_followed_and_those_out_of_it_are_refused() {
        let (dir, tree) = tree();
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, dir.path().join("sys").join(name)).unwrap();
        link("a/one", "inside");
        link("../../../../../../../proc/version", "outside");
        link("/proc/version", "absolute");
        link("/proc", "folder");
        assert_eq!(tree.number("/sys/inside").unwrap(), 1);
        for path in ["/sys/outside", "/sys/absolute", "/sys/folder/version", "/../../proc/version"] {
            assert!(tree.read(path).is_err(), "{path}");
        }
        assert!(tree.list("/sys/folder").is_err());
        assert!(!tree.is_live());
    }

    #[test]
    fn a_file_that_is_replaced_is_read_anew() {
        let (dir, tree) = tree();
        let file = tree.value("/sys/a/one").unwrap();
        std::fs::write(dir.path().join("new"), "2").unwrap();
        std::fs::rename(dir.path().join("new"), dir.path().join("sys/a/one")).unwrap();
        assert_eq!(file.read().unwrap(), 2);
        std::fs::write(dir.path().join("sys/a/one"), "").unwrap();
        assert_eq!(file.read().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn paths_with_links_are_resolved_while_files_are_renamed() {
        let (dir, tree) = tree();
        std::fs::create_dir(dir.path().join("sys/b")).unwrap();
        std::os::unix::fs::symlink("../a", dir.path().join("sys/b/link")).unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let names = ["sys/x", "sys/y"].map(|name| dir.path().join(name));
                std::fs::write(&names[0], "").unwrap();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::rename(&names[0], &names[1]).unwrap();
                    std::fs::rename(&names[1], &names[0]).unwrap();
                }
            });
            let failed = (0..20_000).filter(|_| tree.number("/sys/b/link/one").is_err()).count();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(failed, 0);
        });
    }

    #[test]
    fn names_are_in_order_of_their_numbers() {
        let (dir, tree) = tree();
        for name in ["state10", "state2", "power1_input"] {
            std::fs::write(dir.path().join("sys/a").join(name), "").unwrap();
        }
        assert_eq!(tree.list("/sys/a").unwrap(), ["one", "power1_input", "state2", "state10"]);
    }
}
