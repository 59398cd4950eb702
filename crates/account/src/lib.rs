//! The state machine of ACCOUNTING.md.
//!
//! Stage one, [`Accountant`]: follows each CPU's and each thread's chain once, in the order of time, hands out _finished_
//! stretches ([`Sink`]) and keeps the sums ([`Totals`]), from which the tables `threads`, `cpus`, … and the laws come. Of
//! lives that are over, the sums leave memory ([`Threads`]).
//! Stage two, [`Stretches`]: what stage one finished, in order of start, in bounded memory.
//!
//! What a stretch was may be known only when it ends: a broken link of a CPU's chain makes the open stretches unknown, back
//! to where they began, and no further:
//!
//! ```text
//!   cpu3  A A A ? ? B B      ? belongs to nobody. Crediting it to A would invent run time: A's open stretch
//!               ^lost ^in    began at its switch-in, so all of that becomes unknown, and so does cpu3's.
//! ```

mod accountant;
mod cut;
mod event_log;
mod laws;
mod life;
mod lives;
mod losses;
mod narrow;
mod processor;
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
pub use cut::{Cut, Cutter, InferredIndex, Knife};
pub use laws::{Law, Laws};
pub use losses::LossIndex;
pub use stretches::{Collector, InTurn, Stretches};
pub use tables::{cpus, inferred_state, loss, thread_by_core_type, thread_by_cpu, threads};
pub use threads::{Filing, Threads};
pub use totals::{CpuTotals, ThreadTotals, Totals};

use model::{CpuStretch, ThreadStretch, TimelineEvent};

/// Stretches, events or sums that wait in a temporary file cannot be written there, or read back.
#[derive(Debug, thiserror::Error)]
#[error("temporary file: {0}")]
pub struct SpillError(pub std::io::Error);

/// Takes finished stretches. Stretches begin in the order of time; each is handed over when it ends, with the place that was
/// asked for when it began.
pub trait Sink {
    /// A place for a thread's stretch that begins now.
    fn begin_thread(&mut self) -> u64;
    /// A place for a CPU's stretch that begins now.
    fn begin_cpu(&mut self) -> u64;
    /// A thread's stretch has ended. One without length is never handed over.
    fn thread(&mut self, place: u64, stretch: &ThreadStretch);
    /// A CPU's stretch has ended.
    fn cpu(&mut self, place: u64, stretch: &CpuStretch);
    /// Something else happened; in the order of time.
    fn event(&mut self, event: TimelineEvent);
    /// Whether all of it could be taken so far. Who feeds a sink asks after each batch, so that a full disk ends a long reading.
    ///
    /// # Errors
    /// The first thing that went wrong.
    fn check(&self) -> Result<(), SpillError> {
        Ok(())
    }
}

/// Where only the sums are wanted.
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
