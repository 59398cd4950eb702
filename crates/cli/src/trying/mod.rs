//! `corewise try`: applies the fix of a finding and measures what it changes. What applies and undoes a fix is in the crate `trial`.
//!
//! ```text
//!  Chosen ── the finding, its plan, its threads, and what the program is judged by
//!    │
//!  Trial ── warm-up, then pairs in random order ──▶ Applier: looks for the threads; with the fix it applies it
//!    │                                          └─▶ Recorder: corewise record (a child process) ──▶ Runs: measured, then removed
//!    └▶ Outcome: helped, no effect, harmed ──▶ printed, and kept with the recording (tried.json)
//! ```

mod chosen;
mod recorder;
mod runs;
mod text;
mod undo;

pub use chosen::{Chosen, Metric, Which};
pub use recorder::Load;
pub use runs::{Pairs, Trial};
pub use text::{dry_run, json, plan, summary};
pub use undo::undo;
