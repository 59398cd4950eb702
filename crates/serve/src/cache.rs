//! The user's cache: recordings of other tools that were imported to be viewed, and levels of traces whose folder is not writable.
//!
//! ```text
//!   $XDG_CACHE_HOME/corewise/              only the owner can read it
//!     traces/HASH/  used                   what it was made from; its time is that of the last use; locked while it is used
//!                   run.data/              the trace folder, named like its source
//!     traces/HASH.part-…/                  being made; renamed when it is complete
//!     levels/STAMP/ used, cpu.levels, …
//! ```
//!
//! After something is added, the entries whose last use is the longest ago are removed until the rest is within a limit. An entry that is
//! in use stays: its `used` is locked by the process that uses it, and the system unlocks it when that process ends.

use crate::ServeError;
use rustix::fs::{FlockOperation, flock};
use safefs::Dir;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, Read as _, Result, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// The maximum size of all entries together, in bytes, apart from those that are in use.
const LIMIT: u64 = 8 << 30;
/// The file with the key of an entry.
const USED: &str = "used";
/// What the name of an incomplete entry contains.
const PART: &str = ".part-";
/// Incomplete entries that are younger may belong to a process that has not locked them yet.
const YOUNG: Duration = Duration::from_secs(60);
/// The maximum size of a key, in bytes.
const MAX_KEY: u64 = 1 << 26;
/// The two kinds of entries, which are folders.
pub(crate) const LEVELS: &str = "levels";
const TRACES: &str = "traces";

/// The user's cache.
pub struct Cache {
    path: PathBuf,
    limit: u64,
}

/// An entry, which is not removed while this exists.
pub struct CacheEntry {
    path: PathBuf,
    /// `None` if it cannot be locked, as on some network file systems.
    _lock: Option<File>,
}

impl CacheEntry {
    /// The folder of the entry.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// An entry that is being made, and is removed if it is not finished.
struct Part {
    kind: Dir,
    name: String,
    lock: Option<File>,
}

impl Drop for Part {
    fn drop(&mut self) {
        // What cannot be removed only takes space.
        let _ = self.kind.remove_all(&self.name);
    }
}

impl Cache {
    /// Returns the cache of this user: in `XDG_CACHE_HOME`, or else in `.cache` of `HOME`. `None` if neither is an absolute path.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(Self::at(home.join("corewise"), LIMIT))
    }

    /// Returns the cache in a folder, with a limit in bytes.
    #[must_use]
    pub fn at(path: PathBuf, limit: u64) -> Self {
        Self { path, limit }
    }

    /// Returns the place of an entry.
    pub(crate) fn path(&self, kind: &str, name: &str) -> PathBuf {
        self.path.join(kind).join(name)
    }

    /// Returns the trace that was made with a key, or makes it: `make` writes it to the new folder of the path that it gets, which has the
    /// name `name`. The second result says whether it was made.
    ///
    /// # Errors
    /// The cache is not writable; or `make` failed, in which case nothing is left.
    pub fn trace<E: From<ServeError>>(
        &self,
        key: &str,
        name: &OsStr,
        make: impl FnOnce(&Path) -> std::result::Result<(), E>,
    ) -> std::result::Result<(CacheEntry, bool), E> {
        let to = hashed(key);
        let refused = |why| ServeError::NoCache { path: self.path.clone(), why };
        if let Some(entry) = self.entry(TRACES, &to, key) {
            return Ok((entry, false));
        }
        let part = self.part(&to, key).map_err(refused)?;
        make(&part.kind.path().join(&part.name).join(name))?;
        let entry = self.finish(part, &to, key).map_err(refused)?;
        self.trim();
        Ok((entry, true))
    }

    /// Returns an entry that was made with a key, and notes that it is used now.
    pub(crate) fn entry(&self, kind: &str, name: &str, key: &str) -> Option<CacheEntry> {
        let path = self.path(kind, name);
        let folder = Dir::open_for_writing(&path).ok()?;
        folder.check_owner().ok()?;
        let mut used = folder.open_file(USED).ok()?;
        let mut text = String::new();
        (&mut used).take(MAX_KEY).read_to_string(&mut text).ok()?;
        // It is being removed if it is locked by another one for writing.
        if text != key || flock(&used, FlockOperation::NonBlockingLockShared).is_err_and(|why| is_locked(why.into())) {
            return None;
        }
        // Without a new time it is only removed earlier.
        let _ = used.set_modified(SystemTime::now());
        Some(CacheEntry { path, _lock: Some(used) })
    }

