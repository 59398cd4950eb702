//! Tables of what repeats without marks.

use super::columns::{Count, End, Ns, Ratio, Start, Thread, Tid};
use crate::column::table;

table! {
    /// The periods of threads that a timer wakes.
    PERIODS: periods {
        version: 1,
        made_from: Analysis,
        large: true,
        doc: "The periods of periodic threads, found without marks. A thread is periodic if interrupts wake it at a \
              steady distance: eight wakeups or more, each within 5 % of the period (at least 60 µs) of the time at \
              which it was due. The period is 200 µs to 10 s. Interrupts that end a wait for a device (state D) do \
              not count. A period begins at its due time. It has a row once the thread waits for the next one, so \
              the last period of a thread has none. Other wakeups within a period belong to its work, on average up \
              to two in each. Due times are estimated from the wakeups before. If a thread that others pace sleeps \
              within its work, stretches of its run can look periodic; `steady` is then usually below 1. In sources \
              that name the interrupted thread as the waker (perf, trace-cmd), only wakeups on an idle CPU count.",
        key: [THREAD, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            PERIOD_NS: Ns = "Estimated length of the period.",
            LATE_NS: Ns = "Time from `start_ns`, when the wakeup was due, to the wakeup.",
            RUNNING_NS: Ns = "Time on a CPU, from the wakeup until the thread waited for its next period.",
            READY_NS: Ns = "Time runnable but not running, in the same interval.",
            BLOCKED_NS: Ns = "Time waiting within its work, in the same interval.",
            UNKNOWN_NS: Ns = "Time in an unknown state, in the same interval.",
            RESPONSE_NS: Ns =
                "Time from `start_ns` until the thread waited for its next period: the sum of the five times before.",
            SLACK_NS: Ns =
                "Time from then until the next period was due; negative if the work lasted beyond that.",
            MISSED: Count = "Number of due times that passed before the work was done.",
            STEADY: Ratio =
                "Share of the last wakeups, up to twelve, that came on time (see above): how certain it is that the \
                 thread is periodic.",
        }
    }
}
