//! What a source of events is, and how sources become one ordered stream.
//!
//! An [`Importer`] recognises a format by its content and hands out [`Stream`]s; `ingest` pulls them ([`run`]), puts their
//! events into one order, places the origin (time 0) at the begin of the recording and keeps the ledger of what was lost
//! or odd. Nothing after this crate knows a file format.

mod capability;
mod contract;
mod facts;
mod fifo;
mod ledger;
mod numbers;
mod order;
mod run;
mod spill;

pub use capability::{Capability, Offer, Tells};
pub use contract::{BATCH, Fatal, Fault, Folder, Importer, Input, Opened, Reach, ReadSeek, Sniff, Stream};
pub use facts::{Condition, Facts, OwnCost};
pub use ledger::{Ledger, Trouble, TroubleCount, Troubles};
pub use order::{Limits, Ordered};
pub use run::{Ending, Ingested, RunError, run};
