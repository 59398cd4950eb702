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
mod laws;
mod life;
mod lives;
mod losses;
mod narrow;
mod processor;
mod rows;
mod steps;
mod stretch_rows;
mod stretches;
mod tables;
mod threads;
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

use model::{Allowed, BlockedAt, CpuStretch, Marked, Move, PowerChange, Setting, ThreadStretch, Throttle};

/// Takes finished stretches. Stretches begin in the order of time; each is told when it ends, with the place that was asked
/// for when it began.
pub trait Sink {
    /// A place for a thread's stretch that begins now.
    fn begin_thread(&mut self) -> u64;
    /// A place for a CPU's stretch that begins now.
    fn begin_cpu(&mut self) -> u64;
    /// A thread's stretch has ended. One without length is never told.
    fn thread(&mut self, place: u64, stretch: &ThreadStretch);
    /// A CPU's stretch has ended.
    fn cpu(&mut self, place: u64, stretch: &CpuStretch);
    /// A thread was moved to another run queue; told in the order of time.
    fn moved(&mut self, moved: Move);
    /// A program marked something; told in the order of time.
    fn marked(&mut self, mark: Marked);
    /// A CPU's idle state or frequency changed; told in the order of time.
    fn power(&mut self, change: PowerChange);
    /// A thread is allowed on other CPUs from now on; told in the order of time.
    fn allowed(&mut self, allowed: Allowed);
    /// A thread is throttled from now on, or no longer; told in the order of time.
    fn throttle(&mut self, throttle: Throttle);
    /// A thread left its CPU to wait, and where in its code is known; told in the order of time.
    fn blocked_at(&mut self, blocked: BlockedAt);
    /// How a thread is set to be scheduled from now on; told in the order of time.
    fn setting(&mut self, setting: Setting);
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
    fn moved(&mut self, _: Move) {}
    #[inline]
    fn marked(&mut self, _: Marked) {}
    #[inline]
    fn power(&mut self, _: PowerChange) {}
    #[inline]
    fn allowed(&mut self, _: Allowed) {}
    #[inline]
    fn throttle(&mut self, _: Throttle) {}
    #[inline]
    fn blocked_at(&mut self, _: BlockedAt) {}
    #[inline]
    fn setting(&mut self, _: Setting) {}
}
