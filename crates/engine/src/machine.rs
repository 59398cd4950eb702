//! Reads machine descriptions, also packed ones (archives of a sysfs tree).

use crate::source::unpacked_folder;
use std::path::Path;
use tempfile::TempDir;
use topology::{BadMachine, Machine};

/// Reads a machine description: whatever [`topology::machine_file`] reads, or an archive of such a folder.
///
/// # Errors
/// The error names the line and the correction, or what the folder lacks.
pub fn machine_file(path: &Path) -> Result<Machine, BadMachine> {
    match tree(path) {
        Some(folder) => topology::machine_file(folder.path()),
        None => topology::machine_file(path),
    }
}

/// Returns whether a path is a machine description rather than a trace, judged by its content (see [`machine_file`]).
#[must_use]
pub fn is_machine(path: &Path) -> bool {
    topology::is_machine(path) || tree(path).is_some()
}

/// Unpacks the machine's folder from an archive.
fn tree(path: &Path) -> Option<TempDir> {
    unpacked_folder(path).filter(|folder| topology::is_machine(folder.path()))
}
