//! A comparison as JSON: docs/compare.md has the fields.

use crate::Comparison;
use serde::Serialize;

/// The version of the fields; they are stable, and more may be added.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    corewise: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Writes a comparison as JSON.
///
/// # Errors
/// A number cannot be written; this does not occur.
pub fn json(comparison: &Comparison) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&Document { version: VERSION, corewise: env!("CARGO_PKG_VERSION"), comparison })
}
