//! The one door for everybody below: open a trace of any kind, account for it, hand out its tables, import it into a
//! folder. Wiring only.

mod analysed;
mod asked;
mod critical;
mod error;
mod filled;
mod foreign;
mod frames;
mod import;
mod machine;
mod marked;
mod names;
mod part;
mod pass;
mod paths;
mod process;
mod retype;
mod rows;
mod session;
mod shared;
mod slow_frames;
mod source;
mod states;
mod steps;
mod summary;

pub use analysis::BandSteps;
pub use asked::Asked;
pub use error::EngineError;
pub use import::{Progress, Target, import};
/// For who brings a source of its own.
pub use ingest::{Condition, Facts, Fatal, Importer, Offer, Opened, OwnCost, Tells};
pub use machine::{is_machine, machine_file};
pub use marked::{is_called, is_named};
pub use names::Names;
pub use pass::{Accounted, Infer, PassOptions, account, account_with};
pub use session::{EachEvents, EachRows, Session};
pub use slow_frames::Slow;
pub use source::{FileSource, Haste, Identity, JoinedSource, Part, Source, formats, open_source};
pub use store::{Format, SourceFile, TableWriter, trace_id_of_recording};
pub use summary::{LawRow, Summary, TroubleRow};
/// Where names of functions are looked for.
pub use symbols::SymbolPath;
/// The machine: read from the one that runs, from what the user names, and drawn.
pub use topology::{BadMachine, Cpu, IdleState, Machine, draw, live};
