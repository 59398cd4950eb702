//! After a switch-out, the thread that left is the current task for a moment.

use crate::text::file;
use crate::text::referee::totals;
use model::{ThreadState, Tid};

/// Returns the blocked and the unknown time of a thread that left at 1.000000 s and is named so many microseconds later, 100 µs before the
/// end.
fn blocked_and_unknown(named_after_us: u32) -> [i64; 2] {
    let at = |us: u32| format!("1.{us:06}");
    let text = format!(
        "a-7 [000] 1.000000: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120\n\
         a-7 [000] {}: irq_handler_entry: irq=1 name=timer\n\
         b-8 [000] {}: irq_handler_exit: irq=1 ret=handled\n",
        at(named_after_us),
        at(named_after_us + 100)
    );
    let totals = totals(&file(text.as_bytes()).unwrap());
    let threads = totals.threads.all().unwrap();
    let left = threads.iter().find(|t| t.tid == Tid(7)).unwrap();
    [left.time(ThreadState::Blocked).0, left.time(ThreadState::Unknown).0]
}

#[test]
fn an_event_soon_after_the_switch_is_no_switch_in() {
    assert_eq!(blocked_and_unknown(85), [185_000, 0]);
    // So much later, it was switched in again, when is not known.
    assert_eq!(blocked_and_unknown(300), [0, 400_000]);
}
