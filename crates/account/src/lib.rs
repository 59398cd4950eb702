//! The state machine of docs/accounting.md.
//!
//! Stage one, [`Accountant`], follows the chain of switches of each CPU and each thread once, in order of time. It emits
//! _finished_ stretches ([`Sink`]) and keeps the sums ([`Totals`]), from which the tables `threads`, `cpus`, … and the
//! invariants are computed. The sums of ended thread instances leave memory ([`Threads`]).
//! Stage two, [`Stretches`], returns the finished stretches in order of start, in bounded memory.
//!
//! The state of a stretch may be known only when it ends: an inconsistent switch in a CPU's chain makes the open stretches
//! unknown, back to where they began, and no further:
//!
//! ```text
//!   cpu3  A A A ? ? B B      ? belongs to no thread. Attributing it to A would invent running time: A's open stretch
//!               ^lost ^in    began at its switch-in, so all of it becomes unknown, and so does cpu3's.
//! ```

mod accountant;
mod cut;
mod event_log;
mod instance;
mod instances;
mod laws;
mod losses;
mod named;
mod narrow;
mod processor;
mod recorded;
mod rows;
mod stretch_rows;
mod stretches;
mod tables;
mod threads;
mod timeline;
mod totals;
mod watch;
mod watching;

pub use accountant::{Accountant, Rules};
pub use cut::{Clipper, Cut, Cutter, InferredIndex};
pub use laws::{Law, Laws};
pub use losses::LossIndex;
pub use stretches::{Collector, StretchBatch, Stretches};
pub use tables::{cpus, inferred_state, loss, thread_by_core_type, thread_by_cpu, threads};
pub use threads::{Threads, ThreadsBuilder};
pub use totals::{CpuTotals, ThreadTotals, Totals};

use model::{CpuStretch, ThreadStretch, TimelineEvent};

/// The version of the definitions of states, times and counts (docs/accounting.md). It increases with every changed meaning, so that stored
/// states and sums of an earlier version are made again.
pub const VERSION: u32 = 3;

/// Stretches, events or sums cannot be written to a temporary file, or read back.
#[derive(Debug, thiserror::Error)]
#[error("temporary file: {0}")]
pub struct SpillError(pub std::io::Error);

/// Receives finished stretches. Stretches begin in order of time; each is passed on when it ends, with the place that was
/// reserved when it began.
pub trait Sink {
    /// Reserves a place for a stretch of a thread that begins now.
    fn begin_thread(&mut self) -> u64;
    /// Reserves a place for a stretch of a CPU that begins now.
    fn begin_cpu(&mut self) -> u64;
    /// Takes a finished stretch of a thread. Stretches without length are not passed on.
    fn thread(&mut self, place: u64, stretch: &ThreadStretch);
    /// Takes a finished stretch of a CPU.
    fn cpu(&mut self, place: u64, stretch: &CpuStretch);
    /// Takes another event; in order of time.
    fn event(&mut self, event: TimelineEvent);
    /// Checks that everything was stored so far. The caller checks after each batch, so that a full disk ends a long import.
    ///
    /// # Errors
    /// The first error.
    fn check(&self) -> Result<(), SpillError> {
        Ok(())
    }
}

/// A sink that drops everything, for callers that need only the sums.
impl Sink for () {
    #[inline]
    fn begin_thread(&mut self) -> u64 {
        0
    }
    #[inline]
    fn begin_cpu(&mut self) -> u64 {
        0
    }
    #[inline]
    fn thread(&mut self, _: u64, _: &ThreadStretch) {}
    #[inline]
    fn cpu(&mut self, _: u64, _: &CpuStretch) {}
    #[inline]
    fn event(&mut self, _: TimelineEvent) {}
}
