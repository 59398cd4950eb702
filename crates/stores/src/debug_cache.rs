//! The folder with debug files that were fetched: `BUILDID/debuginfo`, `BUILDID/executable`. Those that were not used for the longest time are
//! removed when it has more than its limit, but not those that this run uses.

use safefs::Dir;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// What the name of an incomplete file begins with.
const PART: &str = ".part-";
/// Incomplete files that are older were left by a process that was ended.
const OLD: Duration = Duration::from_secs(3600);

/// The folder. It is this user's own, and no link in it is followed.
#[derive(Debug)]
pub struct DebugCache {
    folder: Dir,
    limit: u64,
    /// The build ids whose files this run uses.
    in_use: BTreeSet<String>,
}

/// A file that is being written; removed if it is not kept.
pub struct Part {
    /// The file.
    pub file: File,
    /// Where it is.
    pub path: PathBuf,
    folder: Dir,
    name: String,
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.folder.remove(&self.name);
    }
}

impl DebugCache {
    /// Opens the folder, or makes it; only the owner may read it.
    ///
    /// # Errors
    /// It cannot be made, or belongs to another user.
    pub fn open(path: &Path, limit: u64) -> Result<Self> {
        let folder = Dir::make_all(path)?;
        folder.check_owner()?;
        for name in folder.names()? {
            let is_part = name.to_string_lossy().starts_with(PART);
            let age = || folder.open_file(&name)?.metadata()?.modified().map(|at| at.elapsed().unwrap_or_default());
            if is_part && age().is_ok_and(|age| age > OLD) {
                let _ = folder.remove(&name);
            }
        }
        Ok(Self { folder, limit, in_use: BTreeSet::new() })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn part(&self) -> Result<Part> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PART}{}-{number}", std::process::id());
        let file = self.folder.create(&name)?;
        Ok(Part { file, path: self.path().join(&name), folder: self.folder.clone(), name })
    }

    /// Keeps a file that is complete.
    ///
    /// # Errors
    /// It cannot be renamed, or the folder of the build id belongs to another user.
    pub fn keep(&mut self, part: Part, id: &str, name: &str) -> Result<PathBuf> {
        let folder = self.folder.open_or_make(id)?;
        folder.check_owner()?;
        self.folder.rename(&part.name, &folder, name)?;
        self.used(id);
        self.limit();
        Ok(folder.path().join(name))
    }

    /// Notes that the files of a build id are used.
    pub fn used(&mut self, id: &str) {
        self.in_use.insert(id.to_owned());
        let _ = self.folder.open_dir(id).and_then(|folder| folder.touch());
    }

    /// Removes what was not used for the longest time until the rest is within the limit, or is in use.
    fn limit(&self) {
        let mut all: Vec<(SystemTime, OsString, u64)> = Vec::new();
        for name in self.folder.names().unwrap_or_default() {
            let Ok(folder) = self.folder.open_dir(&name) else { continue };
            let size = |name| Some(folder.open_file(name).ok()?.metadata().ok()?.len());
            let bytes = folder.names().unwrap_or_default().into_iter().filter_map(size).sum();
            all.push((folder.modified().unwrap_or(SystemTime::UNIX_EPOCH), name, bytes));
        }
        let mut sum: u64 = all.iter().map(|(.., bytes)| bytes).sum();
        all.sort();
        for (_, name, bytes) in all {
            if sum <= self.limit {
                return;
            }
            let is_used = name.to_str().is_some_and(|name| self.in_use.contains(name));
            if !is_used && self.folder.remove_all(&name).is_ok() {
                sum = sum.saturating_sub(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write as _;

    fn add(cache: &mut DebugCache, id: &str) -> Result<PathBuf> {
        let mut part = cache.part()?;
        part.file.write_all(&[7; 10])?;
        cache.keep(part, id, "debuginfo")
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        let mut before = DebugCache::open(&path, 25).unwrap();
        let [first, second] = ["aa01", "aa02"].map(|id| add(&mut before, id).unwrap());
        for (id, seconds) in [("aa01", 100), ("aa02", 200)] {
            let folder = File::open(path.join(id)).unwrap();
            folder.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        }
        let mut cache = DebugCache::open(&path, 25).unwrap();
        let third = add(&mut cache, "aa03").unwrap();
        assert_eq!([first.is_file(), second.is_file(), third.is_file()], [true, false, true]);
        drop(cache.part().unwrap());
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 2, "what is not kept is removed");
        // The two of this run stay, though they have more than the limit.
        let fourth = add(&mut cache, "aa04").unwrap();
        let fifth = add(&mut cache, "aa05").unwrap();
        assert_eq!([&first, &third, &fourth, &fifth].map(|file| file.is_file()), [false, true, true, true]);
    }

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("cache"), folder.path().join("other"));
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("mine"), [1; 100]).unwrap();
        let mut cache = DebugCache::open(&path, 5).unwrap();
        for id in ["aa01", "aa02"] {
            std::os::unix::fs::symlink(&other, path.join(id)).unwrap();
        }
        assert!(add(&mut cache, "aa01").is_err());
        add(&mut cache, "aa03").unwrap();
        assert!(other.join("mine").is_file() && !other.join("debuginfo").exists());
    }
}
