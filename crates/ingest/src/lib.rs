//! The interface of event sources, and their merge into one ordered stream.
//!
//! An [`Importer`] recognises a format by its content and returns [`Stream`]s. [`run`] reads them, puts their events into one
//! order, sets the origin (time 0) to the begin of the recording and keeps a ledger of losses and other anomalies. Nothing after
//! this crate depends on a file format.

mod capability;
mod comms;
mod contract;
mod facts;
mod fifo;
mod ledger;
mod numbers;
mod order;
mod run;
mod spill;
mod states;

pub use capability::{Availability, Capability, Offer};
pub use contract::{BATCH, Fatal, Fault, Folder, Importer, Input, Opened, Reach, ReadSeek, Sniff, Stream};
pub use facts::{CallchainEnds, Condition, Facts, LABEL, ReadingCost, RecordingOverhead, Sampled};
pub use ledger::{Anomalies, Anomaly, AnomalyCount, Ledger};
pub use order::{Limits, Ordered};
pub use run::{Ending, Ingested, Reading, RunError, run};
pub use states::{StateReading, StateSource};