    /// Notes that an existing folder is an entry, and is used now.
    pub(crate) fn note(&self, kind: &str, name: &str, key: &str) -> Option<CacheEntry> {
        let path = self.path(kind, name);
        let folder = Dir::make_all(&path).ok()?;
        if !folder.has(USED) {
            written(&folder, key).ok()?;
        }
        self.entry(kind, name, key)
    }

    /// Begins an entry.
    fn part(&self, name: &str, key: &str) -> Result<Part> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let kind = Dir::make_all(&self.path.join(TRACES))?;
        kind.check_owner()?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let unused = |n: u32| format!("{name}{PART}{process}-{number}-{n}");
        let free = (0..u32::MAX).map(unused).find(|name| !kind.has(name)).unwrap_or_default();
        let folder = kind.make(&free)?;
        let mut part = Part { kind, name: free, lock: None };
        let used = written(&folder, key)?;
        part.lock = flock(&used, FlockOperation::NonBlockingLockShared).is_ok().then_some(used);
        Ok(part)
    }

    /// Gives a complete entry its name. If another process was faster, its entry is used.
    fn finish(&self, mut part: Part, name: &str, key: &str) -> Result<CacheEntry> {
        if let Some(entry) = self.entry(TRACES, name, key) {
            return Ok(entry);
        }
        if part.kind.has(name) {
            // Of another key with the same hash, or incomplete.
            part.kind.remove_all(name)?;
        }
        part.kind.rename(&part.name, &part.kind, name)?;
        let lock = part.lock.take();
        Ok(CacheEntry { path: self.path.join(TRACES).join(name), _lock: lock })
    }

    /// Removes what was left incomplete, and the entries whose last use is the longest ago, until the rest is within the limit.
    pub(crate) fn trim(&self) {
        let mut all: Vec<Stored> = [TRACES, LEVELS].into_iter().flat_map(|kind| self.stored(kind)).collect();
        let mut total: u64 = all.iter().map(|entry| entry.bytes).sum();
        all.sort_by_key(|entry| (!entry.is_part, entry.used));
        for entry in &all {
            let is_left_over = entry.is_part && entry.used.elapsed().is_ok_and(|age| age > YOUNG);
            let is_too_much = total > self.limit && !entry.is_part;
            if (is_left_over || is_too_much) && entry.remove().is_ok() {
                total = total.saturating_sub(entry.bytes);
            }
        }
    }

    fn stored(&self, kind: &str) -> Vec<Stored> {
        let Ok(folder) = Dir::open_for_writing(&self.path.join(kind)) else { return Vec::new() };
        if folder.check_owner().is_err() {
            return Vec::new();
        }
        let names = folder.names().unwrap_or_default();
        names.into_iter().filter_map(|name| Stored::of(&folder, name)).collect()
    }
}

/// An entry in the cache, complete or not.
struct Stored {
    kind: Dir,
    name: OsString,
    bytes: u64,
    used: SystemTime,
    is_part: bool,
}

impl Stored {
    fn of(kind: &Dir, name: OsString) -> Option<Self> {
        let folder = kind.open_dir(&name).ok()?;
        let time = |file: &File| file.metadata().and_then(|about| about.modified()).ok();
        let used = folder.open_file(USED).ok().as_ref().and_then(time);
        // Levels of an earlier version have no `used`.
        let changed = || std::fs::symlink_metadata(kind.path().join(&name)).and_then(|about| about.modified()).ok();
        let used = used.or_else(changed)?;
        let is_part = name.to_string_lossy().contains(PART);
        Some(Self { kind: kind.clone(), bytes: bytes(&folder), used, is_part, name })
    }

    /// Removes it, unless it is used.
    fn remove(&self) -> Result<()> {
        let lock = self.kind.open_dir(&self.name)?.open_file(USED).ok();
        if let Some(lock) = &lock {
            flock(lock, FlockOperation::NonBlockingLockExclusive)?;
        }
        // Removed under another name, so that it is never found incomplete.
        if self.is_part {
            return self.kind.remove_all(&self.name);
        }
        let gone = format!("{}{PART}gone", hashed(&self.name.to_string_lossy()));
        self.kind.remove_all(&gone)?;
        self.kind.rename(&self.name, &self.kind, &gone)?;
        self.kind.remove_all(&gone)
    }
}

/// Returns the size of a folder with everything in it, in bytes.
fn bytes(folder: &Dir) -> u64 {
    let size = |name: OsString| match folder.open_dir(&name) {
        Ok(inner) => bytes(&inner),
        Err(_) => folder.open_file(&name).and_then(|file| file.metadata()).map_or(0, |about| about.len()),
    };
    folder.names().unwrap_or_default().into_iter().map(size).sum()
}

/// Writes the key of an entry.
fn written(folder: &Dir, key: &str) -> Result<File> {
    let mut used = folder.create(USED)?;
    used.write_all(key.as_bytes())?;
    Ok(used)
}

