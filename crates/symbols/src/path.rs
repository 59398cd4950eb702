//! Where a machine keeps the names of its code.

use crate::{build_id, functions};
use std::path::{Path, PathBuf};

/// Where names are looked for: in files at their own path, and here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolPath {
    /// perf's cache of what its recordings went through (perf-buildid-cache(1)).
    pub cache: Option<PathBuf>,
    /// Symbols that distributions keep apart (GDB's "separate debug files").
    pub debug: PathBuf,
    /// The ELF notes of the kernel that runs.
    pub notes: PathBuf,
    /// Its list of functions.
    pub list: PathBuf,
}

impl SymbolPath {
    /// As Linux and perf have them.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self {
            cache: std::env::var_os("HOME").map(|home| Path::new(&home).join(".debug")),
            debug: "/usr/lib/debug".into(),
            notes: "/sys/kernel/notes".into(),
            list: "/proc/kallsyms".into(),
        }
    }

    /// The functions at some bytes of a file of this build id; `None` where it, or a symbol there, is not to be found.
    #[must_use]
    pub fn functions(&self, file: &str, id: &str, bytes: &[u64]) -> Vec<Option<String>> {
        let kept = self.kept(id);
        let copies = ["elf", "vdso"].map(|copy| Some(kept.as_ref()?.join(copy)));
        let mut places = [Some(PathBuf::from(file))].into_iter().chain(copies).flatten();
        // What is no file might never end.
        let found = places.find(|path| path.is_file() && build_id::of_file(path).as_deref() == Some(id));
        let names = found.and_then(|path| functions::of_file(&path, self.apart(id).as_deref(), bytes).ok());
        names.unwrap_or_else(|| vec![None; bytes.len()])
    }

    /// Lists of the functions of the kernel with this build id, the likeliest first.
    pub(crate) fn kernel_lists(&self, id: &str) -> Vec<PathBuf> {
        let runs = std::fs::read(&self.notes).ok().and_then(|notes| build_id::of_notes(&notes));
        let running = (runs.as_deref() == Some(id)).then(|| self.list.clone());
        let kept = self.kept(id).map(|kept| kept.join("kallsyms")).filter(|list| list.is_file());
        running.into_iter().chain(kept).collect()
    }

    /// The folder of perf's cache that holds code of this build id.
    fn kept(&self, id: &str) -> Option<PathBuf> {
        let (first, rest) = split(id)?;
        Some(self.cache.as_ref()?.join(".build-id").join(first).join(rest))
    }

    /// The file that has the symbols of code of this build id.
    fn apart(&self, id: &str) -> Option<PathBuf> {
        let (first, rest) = split(id)?;
        Some(self.debug.join(".build-id").join(first).join(format!("{rest}.debug"))).filter(|path| path.is_file())
    }
}

/// A build id as names of folders have it. One that is none leads nowhere.
fn split(id: &str) -> Option<(&str, &str)> {
    id.split_at_checked(2).filter(|(_, rest)| !rest.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit()))
}
