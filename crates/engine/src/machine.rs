//! Reads machine descriptions, also packed ones (archives of a sysfs tree).

use crate::source::unpacked_folder;
use std::path::Path;
use tempfile::TempDir;
use topology::{BadMachine, Machine};

/// Reads a machine description: whatever [`topology::machine_file`] reads, or an archive of such a folder.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../topology/fixtures/vm.lscpu-e.txt");
/// # let path = std::path::Path::new(path);
/// // The output of `lscpu -e` on a machine with two CPUs.
/// let machine = engine::machine_file(path)?;
/// assert_eq!(machine.cpus.len(), 2);
/// # Ok::<(), engine::BadMachine>(())
/// ```
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
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../topology/fixtures/vm.lscpu-e.txt");
/// # let path = std::path::Path::new(path);
/// # let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
/// assert!(engine::is_machine(path));
/// assert!(!engine::is_machine(std::path::Path::new(trace)));
/// ```
#[must_use]
pub fn is_machine(path: &Path) -> bool {
    topology::is_machine(path) || tree(path).is_some()
}

/// Unpacks the machine's folder from an archive.
fn tree(path: &Path) -> Option<TempDir> {
    unpacked_folder(path).filter(|folder| topology::is_machine(folder.path()))
}
