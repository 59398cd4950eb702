//! The spool: what the recorder writes while it runs, and what is left of it after a crash.
//!
//! ```text
//! DIR/spool/meta.json        what the recording says of itself; written before the first event and again at the end
//! DIR/spool/processes.json   executables, build ids and command lines of the processes seen
//! DIR/spool/places.json     what lies at the addresses of callchains, where these were asked for
//! DIR/spool/000000.seg …     events; each segment tells all threads anew, so that it can be read without the others
//! ```
//!
//! A segment is a header and frames ([`frame`]). From time to time comes a mark: "all events before T are written". What
//! stands behind the last mark is incomplete (some CPUs' blocks were still in the kernel) and is not used, so that a
//! spool ends at one instant for all CPUs however its recorder ended.

mod callchains;
pub mod frame;
mod lane;
mod rare;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{open_spool, open_spool_folder};
pub use write::Writer;

use ingest::Facts;
use safefs::Dir;
use serde::{Deserialize, Serialize};

/// The format of `meta.json`; a newer one is refused.
pub const META_VERSION: u32 = 1;

/// What a spool says of itself.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Meta {
    /// `META_VERSION`.
    pub version: u32,
    /// What becomes the source's facts; `conditions` have no end until the recording ended.
    pub facts: Facts,
    /// Whether the recorder ended by itself.
    pub finished: bool,
    /// Why it ended early, where it did.
    pub error: Option<String>,
    /// Exit code of the recorded command.
    pub exit_code: Option<i32>,
    /// The boot's id, for the trace's id.
    pub boot_id: String,
    /// When the recorder started, `CLOCK_MONOTONIC`, ns.
    pub started_ns: i64,
    /// When the recorder started, `CLOCK_REALTIME`, ns since 1970.
    pub started_realtime_ns: i64,
    /// The flight recorder's length, seconds, where it is one.
    pub keep_s: Option<f64>,
}

/// The spool's name in a trace folder.
pub const SPOOL: &str = "spool";
/// Of [`Meta`].
const META: &str = "meta.json";

/// Opens the spool in a trace folder.
///
/// # Errors
/// There is none, in a sentence.
pub fn spool_of(dir: &Dir) -> Result<Dir, String> {
    let spool = dir.open_dir(SPOOL).ok().filter(|spool| spool.has(META));
    spool.ok_or_else(|| match dir.has(SPOOL) {
        true => "nothing was recorded: the recorder ended before everything was attached".to_owned(),
        false => format!("{}: holds no spool that a recorder left", dir.path().display()),
    })
}

impl Meta {
    /// Writes it into a spool's folder.
    ///
    /// # Errors
    /// As the file system says.
    pub fn store(&self, spool: &Dir) -> std::io::Result<()> {
        spool.replace(META, &serde_json::to_vec_pretty(self)?).map(drop)
    }

    /// Reads it from a spool.
    ///
    /// # Errors
    /// A sentence.
    pub fn load(spool: &Dir) -> Result<Self, String> {
        let path = spool.path().join(META);
        let bytes = spool.read(META).map_err(|e| format!("{}: {e}", path.display()))?;
        let version = serde_json::from_slice::<serde_json::Value>(&bytes)
            .ok()
            .and_then(|v| v.get("version").and_then(serde_json::Value::as_u64));
        if version.is_some_and(|v| v > u64::from(META_VERSION)) {
            return Err("the spool was written by a newer version of corewise: please update".into());
        }
        serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// The segments of a spool, in order.
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
