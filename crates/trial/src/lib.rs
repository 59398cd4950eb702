//! Tries the fix of a finding: applies it, undoes it, and judges what it changed. Nothing in here starts a program or records one.
//!
//! ```text
//!  Fix ── Plan: settings of threads, variables, arguments, files of the kernel; or why it needs a change of the program
//!   │
//!   └▶ Applier: watches a tree of processes ── Journal (written first) ──▶ Setting, KernelFile
//!                                                   │
//!                                                   └▶ undo: after a run, after Ctrl-C, and by another process after a kill
//!  measured runs ── Outcome: helped, no effect or harmed, and the saving, measured and predicted
//! ```

mod applier;
mod cgroup;
mod command;
mod files;
mod journal;
mod outcome;
mod plan;
mod processes;
mod rights;
mod setting;
mod workers;

pub use applier::{Applied, Applier, Scope};
pub use journal::{Journal, Undone, journals, undo};
pub use outcome::{Measure, Outcome, Run, Saving};
pub use plan::{Plan, Step, plan};
pub use processes::{Selector, may_change};
pub use rights::Rights;
pub use setting::Setting;
