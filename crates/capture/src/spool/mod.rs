//! The spool: the files that the recorder writes during a recording, readable even after a crash.
//!
//! ```text
//! DIR/spool/meta.json        metadata of the recording; written before the first event and again at the end
//! DIR/spool/processes.json   executables, build ids and command lines of the processes seen
//! DIR/spool/places.json      functions and files at the addresses of callchains, if these were requested
//! DIR/spool/000000.seg …     events; each segment repeats all threads, so that it can be read without the others
//! ```
//!
//! A segment is a header and frames ([`frame`]). From time to time there is a mark: "all events before T are written". Events after
//! the last mark are incomplete (some CPUs' blocks were still in the kernel) and are not used, so that a spool ends at one time
//! for all CPUs, however its recorder ended.

mod callchains;
pub mod energy;
pub mod frame;
mod lane;
mod only_focus;
mod rare;
mod read;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
mod waiting;
mod write;

pub use rare::Names;
pub use read::{has_begun, open_spool, open_spool_folder};
pub use write::Writer;

use ingest::Facts;
use safefs::Dir;
use serde::{Deserialize, Serialize};

/// The version of `meta.json`; newer ones are rejected.
pub const META_VERSION: u32 = 1;

/// The metadata of a spool.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Meta {
    /// `META_VERSION`.
    pub version: u32,
    /// The source's facts; `conditions` have no end values until the recording ends.
    pub facts: Facts,
    /// Whether the recorder ended normally.
    pub finished: bool,
    /// Why it ended early, if it did.
    pub error: Option<String>,
    /// Exit code of the recorded command.
    pub exit_code: Option<i32>,
    /// The boot id, for the trace's id.
    pub boot_id: String,
    /// When the recorder started, `CLOCK_MONOTONIC`, ns.
    pub started_ns: i64,
    /// When the recorder started, `CLOCK_REALTIME`, ns since 1970.
    pub started_realtime_ns: i64,
    /// The flight recorder's length, seconds, if it is one.
    pub keep_s: Option<f64>,
    /// Whether what is private of processes outside the target is left out.
    #[serde(default)]
    pub only_focus: bool,
    /// Whether the recorder still prepares itself: what is recorded until then may be dropped.
    #[serde(default)]
    pub preparing: bool,
}

/// The name of the spool's folder in a trace folder.
pub const SPOOL: &str = "spool";
/// The file name of [`Meta`].
const META: &str = "meta.json";

/// Opens the spool in a trace folder.
///
/// # Errors
/// A sentence, if there is no spool.
pub fn spool_of(dir: &Dir) -> Result<Dir, String> {
    let spool = dir.open_dir(SPOOL).ok().filter(|spool| spool.has(META));
    spool.ok_or_else(|| match dir.has(SPOOL) {
        true => format!(
            "{}: nothing was recorded, because the recorder ended before everything was attached; record again",
            dir.path().display()
        ),
        false => format!(
            "{}: no spool found: this is not the folder of a recording, or its spool was already converted",
            dir.path().display()
        ),
    })
}

impl Meta {
    /// Writes the metadata to a spool's folder.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn store(&self, spool: &Dir) -> std::io::Result<()> {
        spool.replace(META, &serde_json::to_vec_pretty(self)?).map(drop)
    }

    /// Reads the metadata of a spool.
    ///
    /// # Errors
    /// A sentence, if the file cannot be read or has a newer version.
    pub fn load(spool: &Dir) -> Result<Self, String> {
        let path = spool.path().join(META);
        let bytes = spool.read(META).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let version = serde_json::from_slice::<serde_json::Value>(&bytes)
            .ok()
            .and_then(|v| v.get("version").and_then(serde_json::Value::as_u64));
        if version.is_some_and(|v| v > u64::from(META_VERSION)) {
            return Err(format!("{} was written by a newer version of corewise: update corewise", path.display()));
        }
        serde_json::from_slice(&bytes).map_err(|e| format!("cannot parse {}: {e}", path.display()))
    }
}

/// Returns the number and file name of a spool's segments, in order.
pub(crate) fn segments(spool: &Dir) -> std::io::Result<Vec<(u64, String)>> {
    let mut found: Vec<(u64, String)> = spool
        .names()?
        .into_iter()
        .filter_map(|name| {
            let name = name.into_string().ok()?;
            Some((name.strip_suffix(".seg")?.parse().ok()?, name))
        })
        .collect();
    found.sort();
    Ok(found)
}
