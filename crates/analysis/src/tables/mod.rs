//! The analyses: one file for each table.

pub(crate) mod block_io;
pub(crate) mod concurrency;
pub(crate) mod concurrency_bands;
pub(crate) mod cpu_bursts;
pub(crate) mod cpu_counters;
pub(crate) mod cpu_wakeups;
pub(crate) mod deadlocks;
pub(crate) mod energy;
pub(crate) mod energy_unknown;
pub(crate) mod folded_stacks;
pub(crate) mod frames_parked;
pub(crate) mod frequency_residency;
pub(crate) mod ideal_cpu;
pub(crate) mod idle_ends;
pub(crate) mod idle_periods;
pub(crate) mod idle_residency;
pub(crate) mod idle_stays;
pub(crate) mod idle_wakeups;
pub(crate) mod interrupts;
pub(crate) mod lock_holders;
pub(crate) mod lock_waits;
pub(crate) mod locks;
pub(crate) mod lost_idleness;
pub(crate) mod mark_counters;
pub(crate) mod mark_stretches;
pub(crate) mod marks;
pub(crate) mod migration_matrix;
pub(crate) mod migrations;
pub(crate) mod object_waits;
pub(crate) mod parallel_regions;
pub(crate) mod parked_together;
pub(crate) mod parking;
pub(crate) mod periods;
pub(crate) mod placement;
pub(crate) mod pools;
pub(crate) mod power_by_function;
pub(crate) mod power_over_time;
pub(crate) mod priority_classes;
pub(crate) mod priority_inheritance;
pub(crate) mod priority_residency;
pub(crate) mod ran_instead;
pub(crate) mod ready_wait;
pub(crate) mod requests;
pub(crate) mod run_lengths;
pub(crate) mod samples;
pub(crate) mod served_waits;
pub(crate) mod slower_cores;
pub(crate) mod smt_cores;
pub(crate) mod smt_pairs;
pub(crate) mod smt_threads;
pub(crate) mod smt_utilisation;
pub(crate) mod switch_causes;
pub(crate) mod task_classes;
pub(crate) mod temperatures;
pub(crate) mod thread_by_frequency;
pub(crate) mod thread_counters;
pub(crate) mod thread_ipc;
pub(crate) mod thread_scheduling;
pub(crate) mod throttled;
pub(crate) mod wait_objects;
pub(crate) mod waits;
pub(crate) mod wakers;

use crate::{Analysis, Context};
use model::{TableDef, tables};

