//! A diagnosis as one JSON object, for scripts. Its names are documented and stable (docs/diagnose.md).

use crate::diagnosis::Diagnosis;
use engine::Session;
use serde::Serialize;

/// Incremented when a name is removed or changes its meaning.
const VERSION: u32 = 2;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    corewise: &'static str,
    path: String,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}

/// Formats a diagnosis as JSON.
///
/// # Errors
/// The JSON serialisation failed.
pub fn json(session: &Session, diagnosis: &Diagnosis) -> serde_json::Result<String> {
    let path = session.path().display().to_string();
    serde_json::to_string_pretty(&Document { version: VERSION, corewise: env!("CARGO_PKG_VERSION"), path, diagnosis })
}
