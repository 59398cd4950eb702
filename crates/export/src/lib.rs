//! Writes traces as files of other tools; the counterpart of `import`.
//!
//! An [`Exporter`] streams what a [`Session`](engine::Session) provides. Memory is bounded by the number of threads and CPUs, not by
//! the length of the recording, except for formats whose files must be built in memory; their [`Offer`] says so.
//! [`write()`] gives the output its final name only when it is complete.

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

use formats::{chrome, csv, firefox, folded, parquet, perfetto, xlsx};

/// All export formats, in the order of `--help`.
pub const EXPORTS: &[&dyn Exporter] = &[
    &perfetto::Perfetto,
    &firefox::Firefox,
    &chrome::Chrome,
    &folded::Folded,
    &csv::Csv,
    &xlsx::Xlsx,
    &parquet::Parquet,
];

/// The exporter of this name.
#[must_use]
pub fn named(id: &str) -> Option<&'static dyn Exporter> {
    EXPORTS.iter().copied().find(|e| e.id() == id)
}
