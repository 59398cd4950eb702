//! Analyses: folds over stretches in order of time, each to a table.
//!
//! An analysis sees stretches and the machine, never a file or an event's bytes; one driver ([`Running`]) feeds all that are
//! asked for in one pass. A new one is a file in `tables/`, a line in [`ANALYSES`] and a case.
//!
//! Stretches tile: where a CPU's or a living thread's stretch ends, its next one begins. So a fold is told only of begins, in
//! order, and finds in the [`World`] what everybody did until then. A life that ends in the instant at which its number's next
//! one begins is told of by an empty stretch.

mod allowed;
mod blocked_by;
mod by_thread;
mod clocks;
mod core_times;
pub mod critical;
mod driver;
mod edges;
pub mod frames;
mod free;
mod lengths;
mod lives;
mod marked;
mod parking;
mod shares;
pub(crate) mod tables;
mod throttled;
mod world;

pub use allowed::SetId;
pub use blocked_by::ReasonId;
pub use core_times::capacity_used;
pub use driver::Running;
pub use shares::shares;
pub use tables::concurrency_bands::BandSteps;
pub use tables::{ANALYSES, Entry};
pub use world::{CoreNow, CpuNow, World};

use model::{CpuId, CpuStretch, Rows, SetTo, Span, ThreadKey, ThreadStretch, TimelineEvent};
use topology::Machine;

/// What an analysis may know beforehand.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The time that is asked for.
    pub span: Span,
    /// The CPUs of which the source tells what they ran; of the others nobody can say anything.
    pub followed: &'a [CpuId],
    /// The source tells when threads were woken; without, ready time is not known.
    pub ready_known: bool,
}

/// A fold over the stretches of a span. Every stretch is clipped to it.
pub trait Analysis {
    /// Before anything happened.
    fn new(context: &Context<'_>) -> Self
    where
        Self: Sized;

    /// About how long it takes, beside the quickest ones: so they are shared out among threads ([`shares`]).
    fn weight() -> usize
    where
        Self: Sized,
    {
        1
    }

    /// A thread's stretch begins. `world` is as it was until now.
    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        _ = (stretch, begins, world);
    }

    /// A CPU's stretch begins.
    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        _ = (stretch, begins, world);
    }

    /// A ready thread is moved to another run queue.
    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        _ = (thread, to, world);
    }

    /// Something else happened, of a kind that has no method of its own: a mark, a change of power, … `thread`: the thread that
    /// it is about, [`ThreadKey::UNKNOWN`] where there is none. Also before the span ([`Begins::Before`]), since what it began may
    /// last into it; what held before the recording comes at its begin.
    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        _ = (event, thread, begins, world);
    }

    /// A thread is allowed on the CPUs of another set from now on. `world` tells the one before.
    fn allowed(&mut self, thread: ThreadKey, set: SetId, world: &World) {
        _ = (thread, set, world);
    }

    /// A thread is throttled from now on, or no longer. `world` tells what it was before.
    fn throttled(&mut self, thread: ThreadKey, throttled: bool, world: &World) {
        _ = (thread, throttled, world);
    }

    /// What a thread waits for, told behind the stretch that begins with it, where a callchain tells.
    fn blocked_by(&mut self, thread: ThreadKey, reason: ReasonId, world: &World) {
        _ = (thread, reason, world);
    }

    /// A thread is set to be scheduled so from now on ([`ThreadKey::UNKNOWN`]: those of a cgroup are); also before the span, as
    /// of its begin.
    fn setting(&mut self, thread: ThreadKey, to: &SetTo, world: &World) {
        _ = (thread, to, world);
    }

    /// Hands on rows that will not change any more, and forgets them: for tables as long as the recording.
    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        _ = (world, out);
    }

    /// The span is over; the table's rows, but for those that were drained. `world` is as it was until its end.
    fn finish(&mut self, world: &World, out: &mut dyn Rows);
}

/// Whether something begins where it is said to begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// It does: something happened.
    Here,
    /// It was under way when the span began; its begin was cut off.
    Before,
}
