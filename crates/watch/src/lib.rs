//! Keeps the sums of a running machine, which BPF programs add up in the kernel: no event leaves it.
//!
//! A [`Snapshot`] is a reading of all sums since the start. It is plain data; what shows it (texts, metrics, pages) knows nothing of
//! how it was read.

#[cfg(not(target_os = "linux"))]
compile_error!("corewise-watch supports Linux only");

mod cgroups;
mod counting;
mod energy;
pub mod histogram;
mod interrupts;
mod memory;
mod options;
mod places;
mod programs;
mod slots;
pub mod snapshot;
mod sums;
pub mod testing;
mod watcher;

pub use histogram::Histogram;
pub use options::{DEFAULT_TOP, GroupBy, MAX_BYTES, WatchError, WatchOptions};
pub use snapshot::Snapshot;
pub use watcher::{Watcher, now_ns};
