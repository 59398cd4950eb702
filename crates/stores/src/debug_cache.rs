//! The folder with debug files that were fetched: `BUILDID/debuginfo`, `BUILDID/executable`. Those that were not used for the longest time are
//! removed when it has more than its limit.

use std::fs::{self, File, Permissions};
use std::io::{Error, Result};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// What the name of an incomplete file begins with.
const PART: &str = ".part-";
/// Incomplete files that are older were left by a process that was ended.
const OLD: Duration = Duration::from_secs(3600);

/// The folder.
#[derive(Debug)]
pub struct DebugCache {
    path: PathBuf,
    limit: u64,
}

/// A file that is being written; removed if it is not kept.
pub struct Part {
    /// The file.
    pub file: File,
    /// Where it is.
    pub path: PathBuf,
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl DebugCache {
    /// Opens the folder, or makes it; only the owner may read it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(path: &Path, limit: u64) -> Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let cache = Self { path: path.to_owned(), limit };
        for entry in fs::read_dir(path)?.flatten() {
            let is_part = entry.file_name().to_string_lossy().starts_with(PART);
            let age = entry.metadata().and_then(|about| about.modified()).map(|at| at.elapsed().unwrap_or_default());
            if is_part && age.is_ok_and(|age| age > OLD) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(cache)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn part(&self) -> Result<Part> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("{PART}{}-{number}", std::process::id()));
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Part { file, path })
    }

    /// Keeps a file that is complete.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn keep(&self, part: Part, id: &str, name: &str) -> Result<PathBuf> {
        let folder = self.path.join(id);
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        let path = folder.join(name);
        fs::rename(&part.path, &path)?;
        self.used(id);
        self.limit(id);
        if path.is_file() { Ok(path) } else { Err(Error::other("the limit of the cache is too small for it")) }
    }

    /// Notes that the files of a build id are used.
    pub fn used(&self, id: &str) {
        if let Ok(folder) = File::open(self.path.join(id)) {
            let _ = folder.set_modified(SystemTime::now());
        }
    }

    /// Removes what was not used for the longest time, but not `keep`, until the rest is within the limit.
    fn limit(&self, keep: &str) {
        let mut all: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let Ok(files) = fs::read_dir(entry.path()) else { continue };
            let bytes = files.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
            let used = entry.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            all.push((used, entry.path(), bytes));
        }
        let mut sum: u64 = all.iter().map(|(.., bytes)| bytes).sum();
        all.sort();
        for (_, path, bytes) in all {
            if sum <= self.limit {
                return;
            }
            if path.file_name().is_some_and(|name| name == keep) {
                continue;
            }
            if fs::remove_dir_all(&path).is_ok() {
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

    #[test]
    fn what_was_not_used_for_the_longest_time_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DebugCache::open(&folder.path().join("a/b"), 25).unwrap();
        let add = |id: &str| {
            let mut part = cache.part().unwrap();
            part.file.write_all(&[7; 10]).unwrap();
            cache.keep(part, id, "debuginfo").unwrap()
        };
        let [first, second] = ["aa01", "aa02"].map(&add);
        let old = |id: &str, seconds: u64| {
            let folder = File::open(cache.path().join(id)).unwrap();
            folder.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        };
        old("aa01", 100);
        old("aa02", 200);
        let third = add("aa03");
        assert_eq!([first.is_file(), second.is_file(), third.is_file()], [true, false, true]);
        drop(cache.part().unwrap());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 2, "what is not kept is removed");
    }
}
