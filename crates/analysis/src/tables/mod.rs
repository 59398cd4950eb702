//! One file a table.

pub(crate) mod concurrency;
pub(crate) mod marks;
