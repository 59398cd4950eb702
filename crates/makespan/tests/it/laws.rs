//! Laws that every run of a loop must obey, over drawn cores, work, costs and schedules.

use makespan::{Loop, Run, Schedule, ideal, simulate};
use proptest::prelude::*;

/// The rounding of sums of some thousand doubles.
const ROUNDING: f64 = 1e-9;

fn speeds() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(0.1..8.0, 1..9)
}

fn schedules() -> impl Strategy<Value = Schedule> {
    prop_oneof![
        Just(Schedule::Affinity),
        Just(Schedule::Static),
        (1..400_usize).prop_map(Schedule::Dynamic),
        (1..400_usize).prop_map(Schedule::Guided),
        (1..400_usize).prop_map(Schedule::Stealing),
    ]
}

fn loops() -> impl Strategy<Value = Loop> {
    (0.5..5_000.0, prop_oneof![Just(0.0), 0.0..2.0], prop_oneof![Just(0.0), 0.0..2.0])
        .prop_map(|(work, chunk_cost, move_cost)| Loop { work, chunk_cost, move_cost })
}

fn without_costs(work: f64) -> Loop {
    Loop { work, chunk_cost: 0.0, move_cost: 0.0 }
}

fn run(speeds: &[f64], of: &Loop, schedule: Schedule) -> Run {
    simulate(speeds, of, schedule).unwrap()
}

fn fastest(speeds: &[f64]) -> f64 {
    speeds.iter().copied().fold(0.0, f64::max)
}

fn slowest(speeds: &[f64]) -> f64 {
    speeds.iter().copied().fold(f64::INFINITY, f64::min)
}

fn at_least(a: f64, b: f64) -> bool {
    a >= b * (1.0 - ROUNDING) - ROUNDING
}

proptest! {
    #[test]
    fn no_schedule_is_faster_than_all_cores_together(speeds in speeds(), of in loops(), schedule in schedules()) {
        let run = run(&speeds, &of, schedule);
        prop_assert!(at_least(run.makespan, ideal(of.work, &speeds)));
        prop_assert!(at_least(run.makespan, run.longest_chunk / fastest(&speeds) + of.chunk_cost));
    }

    #[test]
    fn busy_time_is_work_and_cost(speeds in speeds(), of in loops(), schedule in schedules()) {
        let run = run(&speeds, &of, schedule);
        let work: f64 = run.cores.iter().zip(&speeds).map(|(core, speed)| (core.busy - core.cost) * speed).sum();
        prop_assert!((work - of.work).abs() <= ROUNDING * of.work.max(1.0), "{work}, not {}", of.work);
        let cost = run.chunks() as f64 * of.chunk_cost + run.moves as f64 * of.move_cost;
        prop_assert!((run.cost() - cost).abs() <= ROUNDING * cost.max(1.0), "{} cost, not {cost}", run.cost());
        for core in 0..speeds.len() {
            prop_assert!((0.0..=1.0 + ROUNDING).contains(&run.busy_share(core).unwrap()));
        }
    }

    #[test]
    fn bound_threads_take_their_block_on_their_core(speeds in speeds(), of in loops()) {
        let run = run(&speeds, &of, Schedule::Affinity);
        let slow = of.chunk_cost + of.work / speeds.len() as f64 / slowest(&speeds);
        prop_assert!((run.makespan - slow).abs() <= ROUNDING * slow);
        prop_assert_eq!(run.moves, 0);
    }

    #[test]
    fn equal_speeds_need_no_moves_and_divide_the_work(cores in 1..9_usize, speed in 0.1..8.0, work in 0.5..5_000.0) {
        for schedule in [Schedule::Affinity, Schedule::Static, Schedule::Dynamic(cores * 7), Schedule::Stealing(cores * 7)] {
            let run = run(&vec![speed; cores], &without_costs(work), schedule);
            let known = work / cores as f64 / speed;
            prop_assert!((run.makespan - known).abs() <= ROUNDING * known, "{schedule:?}: {} not {known}", run.makespan);
            prop_assert_eq!(run.moves, 0);
        }
    }

    #[test]
    fn moves_never_make_equal_blocks_slower(speeds in speeds(), work in 0.5..5_000.0) {
        let of = without_costs(work);
        let (bound, free) = (run(&speeds, &of, Schedule::Affinity), run(&speeds, &of, Schedule::Static));
        prop_assert!(at_least(bound.makespan, free.makespan));
    }

    #[test]
    fn finer_chunks_are_worse_by_one_chunk_at_most(
        speeds in speeds(), work in 0.5..5_000.0, coarse in 1..200_usize, times in 1..6_usize,
    ) {
        let of = without_costs(work);
        let fine = run(&speeds, &of, Schedule::Dynamic(coarse * times));
        let coarse = run(&speeds, &of, Schedule::Dynamic(coarse));
        prop_assert!(at_least(coarse.makespan + fine.longest_chunk / slowest(&speeds), fine.makespan));
    }

    #[test]
    fn the_tail_is_at_most_one_chunk_on_the_slowest_core(
        speeds in speeds(), work in 0.5..5_000.0, chunk_cost in 0.0..2.0, chunks in 1..400_usize, steals in any::<bool>(),
    ) {
        let schedule = if steals { Schedule::Stealing(chunks) } else { Schedule::Dynamic(chunks) };
        let run = run(&speeds, &Loop { work, chunk_cost, move_cost: 0.0 }, schedule);
        prop_assert!(at_least(chunk_cost + run.longest_chunk / slowest(&speeds), run.tail()), "{run:?}");
        prop_assert_eq!(run.chunks(), chunks);
    }

    /// By a power of two, so that no rounding changes the order of two ends.
    #[test]
    fn time_grows_with_the_unit_of_work_and_cost(speeds in speeds(), of in loops(), schedule in schedules()) {
        let scaled = Loop { work: of.work * 8.0, chunk_cost: of.chunk_cost * 8.0, move_cost: of.move_cost * 8.0 };
        prop_assert_eq!(run(&speeds, &of, schedule).makespan * 8.0, run(&speeds, &scaled, schedule).makespan);
    }
}
