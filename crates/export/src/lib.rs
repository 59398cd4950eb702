//! Traces in other tools' files: the mirror of `import`.
//!
//! An [`Exporter`] writes what a [`Session`](engine::Session) hands out, streamed: memory is bounded by threads and CPUs,
//! never by the length of the recording (but for formats whose own files must be built whole; their [`Offer`] says so).
//! [`write()`] gives the result its name only when it is complete.

mod about;
mod contract;
mod directory;
mod error;
pub mod formats;
mod json;
mod place;
mod stretch;
mod tables;

pub use contract::{Exporter, Job, Offer, Options, Outputs, Shape};
pub use error::ExportError;
pub use place::{Place, write};

use formats::{chrome, csv, firefox, parquet, perfetto, xlsx};

/// What can be written, in the order of `--help`.
pub const EXPORTS: &[&dyn Exporter] =
    &[&perfetto::Perfetto, &firefox::Firefox, &chrome::Chrome, &csv::Csv, &xlsx::Xlsx, &parquet::Parquet];

/// The exporter of this name.
#[must_use]
pub fn named(id: &str) -> Option<&'static dyn Exporter> {
    EXPORTS.iter().copied().find(|e| e.id() == id)
}
