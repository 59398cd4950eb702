//! Tables of the stretches that programs mark.

use super::columns::{Bool, Count, End, Int, MarkName, Ns, Start, Thread};
use crate::column::table;

table! {
    /// Marked stretches, summed by name.
    MARKS: marks {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "Durations of the stretches that a thread or process marked, by name, and the states of the thread \
              meanwhile. A nested stretch also counts for the stretches around it.",
        key: [THREAD, PID, NAME],
        columns: {
            THREAD: Option<Thread> =
                "Key of the thread that marked them; null if they belong to a process or to the machine.",
            PID: Option<Int> = "Process ID; null if not recorded.",
            NAME: Option<MarkName> = "Name that the program gave them.",
            COUNT: Count = "Number of stretches that ended, and of instants.",
            OPEN: Count = "Number of stretches without a recorded end; they count up to the end of the recording.",
            DURATION_NS: Ns = "Total time from begin to end.",
            LONGEST_NS: Ns = "The longest stretch.",
            RUNNING_NS: Option<Ns> =
                "The part of `duration_ns` in which the thread was on a CPU; null if there is no thread.",
            READY_NS: Option<Ns> =
                "The part of `duration_ns` in which the thread was runnable but not running; null if there is no \
                 thread. If the source has no wakeups, a lower bound.",
            BLOCKED_NS: Option<Ns> =
                "The part of `duration_ns` in which the thread was blocked; null if there is no thread. If the source \
                 has no wakeups, an upper bound.",
            UNKNOWN_NS: Option<Ns> =
                "The part of `duration_ns` in which the state of the thread is unknown; null if there is no thread.",
        }
    }
}

table! {
    /// Every marked stretch.
    MARK_STRETCHES: mark_stretches {
        version: 2,
        made_from: Analysis,
        large: true,
        doc: "Every stretch that a thread or process marked, in order of end, and the states of the thread \
              meanwhile: one row per frame if a program marks its frames.",
        key: [THREAD, PID, NAME, START_NS, END_NS],
        columns: {
            THREAD: Option<Thread> =
                "Key of the thread that marked it; null if it belongs to a process or to the machine.",
            PID: Option<Int> = "Process ID; null if not recorded.",
            NAME: Option<MarkName> = "Name that the program gave it.",
            START_NS: Start,
            END_NS: End,
            ENDED: Bool = "Whether its end was recorded; otherwise it lasts to the end of the recording.",
            DURATION_NS: Ns = "Time from begin to end.",
            RUNNING_NS: Option<Ns> =
                "The part of `duration_ns` in which the thread was on a CPU; null if there is no thread.",
            READY_NS: Option<Ns> =
                "The part of `duration_ns` in which the thread was runnable but not running; null if there is no \
                 thread. If the source has no wakeups, a lower bound.",
            BLOCKED_NS: Option<Ns> =
                "The part of `duration_ns` in which the thread was blocked; null if there is no thread. If the source \
                 has no wakeups, an upper bound.",
            UNKNOWN_NS: Option<Ns> =
                "The part of `duration_ns` in which the state of the thread is unknown; null if there is no thread.",
        }
    }
}
