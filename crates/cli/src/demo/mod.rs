//! The demonstration: a workload of threads with unlike roles, and a trace for machines that may not be recorded.

mod workload;

pub use workload::workload;

/// A small perf.data: how it was recorded stands beside it.
pub const BUNDLED: &[u8] = include_bytes!("../../../import/fixtures/perf_data/sched-zstd.data");
