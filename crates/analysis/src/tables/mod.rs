//! One file a table.

pub(crate) mod concurrency;
pub(crate) mod concurrency_bands;
pub(crate) mod frequency_residency;
pub(crate) mod idle_periods;
pub(crate) mod idle_residency;
pub(crate) mod idle_wakeups;
pub(crate) mod mark_stretches;
pub(crate) mod marks;
pub(crate) mod migration_matrix;
pub(crate) mod migrations;
pub(crate) mod parallel_regions;
pub(crate) mod placement;
pub(crate) mod priority_residency;
pub(crate) mod ready_by_thief;
pub(crate) mod ready_wait;
pub(crate) mod run_lengths;
pub(crate) mod smt_beside;
pub(crate) mod smt_cores;
pub(crate) mod smt_threads;
pub(crate) mod smt_utilisation;
pub(crate) mod switch_causes;
pub(crate) mod thread_by_frequency;
pub(crate) mod waits;
pub(crate) mod wakers;