fn is_locked(why: Error) -> bool {
    why.kind() == std::io::ErrorKind::WouldBlock
}

/// Returns a name of 16 digits (FNV-1a). Two keys may have the same one: an entry also contains its key.
fn hashed(key: &str) -> String {
    let hash = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn cache(limit: u64) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("corewise"), limit);
        (folder, cache)
    }

    /// Makes a trace of a thousand bytes if there is none with this key.
    fn trace(cache: &Cache, key: &str) -> (CacheEntry, bool) {
        let write = |path: &Path| {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("data"), [0; 1000]).unwrap();
            Ok::<_, ServeError>(())
        };
        cache.trace(key, OsStr::new("run.data"), write).unwrap()
    }

    fn names(cache: &Cache) -> Vec<String> {
        let entries = std::fs::read_dir(cache.path.join(TRACES)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Changes when an entry was used.
    fn used(cache: &Cache, key: &str, seconds_ago: u64) {
        let file = File::options().write(true).open(cache.path.join(TRACES).join(hashed(key)).join(USED)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds_ago)).unwrap();
    }

    #[test]
    fn a_trace_is_made_once_per_key_and_only_the_owner_can_read_it() {
        let (_folder, cache) = cache(u64::MAX);
        let (first, made) = trace(&cache, "a");
        assert!(made && first.path().join("run.data/data").is_file());
        let (again, made) = trace(&cache, "a");
        assert!(!made && again.path() == first.path());
        assert!(trace(&cache, "b").1, "another key");
        for path in [&cache.path, &cache.path.join(TRACES), first.path()] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o700, "{}", path.display());
        }
        let used = std::fs::metadata(first.path().join(USED)).unwrap();
        assert_eq!(used.permissions().mode() & 0o7777, 0o600);
    }

    #[test]
    fn the_oldest_entries_are_removed_and_those_in_use_stay() {
        let (_folder, cache) = cache(2500);
        drop(trace(&cache, "a"));
        let (held, _) = trace(&cache, "b");
        used(&cache, "b", 3600);
        used(&cache, "a", 60);
        drop(trace(&cache, "c"));
        // Three thousand bytes and the keys: "b" is the oldest, but it is in use; "a" is older than "c".
        let mut left = names(&cache);
        left.sort();
        let mut expected = vec![hashed("b"), hashed("c")];
        expected.sort();
        assert_eq!(left, expected);
        drop(held);
        drop(trace(&cache, "d"));
        assert!(!names(&cache).contains(&hashed("b")), "no longer in use");
        // A use makes it the newest.
        used(&cache, "c", 3600);
        drop(trace(&cache, "c"));
        used(&cache, "d", 30);
        drop(trace(&cache, "e"));
        assert!(names(&cache).contains(&hashed("c")) && !names(&cache).contains(&hashed("d")));
    }

    #[test]
    fn a_failure_leaves_nothing_and_what_a_killed_process_left_is_removed() {
        let (_folder, cache) = cache(u64::MAX);
        let failed = cache.trace("a", OsStr::new("run.data"), |path| {
            std::fs::create_dir(path).unwrap();
            Err(ServeError::Start("no".into()))
        });
        assert!(failed.is_err_and(|why: ServeError| why.to_string().contains("no")));
        assert_eq!(names(&cache), [""; 0]);
        // Left by a process that was killed, and by one that is running.
        for (name, age) in [("dead.part-1-0-0", 3600), ("new.part-1-0-0", 0)] {
            let folder = cache.path.join(TRACES).join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join(USED), "key").unwrap();
            let file = File::options().write(true).open(folder.join(USED)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        }
        drop(trace(&cache, "a"));
        let mut left = names(&cache);
        left.sort();
        let mut expected = vec![hashed("a"), "new.part-1-0-0".to_owned()];
        expected.sort();
        assert_eq!(left, expected);
    }

    #[test]
    fn an_entry_of_another_key_with_the_same_name_is_not_used() {
        let (_folder, cache) = cache(u64::MAX);
        let (entry, _) = trace(&cache, "a");
        std::fs::write(entry.path().join(USED), "b").unwrap();
        assert!(trace(&cache, "a").1);
    }

    #[test]
    fn links_are_not_followed() {
        let (folder, cache) = cache(0);
        let outside = folder.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join(USED), "a").unwrap();
        std::fs::create_dir_all(cache.path.join(TRACES)).unwrap();
        std::os::unix::fs::symlink(&outside, cache.path.join(TRACES).join("link")).unwrap();
        drop(trace(&cache, "x"));
        cache.trim();
        assert!(outside.join(USED).exists(), "a limit of 0 removes entries, never what a link leads to");
    }
}
