//! Opens a trace of any kind, accounts for it, provides its tables, and imports it into a folder. It only connects the crates
//! below it.

mod costs;
mod critical_path;
mod error;
mod identified;
mod import;
mod machine;
mod part;
mod read;
mod redaction;
mod restate;
mod session;
mod source;
mod summary;
mod symbolize;
mod tables;
mod times;
mod unwinding;

pub use analysis::BandSteps;
pub use analysis::critical;
pub use analysis::rates::TypeMatters;
pub use costs::{costs_path, machine_id, stale_costs, store_costs, stored_costs};
pub use critical_path::{AccountedPaths, FindObjective, PathObjective, PathWindow, PathWindows};
pub use error::EngineError;
pub use identified::{Identified, identified};
pub use import::{Progress, Target, import};
/// For callers that implement their own [`Source`].
pub use ingest::{
    Availability, CallchainEnds, Capability, Condition, Facts, Fatal, Importer, LABEL, Offer, Opened,
    RecordingOverhead, Sampled,
};
pub use machine::{is_machine, machine_file};
pub use model::{Redact, did_you_mean};
pub use read::{Accounted, Infer, PassOptions, THREAD_STATES, account, account_with};
pub use redaction::Redaction;
pub use session::{EventCallback, Session};
pub use source::{
    CancellableSource, FileSource, Identity, JoinedPart, JoinedSource, Priority, Source, formats, open_source,
};
pub use source::{HEAD, may_be_recording};
/// The Arrow schema of a table.
pub use store::schema as arrow_schema;
pub use store::{Format, REDACTED, SourceFile, TableWriter, states_name, trace_id_of_recording};
/// The labels of a recording, and the file with those that were edited.
pub use store::{LABELS, Labels, TRIED, add_trial, added_files, edited_labels, labels_file, write_labels};
pub use summary::{AnomalyRow, LawRow, Summary};
/// Where symbols are looked up.
pub use symbolize::{NameCounts, Symbolized, files_without_names, symbolize};
pub use symbols::{SymbolPath, build_id};
pub use tables::{
    BatchCallback, FrameCounts, FrameGroup, FrameList, FrameMarks, FrameSource, Interval, IntervalKind, IntervalName,
    ListedFrame, RowCallback, SelectedInterval, SlowFrameOptions, TableRequest, ThreadNames, declared,
    mark_name_matches, mark_row_matches,
};
/// Times as users write them.
pub use times::exact_time;
/// Lists of CPUs, such as `0-3,8`.
pub use topology::cpulist;
/// The machine: read from the running system or from a description, and drawn as text.
pub use topology::{BadMachine, Chosen, Cpu, CpuChoice, IdleState, Machine, draw, live, machine_text, named_cpus};
/// What a machine's cores cost.
pub use topology::{Cost, CostUnit, Costs, Estimate, Measured, PairClass, TypicalCost};
pub use unwinding::FoundTables;
