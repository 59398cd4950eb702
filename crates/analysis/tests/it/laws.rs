//! Invariants of tables on random traces, over the whole recording and parts of it: one file for each table that has any.
#![allow(clippy::unwrap_used, clippy::panic)] // a test fails by panicking

#[path = "laws/concurrency.rs"]
mod concurrency;
#[path = "laws/concurrency_bands.rs"]
mod concurrency_bands;
#[path = "laws/counters.rs"]
mod counters;
#[path = "laws/cpu_bursts.rs"]
mod cpu_bursts;
#[path = "laws/ideal_cpu.rs"]
mod ideal_cpu;
#[path = "laws/idle_ends.rs"]
mod idle_ends;
#[path = "laws/idle_periods.rs"]
mod idle_periods;
#[path = "laws/idle_wakeups.rs"]
mod idle_wakeups;
#[path = "laws/mark_counters.rs"]
mod mark_counters;
#[path = "laws/migrations.rs"]
mod migrations;
#[path = "laws/parallel_regions.rs"]
mod parallel_regions;
#[path = "laws/parking.rs"]
mod parking;
#[path = "laws/placement.rs"]
mod placement;
#[path = "laws/power.rs"]
mod power;
#[path = "laws/priority_classes.rs"]
mod priority_classes;
#[path = "laws/priority_residency.rs"]
mod priority_residency;
#[path = "laws/queues.rs"]
mod queues;
#[path = "laws/ran_instead.rs"]
mod ran_instead;
#[path = "laws/ready_wait.rs"]
mod ready_wait;
#[path = "laws/run_lengths.rs"]
mod run_lengths;
#[path = "laws/samples.rs"]
mod samples;
#[path = "laws/slower_cores.rs"]
mod slower_cores;
#[path = "laws/smt_cores.rs"]
mod smt_cores;
#[path = "laws/smt_pairs.rs"]
mod smt_pairs;
#[path = "laws/smt_threads.rs"]
mod smt_threads;
#[path = "laws/smt_utilisation.rs"]
mod smt_utilisation;
mod support;
#[path = "laws/switch_causes.rs"]
mod switch_causes;
#[path = "laws/task_classes.rs"]
mod task_classes;
#[path = "laws/thread_scheduling.rs"]
mod thread_scheduling;
#[path = "laws/waits.rs"]
mod waits;
#[path = "laws/wakers.rs"]
mod wakers;

use proptest::prelude::*;
use support::Analysed;
use testkit::Mode;

/// An invariant of one table.
type Law = fn(&Analysed) -> Result<(), TestCaseError>;

const LAWS: &[Law] = &[
    concurrency::holds,
    samples::holds,
    counters::holds,
    mark_counters::holds,
    ready_wait::holds,
    ran_instead::holds,
    switch_causes::holds,
    waits::holds,
    migrations::holds,
    run_lengths::holds,
    priority_residency::holds,
    priority_classes::holds,
    thread_scheduling::holds,
    cpu_bursts::holds,
    task_classes::holds,
    ideal_cpu::holds,
    wakers::holds,
    idle_periods::holds,
    idle_wakeups::holds,
    idle_ends::holds,
    concurrency_bands::holds,
    parallel_regions::holds,
    parking::holds,
    placement::holds,
    power::holds,
    slower_cores::holds,
    smt_pairs::holds,
    smt_cores::holds,
    smt_threads::holds,
    smt_utilisation::holds,
];

proptest! {
    #![proptest_config(testkit::drawn(200))]
    #[test]
    fn every_law_holds(seed in any::<u64>(), steps in 1usize..400, mode in 0usize..3) {
        let mode = [Mode::Whole, Mode::Deleted, Mode::Garbage][mode];
        let analysed = support::random(mode, seed, steps);
        // Sums of unbounded times saturate.
        for law in LAWS.iter().filter(|_| mode != Mode::Garbage) {
            law(&analysed)?;
        }
    }
}
