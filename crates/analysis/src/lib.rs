//! Analyses: folds over stretches in order of time, each to a table.
//!
//! An analysis sees stretches and the machine, never a file or the bytes of an event. One driver ([`Running`]) feeds
//! all requested analyses in one pass. A new analysis is a declaration in `model::tables`, a file in `tables/`, a line in
//! [`ANALYSES`] and a case (CONTRIBUTING.md).
//!
//! Stretches tile: the next stretch of a CPU or a living thread begins where the last one ends. So a fold gets each
//! stretch once, when it begins, with its end cut to the span. The [`World`] has the state of CPUs and cores until
//! then; a fold that needs earlier states of threads keeps them (`ByThread`). If a thread instance ends at the
//! instant at which its TID's next one begins, the fold gets an empty stretch for it.

mod allowed;
mod arrivals;
mod awaited;
mod blocked_by;
mod by_thread;
mod call_site;
mod clocks;
mod conversations;
mod core_times;
mod counted;
pub mod critical;
mod detected_regions;
mod driver;
mod edges;
mod energy_readings;
mod folded_chains;
pub mod frames;
mod free;
mod functions;
mod idle_ends;
mod instances;
mod lengths;
mod marked;
mod new_threads;
mod numbers;
mod parkers;
mod parking;
mod period_grid;
pub mod plausible;
pub mod rates;
mod recent;
mod shares;
pub mod slow_intervals;
mod source_lines;
pub(crate) mod tables;
mod task_class;
mod thread_groups;
mod thread_pairs;
mod throttled;
mod turns;
mod waited_for;
mod world;

pub use allowed::SetId;
pub use blocked_by::ReasonId;
pub use core_times::capacity_used;
pub use driver::Running;
pub use shares::shares;
pub use tables::concurrency_bands::BandSteps;
pub use tables::{ANALYSES, Entry};
pub use thread_groups::ThreadGroups;
pub use world::{CoreNow, CpuNow, World};

use model::{CpuId, CpuStretch, Rows, SetTo, Span, StackId, ThreadKey, ThreadStretch, TimelineEvent};
use topology::Machine;

/// What an analysis knows before it starts.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The requested range.
    pub span: Span,
    /// Whether the recording ends with the range: moments at its very end then belong to it.
    pub to_end: bool,
    /// The CPUs whose running threads the source records; the state of all others is unknown.
    pub followed: &'a [CpuId],
    /// Whether the source records wakeups; without them, ready time is unknown.
    pub ready_known: bool,
}

/// A fold over the stretches of a span. Every stretch is clipped to the span.
pub trait Analysis {
    /// Creates the analysis.
    fn new(context: &Context<'_>) -> Self
    where
        Self: Sized;

    /// Returns the estimated running time relative to the fastest analyses, used to share out analyses among threads
    /// ([`shares`]).
    fn weight() -> usize
    where
        Self: Sized,
    {
        1
    }

    /// Handles the begin of a thread's stretch. `world` shows the state until now.
    fn thread(&mut self, stretch: &ThreadStretch, begins: Begins, world: &World) {
        _ = (stretch, begins, world);
    }

    /// Handles the begin of a CPU's stretch.
    fn cpu(&mut self, stretch: &CpuStretch, begins: Begins, world: &World) {
        _ = (stretch, begins, world);
    }

    /// Handles the move of a ready thread to another run queue.
    fn moved(&mut self, thread: ThreadKey, to: CpuId, world: &World) {
        _ = (thread, to, world);
    }

    /// Handles an event without a method of its own: a mark, a power change, … `thread`: the thread that the event is
    /// about, or [`ThreadKey::UNKNOWN`]. Events before the span are included ([`Begins::Before`]), since what they
    /// began may last into it. State from before the recording comes at its begin.
    fn event(&mut self, event: &TimelineEvent, thread: ThreadKey, begins: Begins, world: &World) {
        _ = (event, thread, begins, world);
    }

    /// Handles a change of a thread's affinity. `world` shows the old set.
    fn allowed(&mut self, thread: ThreadKey, set: SetId, world: &World) {
        _ = (thread, set, world);
    }

    /// Handles the begin or end of a thread's throttling. `world` shows the old state.
    fn throttled(&mut self, thread: ThreadKey, throttled: bool, world: &World) {
        _ = (thread, throttled, world);
    }

    /// Handles what a thread waits for, where a callchain shows it. It comes after the begin of the blocked stretch.
    fn blocked_by(&mut self, thread: ThreadKey, reason: ReasonId, world: &World) {
        _ = (thread, reason, world);
    }

    /// Handles the callchain of a switch-out to wait. It comes after the begin of the blocked stretch.
    fn blocked_at(&mut self, thread: ThreadKey, stack: StackId, world: &World) {
        _ = (thread, stack, world);
    }

    /// Handles a change of a thread's scheduling settings ([`ThreadKey::UNKNOWN`]: of a cgroup's threads). Changes
    /// before the span come at its begin.
    fn setting(&mut self, thread: ThreadKey, to: &SetTo, world: &World) {
        _ = (thread, to, world);
    }

    /// Writes the rows that will not change any more and forgets them: for tables as long as the recording.
    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        _ = (world, out);
    }

    /// Writes the rows that were not drained, at the end of the span. `world` shows the state until its end.
    fn finish(&mut self, world: &World, out: &mut dyn Rows);
}

/// Whether a begin is a real event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// Real: something happened.
    Here,
    /// It was under way when the span began, so the begin was cut off.
    Before,
}
