//! The trace folder: Parquet and a manifest.
//!
//! ```text
//! run.cw/manifest.json                 the sources, the machine, and the conditions of the recording
//!        events/<kind>.parquet         the events of each kind; `event` is the position in the merged order
//!        states/thread.parquet         the stretches of threads, in order of start
//!        states/cpu.parquet            the stretches of CPUs, in order of start
//!        states/*.index.parquet        for each row group, copies of the earlier rows that are still open when it begins
//!        tables/<table>.parquet        cached analysis tables, with the version of their definition
//!        labels.json                   the labels, if they were edited after the recording
//!        tried.json                    the results of `corewise try`, if fixes of its findings were tried
//! ```
//!
//! [`FolderWriter`] writes a folder from a stream of events and stretches, [`Folder`] reads it, and [`write_table`] writes one
//! table in a format for other tools. Any engine that reads Parquet can read the files: integers are signed, units and
//! documentation are in the Arrow schema's field metadata, and the metadata of each file has the trace's id (`corewise.trace`).

mod added;
mod batches;
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
mod labels;
mod manifest;
mod named;
mod pack;
mod read;
mod redact;
mod sheet;
mod small;
mod source;
mod states_out;
mod symbolized;
mod tried;
mod values;
mod words;
mod writer;

pub use added::{added_files, with_added};
pub use batches::{schema, text_array};
pub use brief::BriefStretch;
pub use error::Error;
pub use folder::{Folder, states_name};
pub use format::{EachRows, Format, RowsSource, StateRows, TableWriter, write_table};
pub use labels::{LABELS, Labels, edited_labels, labels_file, write_labels};
pub use manifest::{AnomalyRow, ContentHash, FORMAT_VERSION, FileInfo, MANIFEST, Manifest, SourceFile, UPGRADES};
pub use redact::{REDACTED, has_path, redact};
pub use sheet::TRACE_KEY;
pub use source::{Checksum, SourceId, source_id_of_files, trace_id_of_recording, trace_id_of_sources};
pub use tried::{TRIED, add_trial};
pub use writer::{FolderWriter, PART_SHIFT, WriterOptions};
