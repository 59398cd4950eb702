//! Recordings and machine descriptions of other projects.
//!
//! Small ones are in `testdata/traces`. `scripts/corpus` fetches larger ones into `corpus`; `../shared/traces` has those and more, if it
//! is there. A test that needs a recording of the second kind is ignored with "needs corpus", one of the third kind with "needs ../shared".

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 3] = ["testdata/traces", "corpus", "../shared/traces"];

fn folders() -> impl Iterator<Item = PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    FOLDERS.into_iter().map(move |folder| root.join(folder))
}

/// Returns the path of a file or folder, such as `perfetto/trace.pftrace`.
///
/// # Panics
/// If none of the folders has it.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    let found = folders().map(|folder| folder.join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name}: is in none of {FOLDERS:?}: run scripts/corpus"))
}

/// Returns the entries of a folder, such as `perf-data`, from all places, sorted by name.
///
/// # Panics
/// If none of the folders has an entry.
#[must_use]
pub fn list(name: &str) -> Vec<PathBuf> {
    let mut entries = BTreeMap::new();
    for folder in folders() {
        for entry in folder.join(name).read_dir().into_iter().flatten() {
            let path = entry.expect("an entry of a folder").path();
            entries.entry(path.file_name().map(ToOwned::to_owned)).or_insert(path);
        }
    }
    assert!(!entries.is_empty(), "{name}: is in none of {FOLDERS:?}: run scripts/corpus");
    entries.into_values().collect()
}
