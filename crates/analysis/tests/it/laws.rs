//! Invariants of tables on random traces, over the whole recording and parts of it: one file for each table that has any.

mod concurrency;
mod concurrency_bands;
mod counters;
mod cpu_bursts;
mod ideal_cpu;
mod idle_ends;
mod idle_periods;
mod idle_wakeups;
mod mark_counters;
mod migrations;
mod parallel_regions;
mod parking;
mod placement;
mod power;
mod priority_classes;
mod priority_residency;
mod queues;
mod ran_instead;
mod ready_wait;
mod run_lengths;
mod samples;
mod slower_cores;
mod smt_cores;
mod smt_pairs;
mod smt_threads;
mod smt_utilisation;
mod switch_causes;
mod task_classes;
mod thread_scheduling;
mod wait_objects;
mod waits;
mod wakers;

use crate::support::{self, Analysed};
use proptest::prelude::*;
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
    wait_objects::holds,
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

/// Drawn traces for which a law did not hold once.
#[test]
fn every_law_holds_where_it_did_not() {
    for (mode, seed, steps) in
        [(Mode::Deleted, 6_072_576_831_554_455_060, 330), (Mode::Deleted, 3_342_923_373_115_752_341, 303)]
    {
        let analysed = support::random(mode, seed, steps);
        LAWS.iter().try_for_each(|law| law(&analysed)).unwrap();
    }
}
