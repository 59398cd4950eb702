//! One file a table.

pub(crate) mod concurrency;
pub(crate) mod idle_periods;
pub(crate) mod marks;
pub(crate) mod migration_matrix;
pub(crate) mod migrations;
pub(crate) mod priority_residency;
pub(crate) mod run_lengths;
pub(crate) mod wakers;
