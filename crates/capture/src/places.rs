//! What lies at the addresses of callchains: `places.json` of a spool.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// The address space of the kernel; those of programs have the numbers behind it.
pub const KERNEL: u32 = 0;
/// An address space of which nobody knows what was mapped there.
pub const UNKNOWN: u32 = u32::MAX;
/// The file's name in a spool's folder.
const FILE: &str = "places.json";
/// More addresses than this are not named: a bound, for programs that make code without end.
pub const MOST: usize = 1 << 20;

/// What lies at an address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The address space.
    pub space: u32,
    /// The address in it: of callers, that of the last byte before the one to which they return.
    pub address: u64,
    /// The function, by its symbol.
    pub function: Option<String>,
    /// What was mapped there: a path, or a name in brackets.
    pub file: Option<String>,
    /// GNU build id of the file, in hexadecimal.
    pub build_id: Option<String>,
    /// The byte of the file that lay there.
    pub offset: Option<u64>,
}

/// Writes them into a spool's folder.
///
/// # Errors
/// As the file system says.
pub fn store(spool: &Path, places: &[Place]) -> std::io::Result<()> {
    crate::spool::replace(&spool.join(FILE), &serde_json::to_vec(places)?)
}

/// Those of a spool; none where its recorder kept no callchains.
///
/// # Errors
/// A sentence, where the file is there and cannot be read.
pub fn load(spool: &Path) -> Result<Vec<Place>, String> {
    let path = spool.join(FILE);
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}
