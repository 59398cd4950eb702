//! One file a table.

pub(crate) mod concurrency;
pub(crate) mod concurrency_bands;
pub(crate) mod placement;
pub(crate) mod smt_beside;
pub(crate) mod smt_cores;
pub(crate) mod smt_threads;
pub(crate) mod smt_utilisation;
