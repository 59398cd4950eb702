//! What must hold of every table on random traces, over all of the recording and over parts of it: one file a table.
#![allow(clippy::unwrap_used, clippy::panic)] // a test fails by panicking

#[path = "laws/concurrency.rs"]
mod concurrency;
#[path = "laws/concurrency_bands.rs"]
mod concurrency_bands;
#[path = "laws/idle_periods.rs"]
mod idle_periods;
#[path = "laws/migrations.rs"]
mod migrations;
#[path = "laws/placement.rs"]
mod placement;
#[path = "laws/power.rs"]
mod power;
#[path = "laws/priority_residency.rs"]
mod priority_residency;
#[path = "laws/queues.rs"]
mod queues;
#[path = "laws/ready_by_thief.rs"]
mod ready_by_thief;
#[path = "laws/ready_wait.rs"]
mod ready_wait;
#[path = "laws/run_lengths.rs"]
mod run_lengths;
#[path = "laws/smt_beside.rs"]
mod smt_beside;
#[path = "laws/smt_cores.rs"]
mod smt_cores;
#[path = "laws/smt_threads.rs"]
mod smt_threads;
#[path = "laws/smt_utilisation.rs"]
mod smt_utilisation;
mod support;
#[path = "laws/switch_causes.rs"]
mod switch_causes;
#[path = "laws/wakers.rs"]
mod wakers;

use account::Rules;
use model::{Event, Ns, Span, What};
use proptest::prelude::*;
use support::Analysed;
use testkit::{Mode, Random, Replay, Rng};
use topology::Machine;

/// What must hold of one table.
type Law = fn(&Analysed) -> Result<(), TestCaseError>;

const LAWS: &[Law] = &[
    concurrency::holds,
    ready_wait::holds,
    ready_by_thief::holds,
    switch_causes::holds,
    migrations::holds,
    run_lengths::holds,
    priority_residency::holds,
    wakers::holds,
    idle_periods::holds,
    concurrency_bands::holds,
    placement::holds,
    power::holds,
    smt_beside::holds,
    smt_cores::holds,
    smt_threads::holds,
    smt_utilisation::holds,
];

/// Cores with none, one and three siblings, of three classes; the last CPUs of a trace are on no list.
const MACHINE: &str = "cpu0 P0\ncpu1 P0\ncpu2 E1\ncpu3 M2\ncpu4 P3\ncpu5 P3\ncpu6 P3\ncpu7 P3";

fn analysed(mode: Mode, seed: u64, steps: usize) -> Analysed {
    let mut batch = Random { mode, seed, steps }.batch();
    let mut rng = Rng(seed);
    add_power(&mut batch.events, &mut rng);
    let has_waking = !rng.one_in(3);
    let rules = Rules { has_waking, has_wakes: has_waking || rng.one_in(2), ..Rules::default() };
    let machine = if rng.one_in(4) { Machine::default() } else { testkit::machine(MACHINE) };
    let parts = (rng.below(4) as i64, rng.below(4) as i64);
    let part = |whole: Span| match parts {
        (_, 0) => whole,
        (from, to) => {
            let from = Ns(whole.end.0 / 5 * from);
            Span::new(from, (from + Ns(whole.end.0 / 5 * to + 1)).min(whole.end))
        }
    };
    let opened = Replay::all(batch).opened(ingest::Facts::default());
    support::analyse(opened, machine, rules, part)
}

/// Idle states and frequencies, told at the times of other events.
fn add_power(events: &mut Vec<Event>, rng: &mut Rng) {
    let mut power = |event: &Event| {
        let what = match rng.below(8) {
            0 => What::Idle { state: -1 },
            1 => What::Idle { state: rng.below(3) as i32 },
            2 => What::Frequency { of: model::CpuId(rng.below(5) as u32), khz: 1000 * rng.below(3) as u32 },
            _ => return None,
        };
        Some(Event { current: model::Tid::UNKNOWN, what, ..*event })
    };
    *events = events.iter().flat_map(|e| [Some(*e), power(e)]).flatten().collect();
}

proptest! {
    #![proptest_config(testkit::drawn(200))]
    #[test]
    fn every_law_holds(seed in any::<u64>(), steps in 1usize..400, mode in 0usize..3) {
        let mode = [Mode::Whole, Mode::Deleted, Mode::Garbage][mode];
        let analysed = analysed(mode, seed, steps);
        // Sums of times without end stop at the end of time.
        for law in LAWS.iter().filter(|_| mode != Mode::Garbage) {
            law(&analysed)?;
        }
    }
}
