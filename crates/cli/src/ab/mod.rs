//! `corewise ab`: records two commands in turn. The planning is in `compare::ab`.
//!
//! ```text
//!  Experiment ── warm-ups, then pairs ──▶ Recorder: one run ──▶ corewise record -- sh -c COMMAND (a child process)
//!      │                                     │ Watch: frequencies, throttling, pressure while it runs
//!      │                                     └▶ compare::ab::measure: how long it took, what else ran
//!      ├─ compare::ab::decide: keep the pair, or repeat it
//!      ├─ compare::ab::Stop: whether there are enough
//!      └─ ab.json, written after every run
//! ```

mod binding;
pub mod child;
mod experiment;
mod recorder;
mod sides;
pub mod signals;
mod text;
mod watch;

pub use experiment::{Experiment, Keep};
pub use recorder::{Recorder, last_lines};
pub use sides::sides;
pub use text::{of_command, start, summary};
