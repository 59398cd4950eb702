//! One file a table.

pub(crate) mod concurrency;
pub(crate) mod ready_by_thief;
pub(crate) mod ready_wait;
pub(crate) mod switch_causes;
