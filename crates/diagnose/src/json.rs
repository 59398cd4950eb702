//! For scripts: a diagnosis as one JSON object, whose names are documented and kept (docs/diagnose.md).

use crate::diagnosis::Diagnosis;
use engine::Session;
use serde::Serialize;

/// Counts up when a name goes away or changes its meaning.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Told<'a> {
    version: u32,
    corewise: &'static str,
    path: String,
    #[serde(flatten)]
    said: &'a Diagnosis,
}

/// All of a diagnosis.
///
/// # Errors
/// It cannot be written as JSON.
pub fn json(session: &Session, said: &Diagnosis) -> serde_json::Result<String> {
    let path = session.path().display().to_string();
    serde_json::to_string_pretty(&Told { version: VERSION, corewise: env!("CARGO_PKG_VERSION"), path, said })
}
