//! Live recording of a Linux machine to a spool that survives a crash.
//!
//! ```text
//! kernel: programs ─ blocks ─ ring ──┐            ┌── DIR/spool/*.seg ── open_spool ── ingest
//!         task iterator ─────────────┼─ record ───┤
//!         trace_marker ──────────────┤
//!         energy, temperature ───────┤
//! user:   clocks, steal, conditions ─┘            └── meta.json, processes.json, places.json
//! ```
//!
//! [`record`] writes the spool. [`open_spool`] reads it as a source of events, after the recording or after a crash.

#[cfg(not(target_os = "linux"))]
compile_error!("corewise-capture supports Linux only");

mod callchains;
mod cgroups;
mod conditions;
mod counter_trial;
mod counting;
mod doctor;
mod energy;
mod focus;
mod generated;
mod handlers;
mod hidden;
mod kept;
mod kernel;
pub mod libbpf;
mod mapped;
mod mappings;
mod mark_point;
mod mmap_events;
mod needed;
mod objects;
mod online;
mod options;
mod perf_clock;
mod perf_counting;
mod perf_events;
mod places;
mod processes;
mod procfs;
mod profile;
mod record;
mod record_writer;
mod rights;
mod ring;
mod samples;
mod spool;
mod target;
mod trace_marker;
mod tracer;
mod unwinding;
mod vdso;
mod wire;

pub use cgroups::{Hierarchy, cpu_hierarchy, statistics as cgroup_statistics, unified as unified_hierarchy};
pub use conditions::of_costs as cost_conditions;
pub use counter_trial::{Trial, Untried, counters_that_fit, open_event, try_counters};
pub use counting::{CounterPlan, CounterSet, refused};
pub use doctor::{Finding, Verdict, doctor};
pub use handlers::{Handler, StopHandlers};
pub use hidden::may_hide as hides_switches;
pub use mapped::{Mapped, page};
pub use mark_point::{MarkPlace, MarkPoint};
pub use options::{
    Backend, CaptureError, DEFAULT_POWER_INTERVAL, DEFAULT_SAMPLE_HZ, Ended, Energy, Progress, RecordOptions, Recorded,
    Sampling, Target,
};
pub use processes::processes;
pub use record::record;
pub use rights::drop_all_but_bpf;
pub use rights::may_load;
pub use spool::{Meta, SPOOL, has_begun, open_spool, open_spool_folder, spool_of};
pub use target::{Running, Signals};
