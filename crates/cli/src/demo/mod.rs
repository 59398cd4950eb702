//! The demo: a workload of threads with different roles, and a bundled trace for machines that cannot be recorded.

mod workload;

pub use workload::workload;

/// A small perf.data file; a file in the same folder describes how it was recorded.
pub const BUNDLED: &[u8] = include_bytes!("../../../import/fixtures/perf_data/sched-zstd.data");
