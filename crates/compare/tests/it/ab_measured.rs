//! What a recording shows about one run of `corewise ab`: how long the command took, and what else used the CPUs. The expected shares are
//! counted in the drawings: a cell is one millisecond of one CPU.

use crate::support;
use compare::ab::{Measured, measure};
use engine::Condition;

/// A is the command, D the recorder, E a kernel thread; the steal is 1 ms of each CPU.
fn measured(drawn: &str) -> Measured {
    // Rows begin their lines.
    let drawn = drawn.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let session = support::drawn(&drawn, |facts, batch| {
        (facts.focus, facts.recorder) = (Some(1), Some(4));
        if let Some(name) = batch.names.get_mut(4) {
            *name = "kworker/0:1".into();
        }
        let (start, end) = (Ok("cpu0=0 cpu1=5".to_owned()), Ok("cpu0=1000000 cpu1=1000005".to_owned()));
        facts.conditions.push(Condition { name: "steal_ns".to_owned(), start, end });
    });
    measure(&session).expect("a measured run")
}

fn is(share: Option<f64>, wanted: f64) -> bool {
    share.is_some_and(|share| (share - wanted).abs() < 1e-9)
}

#[test]
fn the_command_its_children_the_recorder_and_the_kernel_are_not_others() {
    let run = measured(
        "cpu0 U0  A A A A   Ax D D E E .
         cpu1 U1  C C C B   B  B . . . .
         new      . . B<A@1 . . . . . . .
         process  A,C,D,E . B . . . . . . .",
    );
    assert_eq!(run.wall_ns, Some(5_000_000), "A exits after five cells");
    assert!(is(run.disturbance.other_share, 3.0 / 20.0), "three cells of C: {run:?}");
    assert_eq!(run.disturbance.most_of_other, "C");
    assert!(is(run.disturbance.steal_share, 2.0 / 20.0), "{run:?}");
}

#[test]
fn a_process_that_the_command_did_not_start_is_another_one() {
    let run = measured(
        "cpu0 U0  A A A A   Ax D D E E .
         cpu1 U1  C C . B   B  B . . . .
         new      . . B<C@1 . . . . . . .
         process  A,C,D,E . B . . . . . . .",
    );
    assert!(is(run.disturbance.other_share, 5.0 / 20.0), "two cells of C and three of B: {run:?}");
    assert_eq!(run.disturbance.most_of_other, "B");
}

#[test]
fn an_exit_that_was_not_recorded_is_unknown() {
    let run = measured(
        "cpu0 U0  A A A A .
         cpu1 U1  . . . . .
         process  A . . . .",
    );
    assert_eq!((run.wall_ns, run.disturbance.most_of_other.as_str()), (None, ""));
    assert!(is(run.disturbance.other_share, 0.0), "{run:?}");
}

/// B is a process that the command starts, C another program.
const BOUND: &str = "cpu0 U0  A A A A   Ax C C C C .
     cpu1 U1  C C C B   B  B . . . .
     new      . . B<A@1 . . . . . . .
     process  A,C,D,E . B . . . . . . .";

fn elsewhere(drawn: &str, cpus: &[u32]) -> Option<f64> {
    let drawn = drawn.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let session = support::drawn(&drawn, |facts, _| facts.focus = Some(1));
    let cpus: Vec<_> = cpus.iter().copied().map(testkit::cpu).collect();
    compare::ab::elsewhere_share(&session, &cpus).expect("a share")
}

#[test]
fn the_time_of_the_command_and_its_children_outside_the_bound_cpus_is_counted() {
    assert!(is(elsewhere(BOUND, &[0]), 3.0 / 8.0), "three cells of B, five of A: {:?}", elsewhere(BOUND, &[0]));
    assert!(is(elsewhere(BOUND, &[0, 1]), 0.0));
    assert!(is(elsewhere(BOUND, &[1]), 5.0 / 8.0));
}
