//! Where a machine stores function names.

use crate::{build_id, functions, spin};
use std::path::{Path, PathBuf};

/// The sources of function names, in addition to the recorded files themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolPath {
    /// perf's cache of the files in its recordings (perf-buildid-cache(1)).
    pub cache: Option<PathBuf>,
    /// Separate debug files of distributions.
    pub debug: PathBuf,
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
            debug: "/usr/lib/debug".into(),
            notes: "/sys/kernel/notes".into(),
            list: "/proc/kallsyms".into(),
        }
    }

    /// Returns the functions at some offsets of a file with this build id; `None` if the file or a symbol is not found.
    #[must_use]
    pub fn functions(&self, file: &str, id: &str, bytes: &[u64]) -> Vec<Option<String>> {
        let names =
            self.copy(file, id).and_then(|path| functions::of_file(&path, self.debug_file(id).as_deref(), bytes).ok());
        names.unwrap_or_else(|| vec![None; bytes.len()])
    }

    /// Returns whether each offset of a file with this build id is in code that only waits for another thread; `false` if the file is not
    /// found.
    #[must_use]
    pub fn waits(&self, file: &str, id: &str, bytes: &[u64]) -> Vec<bool> {
        self.copy(file, id).map_or_else(|| vec![false; bytes.len()], |path| spin::waits(&path, bytes))
    }

    /// Returns a copy of a file with this build id.
    fn copy(&self, file: &str, id: &str) -> Option<PathBuf> {
        let cached = self.cached(id);
        let copies = ["elf", "vdso"].map(|copy| Some(cached.as_ref()?.join(copy)));
        let mut places = [Some(PathBuf::from(file))].into_iter().chain(copies).flatten();
        // Only regular files: others might be endless.
        places.find(|path| path.is_file() && build_id::of_file(path).as_deref() == Some(id))
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

    /// Returns the separate debug file for this build id, if there is one.
    fn debug_file(&self, id: &str) -> Option<PathBuf> {
        let (first, rest) = split(id)?;
        Some(self.debug.join(".build-id").join(first).join(format!("{rest}.debug"))).filter(|path| path.is_file())
    }
}

/// Splits a build id as in the folder names of caches; `None` if it is invalid.
fn split(id: &str) -> Option<(&str, &str)> {
    id.split_at_checked(2).filter(|(_, rest)| !rest.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit()))
}
