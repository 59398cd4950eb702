//! Capabilities 23 and 65: what is told of each thread and priority, of a drawing that has it. Functions and energy (23), ideal
//! processors (64) and parked CPUs (65) are in no trace that is read so far.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use support::drawn;
use topology::Machine;

/// A is preempted by B from 2 to 4 ms, and leaves by itself at 6, with nobody to run until it is woken at 8 on the idle CPU. It runs to
/// the end of the recording.
#[test]
fn cap_23_switches_waits_and_idle_wakeups_of_a_thread() {
    let text = "cpu0    A A B Bs A As .  .  A  A As
                waking  . . . .  . .  .  .  A  . .";
    let a = drawn(text, Machine::default(), |whole| whole);
    let ms = |table: &str, col: &str| a.ints(table, col)[0] / 1_000_000;
    let cols = ["running_ns", "ready_preempted_ns", "ready_woken_ns", "blocked_ns"];
    assert_eq!(cols.map(|col| ms("ready_wait", col)), [7, 2, 0, 2]);
    // Preemption and synchronization.
    let causes = &a.tables["switch_causes"];
    let of = |cause: &str| -> i64 {
        let rows = (0..causes.rows.len()).filter(|row| causes.int(*row, "tid") == Some(1));
        rows.filter(|row| causes.text(*row, "cause") == Some(cause)).map(|row| causes.int(row, "count").unwrap()).sum()
    };
    assert_eq!([of("preempted"), of("blocked")], [1, 1]);
    // Idle time, and the one stay in it that a waking of A ended.
    assert_eq!((ms("idle_periods", "idle_ns"), a.ints("idle_periods", "periods")), (2, vec![1]));
}

/// B waits from 1 to 5 ms, while A runs with a higher priority: shares of CPU time by priority, and behind whom a thread was ready.
#[test]
fn cap_65_time_by_priority_and_behind_whom() {
    let text = "cpu0    A A   A A As B B Bs
                waking  . B@0 . . .  . . .
                prio    A=98";
    let a = drawn(text, Machine::default(), |whole| whole);
    let ms = |table: &str, col: &str| -> Vec<i64> { a.ints(table, col).iter().map(|ns| ns / 1_000_000).collect() };
    assert_eq!(
        (a.ints("priority_residency", "prio"), ms("priority_residency", "running_ns")),
        (vec![98, 120], vec![5, 3])
    );
    let thieves = ["tid", "thief_tid", "thief_prio"].map(|col| a.ints("ready_by_thief", col));
    assert_eq!((thieves, ms("ready_by_thief", "ready_ns")), ([vec![2], vec![1], vec![98]], vec![4]));
}
