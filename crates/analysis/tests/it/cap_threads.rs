//! Capabilities 23, 43, 65 and 68: the facts on each thread and priority, and on what ends idle periods, from a
//! drawing. Functions and energy (23), ideal processors (64) and parked CPUs (65) are in no trace format read so far.

use crate::support::drawn;
use testkit::ByName;
use topology::Machine;

/// A is preempted by B from 2 to 4 ms, and leaves voluntarily at 6. No thread runs until A is woken at 8 on the idle
/// CPU. It runs to the end of the recording.
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
    // Idle time, and the one idle period that a wakeup of A ended.
    assert_eq!((ms("idle_periods", "idle_ns"), a.ints("idle_periods", "periods")), (2, vec![1]));
}

/// B waits from 1 to 5 ms, while A runs with a higher priority: shares of CPU time by priority, and which thread ran
/// instead.
#[test]
fn cap_65_time_by_priority_and_which_thread_ran_instead() {
    let text = "cpu0    A A   A A As B B Bs
                waking  . B@0 . . .  . . .
                prio    A=98";
    let a = drawn(text, Machine::default(), |whole| whole);
    let ms = |table: &str, col: &str| -> Vec<i64> { a.ints(table, col).iter().map(|ns| ns / 1_000_000).collect() };
    assert_eq!(
        (a.ints("priority_residency", "prio"), ms("priority_residency", "running_ns")),
        (vec![98, 120], vec![5, 3])
    );
    let ran_instead = ["tid", "ran_instead_tid", "ran_instead_prio"].map(|col| a.ints("ran_instead", col));
    assert_eq!((ran_instead, ms("ran_instead", "ready_ns")), ([vec![2], vec![1], vec![98]], vec![4]));
}

/// A sleeps on cpu0, and a timer wakes it twice, after 2 ms each time. Once B on cpu1 wakes it, after 3 ms, and sends
/// an interrupt. At the end cpu0 is idle for 1 ms that the end of the recording cuts off.
#[test]
fn cap_43_and_68_wakeups_by_cause_and_by_thread() {
    let text = "cpu0    A . .           A . .           A . . .             A .
                cpu1    B B B           B B B           B B B B             B B
                cstate  . 1@0 .         . 1@0 .         . 1@0 . .           . 1@0
                irq     . . timer:f@0   . . timer:f@0   . . . ipi:resched@0 . .
                waking  . . A<.@0       . . A<.@0       . . . A<B@0         . .";
    let a = drawn(text, Machine::default(), |whole| whole);
    let table = &a.tables["idle_wakeups"];
    let rows: Vec<_> = (0..table.rows.len())
        .map(|row| {
            let text = |col| table.text(row, col).unwrap_or("-");
            let of = |col| table.int(row, col).unwrap();
            (
                text("cause"),
                text("interrupt"),
                table.int(row, "waker").is_some(),
                of("periods"),
                of("idle_ns") / 1_000_000,
            )
        })
        .collect();
    let expected =
        [("thread", "ipi resched", true, 1, 3), ("interrupt", "timer f", false, 2, 4), ("cut", "-", false, 1, 1)];
    assert_eq!(rows, expected);
    // They sum to the number of idle periods and their time.
    let sum = |table: &str, col: &str| a.ints(table, col).iter().sum::<i64>();
    for col in ["periods", "idle_ns"] {
        assert_eq!(sum("idle_wakeups", col), sum("idle_periods", col), "{col}");
    }
}
