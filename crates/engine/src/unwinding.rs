//! Tables of the files of recordings that have copies of stacks, from the same copies of the files as the names of functions.

use ingest::{CallchainEnds, Facts};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use symbols::{SymbolPath, build_id};
use unwind::{Endings, Inode, Row, Table, Tables, Why};

/// The most bytes of tables that are kept: those of some browsers.
const MAX_BYTES: usize = 512 << 20;
/// The most files of code without a table that are listed.
const MAX_LISTED: usize = 8;

/// The tables that the readings of a recording share, so that all readings unwind its stacks in the same way. A clone shares them, too.
#[derive(Clone, Default)]
pub struct FoundTables(Arc<Mutex<Found>>);

#[derive(Default)]
struct Found {
    tables: HashMap<(String, Option<String>), Result<Arc<Table>, Why>>,
    /// The build ids that the recording does not have, of files that are still at their paths.
    identified: HashMap<(String, Inode), Option<String>>,
    bytes: usize,
    endings: Endings,
    symbols: Option<SymbolPath>,
}

impl fmt::Debug for FoundTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundTables").finish_non_exhaustive()
    }
}

impl FoundTables {
    fn with<T>(&self, of: impl FnOnce(&mut Found) -> T) -> T {
        of(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins a reading, which counts its stacks from 0, with files from these places.
    pub(crate) fn begin(&self, symbols: Option<&SymbolPath>, source: &Path, facts: &Facts) -> Arc<dyn Tables> {
        self.with(|found| {
            found.endings = Endings::default();
            found.symbols.get_or_insert_with(|| symbols.cloned().unwrap_or_else(SymbolPath::of_this_machine));
        });
        let host = facts.about.iter().find(|(name, _)| name == "hostname").map(|(_, host)| host.clone());
        Arc::new(Reading { found: self.clone(), source: source.to_owned(), host })
    }

    /// Returns how many callchains of the last reading ended how; `None` if no copies of stacks were unwound.
    pub(crate) fn ends(&self) -> Option<CallchainEnds> {
        self.with(|found| {
            let Endings { root, depth, cut, unreadable, not_code, .. } = found.endings;
            let no_table = found.endings.without();
            let ends = CallchainEnds { root, depth, no_table, unreadable, not_code, cut, ..CallchainEnds::default() };
            Some(ends).filter(|ends| ends.sum() > 0)
        })
    }

    /// Says what callchains of the last reading lack, a sentence each; nothing if there were no copies of stacks.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.with(|found| {
            let Endings { cut, no_table, not_walked, .. } = &found.endings;
            let all = found.endings.all();
            if all == 0 {
                return Vec::new();
            }
            let mut sentences = vec![format!(
                "Callchains of programs were unwound here from copies of their stacks (--call-graph dwarf), by the call frame information of \
                 their files."
            )];
            let identified = found.identified.values().flatten().count();
            if identified > 0 {
                sentences.push(format!(
                    "The recording lacks the build IDs of {identified} files: they were read here as their device, inode and path are the recorded \
                     ones, and as they were last changed before the recording."
                ));
            }
            for (count, what) in [
                (cut, "ended where the copy of the stack ends (perf record --call-graph dwarf,65528 copies more)"),
                (
                    not_walked,
                    "could not be unwound: they are of a 32-bit program, or of a machine other than x86-64 and arm64 (or the recording does not say of \
                     which: perf was killed), or the recording is a pipe, whose mappings come too late; `perf script` unwinds them, and \
                     corewise reads its text",
                ),
            ] {
                if *count > 0 {
                    sentences.push(format!("Of these callchains, {count} {what}."));
                }
            }
            let mut files: Vec<(&String, &u64)> = no_table.iter().collect();
            files.sort_by_key(|(file, count)| (std::cmp::Reverse(**count), *file));
            // A file may have been found in one recording, or process, and not in another.
            let mut why: BTreeMap<&str, Why> = BTreeMap::new();
            for ((path, _), table) in &found.tables {
                if let Err(no) = table {
                    why.insert(path, *no);
                }
            }
            for (file, count) in files.iter().take(MAX_LISTED) {
                let of = if file.is_empty() { "code of no file" } else { file };
                let because = match why.get(file.as_str()) {
                    Some(Why::NoBuildId) => {
                        ": the recording lacks the file's build id (perf record --buildid-mmap or --buildid-all records it), and here is no file that is \
                         known to be the same".to_owned()
                    }
                    Some(why) => format!(": {why}"),
                    None if file.is_empty() => " whose frame pointers lead nowhere".to_owned(),
                    None => ": there is no rule for that code".to_owned(),
                };
                sentences.push(format!("Of these callchains, {count} ended in {of}{because}."));
            }
            if let Some(more) = files.get(MAX_LISTED..).filter(|more| !more.is_empty()) {
                let count: u64 = more.iter().map(|(_, count)| **count).sum();
                sentences.push(format!("Of these callchains, {count} ended in code of other files ({}).", more.len()));
            }
            sentences
        })
    }
}

