//! Where a machine stores function names.

use crate::functions::{self, Named, Program};
use crate::{Why, build_id, debug_files, spin};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the lines and inlined functions of a recording are searched. Files that are read by then, and all symbols, are not affected.
pub const LINES_FOR: Duration = Duration::from_secs(60);

/// The sources of function names, in addition to the recorded files themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolPath {
    /// perf's cache of the files in its recordings (perf-buildid-cache(1)).
    pub cache: Option<PathBuf>,
    /// Folders with separate debug files, and with programs: as distributions, perf and debuginfod's cache have them, or a copy of another
    /// machine's files. The first has priority.
    pub folders: Vec<PathBuf>,
    /// The ELF notes of the running kernel.
    pub notes: PathBuf,
    /// The functions of the running kernel.
    pub list: PathBuf,
}

impl SymbolPath {
    /// Returns the default paths of Linux and perf.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self {
            cache: std::env::var_os("HOME").map(|home| Path::new(&home).join(".debug")),
            folders: vec!["/usr/lib/debug".into()],
            notes: "/sys/kernel/notes".into(),
            list: "/proc/kallsyms".into(),
        }
    }

    /// Puts folders before the others.
    #[must_use]
    pub fn with_folders(mut self, folders: &[PathBuf]) -> Self {
        self.folders.splice(0..0, folders.iter().cloned());
        self
    }

    /// Returns what is known of some offsets of a file with this build id. `until`: when the search for lines and inlined functions ends.
    #[must_use]
    pub fn functions(&self, file: &str, id: &str, bytes: &[u64], until: Instant) -> Named {
        let named = Path::new(file);
        let Some(path) = self.copy(file, id) else {
            // A debug file has the symbols, but seldom where in the program they are.
            let debug = debug_files::by_id(id, &self.folders);
            let found = debug.and_then(|path| functions::of_debug_file(&path, &self.folders, bytes, until));
            return found.unwrap_or_else(|| Named::nothing(bytes.len(), why_not(file)));
        };
        self.functions_in(&path, named, Some(id), bytes, until)
    }

    /// Returns what is known of some offsets of a file that is read at `path`, and was at `named` when it was recorded. The caller has
    /// checked that it is the same file.
    #[must_use]
    pub fn functions_in(&self, path: &Path, named: &Path, id: Option<&str>, bytes: &[u64], until: Instant) -> Named {
        functions::of_program(Program { path, named, id }, &self.folders, bytes, until)
    }

    /// Whether a copy of a file with this build id is found.
    #[must_use]
    pub fn has(&self, file: &str, id: &str) -> bool {
        self.copy(file, id).is_some()
    }

    /// Returns whether each offset of a file with this build id is in code that only waits for another thread; `false` if the file is not
    /// found.
    #[must_use]
    pub fn waits(&self, file: &str, id: &str, bytes: &[u64]) -> Vec<bool> {
        self.copy(file, id).map_or_else(|| vec![false; bytes.len()], |path| spin::waits(&path, bytes))
    }

    /// Returns a copy of a file with this build id.
    #[must_use]
    pub fn copy(&self, file: &str, id: &str) -> Option<PathBuf> {
        let cached = self.cached(id);
        let copies = ["elf", "vdso"].map(|copy| Some(cached.as_ref()?.join(copy)));
        let named = Path::new(file);
        let inside = named.strip_prefix("/").ok();
        let of_folder = |folder: &PathBuf| {
            let (first, rest) = split(id)?;
            let by_id = folder.join(".build-id").join(first).join(rest);
            let last = named.file_name().map(|name| folder.join(name));
            let of = [Some(by_id.join("elf")), Some(by_id), Some(folder.join(id).join("executable"))];
            Some(of.into_iter().chain([inside.map(|inside| folder.join(inside)), last]).flatten())
        };
        let places = [Some(named.to_owned())].into_iter().chain(copies).flatten();
        // Only regular files: others might be endless.
        places
            .chain(self.folders.iter().filter_map(of_folder).flatten())
            .find(|path| path.is_file() && build_id::of_file(path).as_deref() == Some(id))
    }

    /// Returns the lists of functions of the kernel with this build id, the most likely first.
    pub(crate) fn kernel_lists(&self, id: &str) -> Vec<PathBuf> {
        let runs = std::fs::read(&self.notes).ok().and_then(|notes| build_id::of_notes(&notes));
        let running = (runs.as_deref() == Some(id)).then(|| self.list.clone());
        let cached = self.cached(id).map(|folder| folder.join("kallsyms")).filter(|list| list.is_file());
        running.into_iter().chain(cached).collect()
    }

    /// Returns the folder of perf's cache for this build id.
    fn cached(&self, id: &str) -> Option<PathBuf> {
        let (first, rest) = split(id)?;
        Some(self.cache.as_ref()?.join(".build-id").join(first).join(rest))
    }
}

/// Returns why no copy of a file was found.
fn why_not(file: &str) -> Why {
    match file {
        _ if file.starts_with('[') => Why::OfKernel,
        _ if file.ends_with(" (deleted)") => Why::Deleted,
        _ if Path::new(file).is_file() => Why::OtherBuild,
        _ => Why::NotFound,
    }
}

/// Splits a build id as in the folder names of caches; `None` if it is invalid.
pub(crate) fn split(id: &str) -> Option<(&str, &str)> {
    id.split_at_checked(2).filter(|(_, rest)| !rest.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit()))
}