/// A registered analysis.
pub struct Entry {
    /// Its table.
    pub table: &'static TableDef,
    /// Creates it.
    pub start: fn(&Context<'_>) -> Box<dyn Analysis>,
    /// [`Analysis::weight`].
    pub weight: fn() -> usize,
}

/// All analyses.
pub const ANALYSES: &[Entry] = &[
    entry::<concurrency::Concurrency>(&tables::CONCURRENCY),
    entry::<marks::Marks>(&tables::MARKS),
    entry::<mark_stretches::MarkStretches>(&tables::MARK_STRETCHES),
    entry::<periods::Periods>(&tables::PERIODS),
    entry::<requests::Requests>(&tables::REQUESTS),
    entry::<parallel_regions::ParallelRegions>(&tables::PARALLEL_REGIONS),
    entry::<migrations::Migrations>(&tables::MIGRATIONS),
    entry::<migration_matrix::MigrationMatrix>(&tables::MIGRATION_MATRIX),
    entry::<run_lengths::RunLengths>(&tables::RUN_LENGTHS),
    entry::<priority_residency::PriorityResidency>(&tables::PRIORITY_RESIDENCY),
    entry::<priority_inheritance::PriorityInheritance>(&tables::PRIORITY_INHERITANCE),
    entry::<priority_classes::PriorityClasses>(&tables::PRIORITY_CLASSES),
    entry::<thread_scheduling::ThreadScheduling>(&tables::THREAD_SCHEDULING),
    entry::<ideal_cpu::IdealCpu>(&tables::IDEAL_CPU),
    entry::<wakers::Wakers>(&tables::WAKERS),
    entry::<idle_periods::IdlePeriods>(&tables::IDLE_PERIODS),
    entry::<lost_idleness::LostIdleness>(&tables::LOST_IDLENESS),
    entry::<idle_wakeups::IdleWakeups>(&tables::IDLE_WAKEUPS),
    entry::<interrupts::Interrupts>(&tables::INTERRUPTS),
    entry::<block_io::BlockIo>(&tables::BLOCK_IO),
    entry::<idle_ends::IdleEndsTable>(&tables::IDLE_ENDS),
    entry::<idle_stays::IdleStays>(&tables::IDLE_STAYS),
    entry::<cpu_wakeups::CpuWakeups>(&tables::CPU_WAKEUPS),
    entry::<power_by_function::PowerByFunction>(&tables::POWER_BY_FUNCTION),
    entry::<idle_residency::IdleResidency>(&tables::IDLE_RESIDENCY),
    entry::<frequency_residency::FrequencyResidency>(&tables::FREQUENCY_RESIDENCY),
    entry::<thread_by_frequency::ThreadByFrequency>(&tables::THREAD_BY_FREQUENCY),
    entry::<energy::Energy>(&tables::ENERGY),
    entry::<energy_unknown::EnergyUnknown>(&tables::ENERGY_UNKNOWN),
    entry::<power_over_time::PowerOverTime>(&tables::POWER_OVER_TIME),
    entry::<temperatures::Temperatures>(&tables::TEMPERATURES),
    entry::<parking::Parking>(&tables::PARKING),
    entry::<parked_together::ParkedTogether>(&tables::PARKED_TOGETHER),
    entry::<frames_parked::FramesParked>(&tables::FRAMES_PARKED),
    entry::<concurrency_bands::ConcurrencyBands>(&tables::CONCURRENCY_BANDS),
    entry::<smt_cores::SmtCores>(&tables::SMT_CORES),
    entry::<smt_utilisation::SmtUtilisation>(&tables::SMT_UTILISATION),
    entry::<smt_threads::SmtThreads>(&tables::SMT_THREADS),
    entry::<smt_pairs::SmtPairs>(&tables::SMT_PAIRS),
    entry::<cpu_bursts::CpuBursts>(&tables::CPU_BURSTS),
    entry::<task_classes::TaskClasses>(&tables::TASK_CLASSES),
    entry::<placement::Placement>(&tables::PLACEMENT),
    entry::<slower_cores::SlowerCores>(&tables::SLOWER_CORES),
    entry::<samples::Samples>(&tables::SAMPLES),
    entry::<folded_stacks::FoldedStacks>(&tables::FOLDED_STACKS),
    entry::<thread_counters::ThreadCounters>(&tables::THREAD_COUNTERS),
    entry::<mark_counters::MarkCounters>(&tables::MARK_COUNTERS),
    entry::<thread_ipc::ThreadIpc>(&tables::THREAD_IPC),
    entry::<cpu_counters::CpuCounters>(&tables::CPU_COUNTERS),
    entry::<ready_wait::ReadyWait>(&tables::READY_WAIT),
    entry::<throttled::ThrottledTimes>(&tables::THROTTLED),
    entry::<ran_instead::RanInstead>(&tables::RAN_INSTEAD),
    entry::<switch_causes::SwitchCauses>(&tables::SWITCH_CAUSES),
    entry::<waits::Waits>(&tables::WAITS),
    entry::<locks::Locks>(&tables::LOCKS),
    entry::<lock_holders::LockHolders>(&tables::LOCK_HOLDERS),
    entry::<lock_waits::LockWaits>(&tables::LOCK_WAITS),
    entry::<deadlocks::Deadlocks>(&tables::DEADLOCKS),
    entry::<object_waits::ObjectWaits>(&tables::OBJECT_WAITS),
    entry::<wait_objects::WaitObjects>(&tables::WAIT_OBJECTS),
    entry::<served_waits::ServedWaits>(&tables::SERVED_WAITS),
    entry::<pools::Pools>(&tables::POOLS),
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
        let declared: Vec<&str> = model::tables::ALL.iter().filter(declared).map(|def| def.name).collect();
        let listed: Vec<&str> = super::ANALYSES.iter().map(|entry| entry.table.name).collect();
        let only =
            |of: &[&'static str], not: &[&str]| of.iter().filter(|n| !not.contains(n)).copied().collect::<Vec<_>>();
        assert_eq!(
            only(&declared, &listed),
            [""; 0],
            "declared in model::tables::ALL as `Analysis`, but not in ANALYSES"
        );
        assert_eq!(only(&listed, &declared), [""; 0], "in ANALYSES, but not in model::tables::ALL as `Analysis`");
    }

    #[test]
    fn every_analysis_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tables");
        let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
        let names = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
        let listed: Vec<&str> = super::ANALYSES.iter().map(|entry| entry.table.name).collect();
        let missing: Vec<String> = names.filter(|name| name != "mod" && !listed.contains(&&**name)).collect();
        assert_eq!(missing, [""; 0], "files without a line in ANALYSES");
    }
}
