//! What the user names as a machine, also where it is packed: the archives that people make of a sysfs tree.

use crate::source::unpacked_folder;
use std::path::Path;
use tempfile::TempDir;
use topology::{BadMachine, Machine};

/// What [`topology::machine_file`] reads, and archives of a folder that it reads.
///
/// # Errors
/// With the line and what to write instead, or what the folder lacks.
pub fn machine_file(path: &Path) -> Result<Machine, BadMachine> {
    match tree(path) {
        Some(folder) => topology::machine_file(folder.path()),
        None => topology::machine_file(path),
    }
}

/// Whether a path names a description of a machine rather than a trace, by its content: see [`machine_file`].
#[must_use]
pub fn is_machine(path: &Path) -> bool {
    topology::is_machine(path) || tree(path).is_some()
}

/// The folder of a machine that an archive holds, unpacked.
fn tree(path: &Path) -> Option<TempDir> {
    unpacked_folder(path).filter(|folder| topology::is_machine(folder.path()))
}
