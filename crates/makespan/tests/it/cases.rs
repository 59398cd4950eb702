//! Runs that can be worked out by hand, and what is refused.

use makespan::{Cores, Loop, Measured, ModelError, Schedule, fit_all, fit_bound_and_free, simulate};

fn of(work: f64, chunk_cost: f64) -> Loop {
    Loop { work, chunk_cost, move_cost: 0.0 }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * b.abs().max(1.0)
}

/// A block of 10 on each core. The fast core ends at 5; bound, it idles to 10. Free, it takes over the other half of the slow block, which
/// then needs 2.5: 7.5.
#[test]
fn a_free_thread_moves_to_the_idle_fast_core() {
    let bound = simulate(&[2.0, 1.0], &of(20.0, 0.0), Schedule::Affinity).unwrap();
    assert!(close(bound.makespan, 10.0) && close(bound.tail(), 5.0) && close(bound.busy_share(0).unwrap(), 0.5));
    let free = simulate(&[2.0, 1.0], &of(20.0, 0.0), Schedule::Static).unwrap();
    assert!(close(free.makespan, 7.5) && close(free.tail(), 2.5) && free.moves == 1, "{free:?}");
    // The slow core idles instead.
    assert!(close(free.busy_share(0).unwrap(), 1.0) && close(free.busy_share(1).unwrap(), 5.0 / 7.5));
    let dear = Loop { move_cost: 1.0, ..of(20.0, 0.0) };
    assert!(close(simulate(&[2.0, 1.0], &dear, Schedule::Static).unwrap().makespan, 8.5));
}

/// Blocks of 4. The fastest core ends at 1, when the slowest has 3 left: its thread moves and ends at 1.75. The middle one would end at 2; it has
/// 0.5 left at 1.75 and moves too. Taking the middle one first would take 2.125.
#[test]
fn the_slowest_thread_moves_first() {
    let run = simulate(&[2.0, 4.0, 1.0], &of(12.0, 0.0), Schedule::Static).unwrap();
    assert!(close(run.makespan, 1.875) && run.moves == 2, "{run:?}");
}

/// Chunks of 5: the fast core takes the 1st at 0, the 3rd at 2.5, the slow one the 2nd until 5; the fast one the 4th at 5, to 7.5, but at 5 the
/// queue has one chunk for two threads: the slow thread finds none.
#[test]
fn a_queue_feeds_the_fast_core_more_often() {
    let run = simulate(&[2.0, 1.0], &of(20.0, 0.0), Schedule::Dynamic(4)).unwrap();
    assert!(close(run.makespan, 7.5) && close(run.first_done, 5.0), "{run:?}");
    assert_eq!(run.cores.iter().map(|core| core.chunks).collect::<Vec<_>>(), [3, 1]);
    // With a cost of 1: the fast core ends at 3.5 and 7; the slow one at 6, and its second chunk is all left at 7, when it moves: 5 / 2 later.
    let dear = simulate(&[2.0, 1.0], &of(20.0, 1.0), Schedule::Dynamic(4)).unwrap();
    assert!(close(dear.makespan, 9.5) && close(dear.cost(), 4.0) && dear.moves == 1, "{dear:?}");
}

/// Half, a quarter, an eighth and so on of 16 for two threads: 8, 4, 2, then the smallest, 1, twice.
#[test]
fn guided_chunks_shrink_to_the_smallest() {
    let run = simulate(&[1.0, 1.0], &of(16.0, 0.0), Schedule::Guided(16)).unwrap();
    assert_eq!((run.chunks(), run.longest_chunk), (5, 8.0));
    assert!(close(run.makespan, 8.0), "{run:?}");
}

/// Each thread begins with four chunks of 1. The fast one has done its own at 1, and takes two of the three that wait at the slow one, to 1.5.
/// The slow one began its last at 1; half of it is left at 1.5, when it moves to the fast core: 0.5 / 4 later all is done.
#[test]
fn a_thread_without_work_steals_half() {
    let run = simulate(&[4.0, 1.0], &of(8.0, 0.0), Schedule::Stealing(8)).unwrap();
    assert_eq!((run.cores[0].chunks, run.cores[1].chunks, run.moves), (6, 2, 1));
    assert!(close(run.makespan, 1.625) && close(run.first_done, 1.5), "{run:?}");
}

/// The only thread with work does not stay on the slow core, wherever it stands in the list.
#[test]
fn fewer_chunks_than_cores_use_the_fast_ones() {
    for speeds in [[1.0, 3.0], [3.0, 1.0]] {
        assert!(close(simulate(&speeds, &of(9.0, 0.0), Schedule::Dynamic(1)).unwrap().makespan, 3.0));
    }
}

#[test]
fn what_is_no_loop_is_refused() {
    let loop_of = of(1.0, 0.0);
    for bad in [&[][..], &[0.0], &[1.0, f64::NAN], &[f64::INFINITY]] {
        assert_eq!(simulate(bad, &loop_of, Schedule::Static).unwrap_err(), ModelError::Speeds);
    }
    assert_eq!(simulate(&[1.0], &of(-1.0, 0.0), Schedule::Static).unwrap_err(), ModelError::Work);
    assert_eq!(simulate(&[1.0], &of(1.0, f64::NAN), Schedule::Static).unwrap_err(), ModelError::Work);
    for chunks in [0, usize::MAX] {
        let refused = simulate(&[1.0], &loop_of, Schedule::Dynamic(chunks)).unwrap_err();
        assert!(matches!(refused, ModelError::Chunks(_)));
    }
    let cores = Cores { fast: 1, slow: 1 };
    // Free is slower than bound; or so fast that no core could be.
    for (bound, free) in [(10.0, 11.0), (10.0, 0.01), (0.0, 0.0), (f64::NAN, 1.0)] {
        assert_eq!(fit_bound_and_free(cores, bound, free).unwrap_err(), ModelError::Times, "{bound} {free}");
    }
    let measured = [Measured { schedule: Schedule::Static, time: 1.0 }; 2];
    assert_eq!(fit_all(cores, &measured).unwrap_err(), ModelError::Times);
    assert_eq!(fit_all(Cores { fast: 2, slow: 0 }, &measured).unwrap_err(), ModelError::Speeds);
}

/// Times that the model made itself give its numbers back.
#[test]
fn a_fit_finds_the_ratio_work_and_cost_that_made_the_times() {
    let schedules = [
        Schedule::Affinity,
        Schedule::Static,
        Schedule::Dynamic(8),
        Schedule::Dynamic(64),
        Schedule::Dynamic(512),
        Schedule::Guided(64),
    ];
    for (cores, ratio, cost) in [
        (Cores { fast: 2, slow: 2 }, 1.7, 0.8),
        (Cores { fast: 1, slow: 1 }, 2.6, 0.05),
        (Cores { fast: 2, slow: 4 }, 1.3, 0.0),
    ] {
        let truth = of(1_200.0, cost);
        let time = |schedule| simulate(&cores.speeds(ratio), &truth, schedule).unwrap().makespan;
        let measured: Vec<Measured> = schedules.iter().map(|s| Measured { schedule: *s, time: time(*s) }).collect();
        let fit = fit_all(cores, &measured).unwrap();
        assert!((fit.ratio / ratio - 1.0).abs() < 2e-3, "{fit:?}");
        assert!((fit.of.work / 1_200.0 - 1.0).abs() < 2e-3, "{fit:?}");
        assert!((fit.of.chunk_cost - cost).abs() < 0.01, "{fit:?}");
        assert!(fit.worst(&measured).unwrap() < 2e-3, "{fit:?}");
    }
}
