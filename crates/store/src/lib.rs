//! The trace folder: Parquet and a manifest
mod chunk;
mod encode;
mod error;
mod event_tables;
mod events_out;
mod manifest;
mod sheet;
mod small;
mod source;
mod states_out;
mod words;
mod writer;
pub use error::Error;
pub use sheet::TRACE;
pub use event_tables::EVENT_TABLES;
pub use manifest::{FORMAT_VERSION, FileInfo, MANIFEST, Manifest, REDACTED, SourceFile, TroubleRow, UPGRADES, redact};
pub use source::{SourceId, source_id, source_id_of, trace_id_of_recording, trace_id_of_sources};
pub use writer::{FolderWriter, Making};
