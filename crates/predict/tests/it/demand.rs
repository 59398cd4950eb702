//! What threads did becomes a program, and what the scheduler did does not.

use crate::support;
use simulate::{Class, Cpus, Op};

const MS: i64 = 1_000_000;

fn demand(drawn: &str) -> predict::Demand {
    predict::demand(&support::drawn(drawn, |_, _| {})).unwrap()
}

fn ops(demand: &predict::Demand, tid: i32) -> Vec<Op> {
    let place = demand.threads.iter().position(|of| of.tid == tid).unwrap();
    demand.program.threads[place].ops.clone()
}

/// A works for 2 ms, wakes B after 1 ms, and sleeps for 1 ms, until an interrupt wakes it.
#[test]
fn waits_become_sleeps_and_posts() {
    let of = demand(
        "cpu0 U0 A A . . A A
         cpu1 U1 . . B B . .
         waking . B<A@1 . A . .
         seen   Bs@1 . . . . .",
    );
    assert_eq!(ops(&of, 1), [Op::Run(MS), Op::Post(1, 1), Op::Run(MS), Op::SleepFor(MS), Op::Run(2 * MS)]);
    assert_eq!(ops(&of, 2), [Op::Wait(1), Op::Run(2 * MS)]);
}

/// A and B work for 3 ms each. Whether they have a CPU each, or take turns, or one comes first, is up to the scheduler.
#[test]
fn where_and_when_threads_ran_is_not_in_the_program() {
    let alone = demand("cpu0 U0 A A A . . .\ncpu1 U1 B B B . . .\nseen A@0,B@1 . . . . .");
    let turns = demand("cpu0 U0 A B A B A B\ncpu1 U1 . . . . . .\nseen A@0,B+@0 . . . . .");
    let swapped = demand("cpu0 U0 . . . . . .\ncpu1 U1 B B B A A A\nseen B@1,A+@1 . . . . .");
    assert_eq!(alone.program, turns.program);
    assert_eq!(alone.program, swapped.program);
}

#[test]
fn settings_of_threads_are_those_of_the_program() {
    let of = demand(
        "cpu0 U0  A B C A
         cpu1 U1  . . . .
         nice    A=7 . . .
         fifo    B=10 . . .
         allowed C=1 . . .
         seen    A@0,B+@0,C+@0 . . .",
    );
    let thread = |tid: i32| &of.program.threads[of.threads.iter().position(|of| of.tid == tid).unwrap()];
    assert_eq!((thread(1).nice, thread(2).class), (7, Class::Fifo(10)));
    assert_eq!((thread(1).affinity.clone(), thread(3).affinity.clone()), (None, Some(Cpus::of([1]))));
}

/// A timer wakes A each 4 ms, however long it was ready or ran: A sleeps until times of its own clock.
#[test]
fn waits_of_a_steady_timer_are_periods() {
    let (mut cpu, mut waking, mut seen) = (String::new(), String::new(), String::new());
    for n in 0..12 {
        // Its work takes 1 or 2 ms in turn, so that its waits do too.
        cpu += if n % 2 == 0 { " B A . ." } else { " B A As ." };
        waking += " A<. . . .";
        seen += if n == 0 { " As@0,B@0 . . ." } else { " . . . ." };
    }
    let of = demand(&format!("cpu0 U0 {cpu}\nwaking {waking}\nseen {seen}"));
    let sleeps: Vec<Op> = ops(&of, 1).into_iter().filter(|op| !matches!(op, Op::Run(_))).collect();
    assert!(sleeps.len() >= 11 && sleeps.iter().skip(1).all(|op| *op == Op::SleepNext(4 * MS)), "{sleeps:?}");
}

/// B wakes A after two of its three milliseconds.
#[test]
fn a_post_is_where_the_waker_was_in_its_work() {
    let of = demand(
        "cpu0 U0 A . . A
         cpu1 U1 B B B .
         waking  . . A<B .
         seen    A@0,B@1 . . .",
    );
    assert_eq!(ops(&of, 1), [Op::Run(MS), Op::Wait(0), Op::Run(MS)]);
    assert_eq!(ops(&of, 2), [Op::Run(2 * MS), Op::Post(0, 1), Op::Run(MS)]);
}