/// A reading of a recording.
struct Reading {
    found: FoundTables,
    source: PathBuf,
    /// The name of the recorded machine.
    host: Option<String>,
}

impl Reading {
    /// Returns a time before which the recording had not begun. perf creates its file when it begins. A copy, which is written faster than
    /// it was recorded, or whose content is older, does not show when that was.
    fn not_begun_before(&self, lasted: Duration) -> Option<SystemTime> {
        let here = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        let file = self.source.metadata().ok()?;
        let (created, written) = (file.created().ok()?, file.modified().ok()?);
        let whole = written.duration_since(created).is_ok_and(|time| time >= lasted);
        (self.host.as_deref() == Some(here.trim_end()) && whole).then_some(created)
    }

    /// Returns the build id of the file at a path, if it is the one that was mapped. As for all files, only a regular one is read.
    fn same_file(&self, path: &str, inode: Inode, lasted: Duration) -> Option<String> {
        let path = Path::new(path);
        let file = path.metadata().ok().filter(Metadata::is_file)?;
        let begin = self.not_begun_before(lasted)?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let change = Duration::new(u64::try_from(file.ctime()).ok()?, u32::try_from(file.ctime_nsec()).ok()?);
        let same = file.ino() == inode.number && change < begin && is_on(path, &file, inode.device);
        same.then(|| build_id::of_file(path)).flatten()
    }
}

/// Whether a file is on this device. Those of btrfs's subvolumes have numbers of their own, and the kernel's records have the file system's.
fn is_on(path: &Path, file: &Metadata, device: [u32; 2]) -> bool {
    let own = [libc::major(file.dev()), libc::minor(file.dev())];
    let of_mount = || {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let mounts = mounts.lines().filter_map(|line| {
            let mut words = line.split(' ').skip(2);
            Some((words.next()?.to_owned(), Path::new(words.nth(1)?).to_owned()))
        });
        // Of several at the same place, the last is on top.
        let mount = mounts.filter(|(_, at)| path.starts_with(at)).max_by_key(|(_, at)| at.components().count())?;
        Some(mount.0 == format!("{}:{}", device[0], device[1]))
    };
    own == device || of_mount() == Some(true)
}

impl Tables for Reading {
    fn table(&self, path: &str, build_id: Option<&str>) -> Result<Arc<Table>, Why> {
        self.found.with(|found| {
            let key = (path.to_owned(), build_id.map(str::to_owned));
            if let Some(known) = found.tables.get(&key) {
                return known.clone();
            }
            let table = found.read(path, build_id);
            found.tables.insert(key, table.clone());
            table
        })
    }

    fn identify(&self, path: &str, inode: Inode, lasted_ns: u64) -> Option<String> {
        let key = (path.to_owned(), inode);
        // Later readings of the same source find the same.
        self.found.with(|found| {
            found
                .identified
                .entry(key)
                .or_insert_with(|| self.same_file(path, inode, Duration::from_nanos(lasted_ns)))
                .clone()
        })
    }

    fn ended(&self, endings: Endings) {
        self.found.with(|found| found.endings.add(&endings));
    }
}

impl Found {
    /// Reads the table of a file with this build id. As for names, another file at the same path is never used.
    fn read(&mut self, path: &str, build_id: Option<&str>) -> Result<Arc<Table>, Why> {
        let id = build_id.filter(|id| !id.is_empty()).ok_or(Why::NoBuildId)?;
        let copy = self.symbols.as_ref().and_then(|symbols| symbols.copy(path, id)).ok_or(Why::NotFound)?;
        let table = Table::of_file(&copy)?;
        self.bytes += table.rows.len() * size_of::<Row>();
        if self.bytes > MAX_BYTES {
            return Err(Why::TooLarge);
        }
        Ok(Arc::new(table))
    }
}
