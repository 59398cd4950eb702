//! Tables of the files of recordings that have copies of stacks, from the same copies of the files as the names of functions.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use symbols::SymbolPath;
use unwind::{Endings, Row, Table, Tables, Why};

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
    pub(crate) fn begin(&self, symbols: Option<&SymbolPath>) -> Arc<dyn Tables> {
        self.with(|found| {
            found.endings = Endings::default();
            found.symbols.get_or_insert_with(|| symbols.cloned().unwrap_or_else(SymbolPath::of_this_machine));
        });
        Arc::new(self.clone())
    }

    /// Says how the stacks of the last reading ended, a sentence each; nothing if there were no copies of stacks.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.with(|found| {
            let Endings { root, depth, cut, no_table, unreadable, not_walked } = &found.endings;
            let all = found.endings.all();
            if all == 0 {
                return Vec::new();
            }
            let mut sentences = vec![format!(
                "Callchains of programs were unwound here from copies of their stacks (--call-graph dwarf), by the call frame information of \
                 their files: {root} of {all} reached the root."
            )];
            for (count, what) in [
                (cut, "ended where the copy of the stack ends (perf record --call-graph dwarf,65528 copies more)"),
                (depth, "had more than 127 frames, of which the innermost are kept"),
                (unreadable, "ended at a frame that was not on the stack, or whose code was not mapped"),
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
                        ": the recording lacks the file's build id (perf record --buildid-mmap or --buildid-all records it)".to_owned()
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

impl Tables for FoundTables {
    fn table(&self, path: &str, build_id: Option<&str>) -> Result<Arc<Table>, Why> {
        self.with(|found| {
            let key = (path.to_owned(), build_id.map(str::to_owned));
            if let Some(known) = found.tables.get(&key) {
                return known.clone();
            }
            let table = found.read(path, build_id);
            found.tables.insert(key, table.clone());
            table
        })
    }

    fn ended(&self, endings: Endings) {
        self.with(|found| found.endings.add(&endings));
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
