//! The trace folder: Parquet and a manifest.
//!
//! ```text
//! run.cw/manifest.json                 what it is, where it came from, under which conditions
//!        events/<kind>.parquet         what happened, by kind; `event` is the place in the merged order
//!        states/thread.parquet         what each thread did: whole stretches in order of start
//!        states/cpu.parquet            what each CPU did
//!        states/*.index.parquet        for each row group, copies of the rows that began before it and are still open
//!        tables/<table>.parquet        analyses, kept by the version of their definition
//! ```
//!
//! [`FolderWriter`] writes one while events and stretches stream by, [`Folder`] reads it, [`write_table`] hands a table to
//! other tools. Any engine that reads Parquet can read the files: integers are signed, units and documentation stand in
//! the Arrow schema's field metadata, and each file's own metadata has the trace's id (`corewise.trace`).

mod brief;
mod chunk;
mod dictionary;
mod encode;
mod encoder;
mod error;
mod event_tables;
mod events_in;
mod events_out;
mod folder;
mod format;
mod format_csv;
mod format_json;
mod format_md;
mod manifest;
mod pack;
mod read;
mod sheet;
mod small;
mod source;
mod states_out;
mod values;
mod words;
mod writer;

pub use brief::Brief;
pub use error::Error;
pub use event_tables::{EVENT_TABLES, STACKS};
pub use folder::Folder;
pub use format::{EachRows, Format, RowsSource, StateRows, TableWriter, write_table};
pub use manifest::{
    ContentHash, FORMAT_VERSION, FileInfo, MANIFEST, Manifest, REDACTED, SourceFile, TroubleRow, UPGRADES, redact,
};
pub use sheet::TRACE_KEY;
pub use source::{Checksum, SourceId, source_id_of_files, trace_id_of_recording, trace_id_of_sources};
pub use writer::{FolderWriter, Making, PART_SHIFT};
