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
mod tables;
mod throttled;
mod world;

pub use allowed::SetId;
pub use blocked_by::ReasonId;
pub use core_times::capacity_used;
pub use driver::Running;
pub use shares::shares;
pub use tables::concurrency_bands::BandSteps;
pub use world::{CoreNow, CpuNow, World};

use model::{CpuId, CpuStretch, Rows, SetTo, Span, TableDef, ThreadKey, ThreadStretch, TimelineEvent};
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

/// An analysis before it begins.
pub struct Entry {
    /// The table that it makes.
    pub table: &'static TableDef,
    /// Begins.
    pub start: fn(&Context<'_>) -> Box<dyn Analysis>,
    /// [`Analysis::weight`].
    pub weight: fn() -> usize,
}

/// Every analysis: the table that it makes, and what makes it.
pub const ANALYSES: &[Entry] = &[
    entry::<tables::concurrency::Concurrency>(&model::tables::CONCURRENCY),
    entry::<tables::marks::Marks>(&model::tables::MARKS),
    entry::<tables::mark_stretches::MarkStretches>(&model::tables::MARK_STRETCHES),
    entry::<tables::parallel_regions::ParallelRegions>(&model::tables::PARALLEL_REGIONS),
    entry::<tables::migrations::Migrations>(&model::tables::MIGRATIONS),
    entry::<tables::migration_matrix::MigrationMatrix>(&model::tables::MIGRATION_MATRIX),
    entry::<tables::run_lengths::RunLengths>(&model::tables::RUN_LENGTHS),
    entry::<tables::priority_residency::PriorityResidency>(&model::tables::PRIORITY_RESIDENCY),
    entry::<tables::priority_classes::PriorityClasses>(&model::tables::PRIORITY_CLASSES),
    entry::<tables::thread_scheduling::ThreadScheduling>(&model::tables::THREAD_SCHEDULING),
    entry::<tables::ideal_cpu::IdealCpu>(&model::tables::IDEAL_CPU),
    entry::<tables::wakers::Wakers>(&model::tables::WAKERS),
    entry::<tables::idle_periods::IdlePeriods>(&model::tables::IDLE_PERIODS),
    entry::<tables::idle_wakeups::IdleWakeups>(&model::tables::IDLE_WAKEUPS),
    entry::<tables::interrupts::Interrupts>(&model::tables::INTERRUPTS),
    entry::<tables::idle_residency::IdleResidency>(&model::tables::IDLE_RESIDENCY),
    entry::<tables::frequency_residency::FrequencyResidency>(&model::tables::FREQUENCY_RESIDENCY),
    entry::<tables::thread_by_frequency::ThreadByFrequency>(&model::tables::THREAD_BY_FREQUENCY),
    entry::<tables::parking::Parking>(&model::tables::PARKING),
    entry::<tables::parked_together::ParkedTogether>(&model::tables::PARKED_TOGETHER),
    entry::<tables::frames_parked::FramesParked>(&model::tables::FRAMES_PARKED),
    entry::<tables::concurrency_bands::ConcurrencyBands>(&model::tables::CONCURRENCY_BANDS),
    entry::<tables::smt_cores::SmtCores>(&model::tables::SMT_CORES),
    entry::<tables::smt_utilisation::SmtUtilisation>(&model::tables::SMT_UTILISATION),
    entry::<tables::smt_threads::SmtThreads>(&model::tables::SMT_THREADS),
    entry::<tables::smt_beside::SmtBeside>(&model::tables::SMT_BESIDE),
    entry::<tables::cpu_bursts::CpuBursts>(&model::tables::CPU_BURSTS),
    entry::<tables::placement::Placement>(&model::tables::PLACEMENT),
    entry::<tables::slower_cores::SlowerCores>(&model::tables::SLOWER_CORES),
    entry::<tables::ready_wait::ReadyWait>(&model::tables::READY_WAIT),
    entry::<tables::ready_by_thief::ReadyByThief>(&model::tables::READY_BY_THIEF),
    entry::<tables::switch_causes::SwitchCauses>(&model::tables::SWITCH_CAUSES),
    entry::<tables::waits::Waits>(&model::tables::WAITS),
];

const fn entry<A: Analysis + 'static>(table: &'static TableDef) -> Entry {
    Entry { table, start: |context| Box::new(A::new(context)), weight: A::weight }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn tables_declared_as_analyses_are_those_listed() {
        let declared = |def: &&&model::TableDef| def.made_from == model::MadeFrom::Analysis;
        let mut declared: Vec<&str> = model::tables::ALL.iter().filter(declared).map(|def| def.name).collect();
        let mut listed: Vec<&str> = super::ANALYSES.iter().map(|entry| entry.table.name).collect();
        declared.sort_unstable();
        listed.sort_unstable();
        assert_eq!(declared, listed);
    }

    #[test]
    fn every_analysis_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tables");
        let files = std::fs::read_dir(folder).unwrap().filter(|f| f.as_ref().unwrap().file_name() != "mod.rs").count();
        assert_eq!(super::ANALYSES.len(), files);
    }
}
