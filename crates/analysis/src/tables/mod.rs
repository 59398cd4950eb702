//! One file a table.

pub(crate) mod concurrency;
