//! Keeps the sums of a running machine, which BPF programs add up in the kernel: no event leaves it.
//!
//! A [`Snapshot`] is a reading of all sums since the start. It is plain data; what shows it (texts, metrics, pages) knows nothing of
//! how it was read.

pub mod histogram;
pub mod snapshot;
pub mod testing;

pub use histogram::Histogram;
pub use snapshot::Snapshot;
