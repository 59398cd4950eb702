//! The identity of a recording (its ID and labels), without reading its tables.

use crate::session::refuse_interrupted;
use crate::source::{Any, open_any};
use crate::{EngineError, Priority, Session};
use ingest::{Facts, LABEL};
use std::path::Path;

/// The ID of a recording, and its labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identified {
    /// The trace's ID.
    pub trace: i64,
    /// The labels, by key, in the order in which they were given.
    pub labels: Vec<(String, String)>,
}

/// Identifies a recording: of a trace folder, only the manifest and edited labels are read; a file of another tool is read to its end, for its checksum, and not parsed.
///
/// ```
/// # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/ftrace_text/trace.txt");
/// let session = engine::Session::open(&path, engine::PassOptions::default())?;
/// assert_eq!(engine::identified(&path)?.trace, session.trace()?);
/// # Ok::<(), engine::EngineError>(())
/// ```
///
/// # Errors
/// It is no recording that corewise reads, or it cannot be read.
pub fn identified(path: &Path) -> Result<Identified, EngineError> {
    refuse_interrupted(path)?;
    if path.join(store::MANIFEST).exists() {
        let folder = store::Folder::open(path)?;
        return Ok(Identified {
            trace: folder.manifest().trace,
            labels: edited(path, folder.manifest().facts.clone()),
        });
    }
    match open_any(path)? {
        Any::Source(source) => {
            let trace = source.identity(&Priority::now())?.trace;
            Ok(Identified { trace, labels: edited(path, Facts::default()) })
        }
        Any::Trace(packed) => {
            let folder = store::Folder::open(&packed.at)?;
            let mut facts = folder.manifest().facts.clone();
            store::with_added(&packed.at, &mut facts);
            Ok(Identified { trace: folder.manifest().trace, labels: edited(path, facts) })
        }
    }
}

fn edited(path: &Path, mut facts: Facts) -> Vec<(String, String)> {
    store::with_added(path, &mut facts);
    labels(&facts)
}

fn labels(facts: &Facts) -> Vec<(String, String)> {
    let label = |(name, value): &(String, String)| Some((name.strip_prefix(LABEL)?.to_owned(), value.clone()));
    facts.about.iter().filter_map(label).collect()
}

impl Session {
    /// The ID and the labels of the recording. The ID of a file that was not imported is computed from the whole file.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn identified(&self) -> Result<Identified, EngineError> {
        Ok(Identified { trace: self.trace()?, labels: labels(self.facts()) })
    }
}
