//! The one door for everybody below: open a trace of any kind, account for it, hand out its tables, import it into a
//! folder. Wiring only.

mod critical_path;
mod error;
mod import;
mod machine;
mod part;
mod read;
mod session;
mod source;
mod summary;
mod tables;

pub use analysis::BandSteps;
pub use error::EngineError;
pub use import::{Progress, Target, import};
/// For who brings a source of its own.
pub use ingest::{Capability, Condition, Facts, Fatal, Importer, Offer, Opened, OwnCost, Tells};
pub use machine::{is_machine, machine_file};
pub use read::{Accounted, Infer, PassOptions, account, account_with};
pub use session::{EachEvents, Session};
pub use source::{FileSource, Identity, JoinedSource, Part, Priority, Source, formats, open_source};
pub use store::{Format, SourceFile, TableWriter, trace_id_of_recording};
pub use summary::{LawRow, Summary, TroubleRow};
/// Where names of functions are looked for.
pub use symbols::SymbolPath;
pub use tables::{Asked, EachRows, Names, Slow, is_called, is_named};
/// The machine: read from the one that runs, from what the user names, and drawn.
pub use topology::{BadMachine, Cpu, IdleState, Machine, draw, live};
