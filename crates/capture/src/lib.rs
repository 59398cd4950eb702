//! Live recording of a Linux machine to a spool that survives a crash.
//!
//! ```text
//! kernel: programs ─ blocks ─ ring ──┐            ┌── DIR/spool/*.seg ── open_spool ── ingest
//!         task iterator ─────────────┼─ record ───┤
//!         trace_marker ──────────────┤
//! user:   clocks, steal, conditions ─┘            └── meta.json, processes.json, places.json
//! ```
//!
//! [`record`] writes the spool, [`open_spool`] reads it as a source of events, right afterwards or after a crash.

#[cfg(not(target_os = "linux"))]
compile_error!("corewise-capture records Linux");

mod book;
mod callchains;
mod cgroups;
mod conditions;
mod doctor;
mod focus;
mod kernel;
mod mappings;
mod mark_point;
mod online;
mod options;
mod perf_clock;
mod perf_events;
mod places;
mod processes;
mod procfs;
mod record;
mod rights;
mod ring;
mod samples;
mod spool;
mod target;
mod trace_marker;
mod tracer;
mod wire;

pub use doctor::{Finding, Verdict, doctor};
pub use mark_point::{MarkPlace, MarkPoint};
pub use options::{Backend, CaptureError, Ended, Progress, RecordOptions, Recorded, Target};
pub use processes::{Process, processes};
pub use record::record;
pub use spool::{Meta, is_spool, open_spool};
