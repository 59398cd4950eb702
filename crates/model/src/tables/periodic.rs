//! Tables of what repeats without marks.

use super::columns::{Count, End, Int, MarkName, Ns, Ratio, Start, Thread, Tid, Word};
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

table! {
    /// The requests that one program makes to another.
    REQUESTS: requests {
        version: 2,
        made_from: Analysis,
        large: true,
        doc: "The requests that threads of other programs make to a server on the same machine, found without marks. A \
              client's thread wakes a thread of the server and waits; the server wakes it again: the answer. Of two \
              programs, the client is the one that wakes the other first; if neither began within the recording, the \
              one with the higher process number. If the other wakes a program that waits in `accept`, that one is the server, whatever was seen before. A request has a row once eight were answered between the two \
              programs. It begins with the waking that brought it. If the server was at work when it came, no waking \
              shows when: it then begins where the server's thread ended its answers before, and `asked` is null. \
              Answers that follow one another within 25 µs of running time (half or a twentieth of the work, up to 100 µs) are of one turn, and of requests that begin \
              together. A thread that gets its work from another one of its program has that one's begin. Threads are \
              clients if they wait in calls that receive something, where the source records calls. Not found: requests \
              within a program (processes whose first threads have one name) or to the kernel, answers to other \
              machines, and answers to clients that do not wait. An answer in pieces with work between them is several \
              requests. No rows if the source has no wakeups or no processes.",
        key: [THREAD, ANSWERED, END_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            ASKED: Option<Thread> = "The thread whose waking of the server brought the request; null if none did.",
            ANSWERED: Thread = "The thread of the client that the answer woke.",
            BEFORE_NS: Ns =
                "Time from `start_ns` until the thread that answered was at work on it: it was queued, or other threads \
                 had it.",
            RUNNING_NS: Ns = "Time of the thread that answered on a CPU, from then until the answer.",
            READY_NS: Ns = "Its time runnable but not running, in the same interval.",
            BLOCKED_NS: Ns = "Its time waiting for something other than a CPU, in the same interval.",
            UNKNOWN_NS: Ns =
                "Its time in an unknown state, in the same interval; all of it if another thread was woken for it while this \
                 one was at work.",
            RESPONSE_NS: Ns = "Time from `start_ns` to `end_ns`: the sum of the five times before.",
            WAITED_NS: Ns = "For how long the answered thread had waited.",
            STEADY: Ratio =
                "Share of the last waits of the answered thread, up to twelve, that threads of the server ended: how \
                 certain it is that the thread is its client.",
        }
    }
}

table! {
    /// Periods, requests and parallel regions, in sums.
    INTERVAL_SUMS: interval_sums {
        version: 1,
        made_from: IntervalSums,
        large: false,
        doc: "Number and times of the periods and requests of each thread, and of the parallel regions of each name (tables \
              `periods`, `requests` and `parallel_regions`). The time of each is that from its begin until its work was done. \
              If there are more than 1000 threads or names of a kind, the others share one row without a thread and a name. Only \
              those that began and ended in the requested range count.",
        key: [KIND, THREAD, PID, NAME],
        columns: {
            KIND: Word = "`period`, `request` or `region`.",
            THREAD: Option<Thread> = "The periodic thread, or the one that answered; null for regions.",
            PID: Option<Int> = "Process of the regions; null if not recorded.",
            NAME: Option<MarkName> = "Name of the regions.",
            COUNT: Count = "Number of periods, requests or regions.",
            TOOK_NS: Ns = "Sum of their times.",
            MEDIAN_NS: Ns = "Median of their times.",
            P95_NS: Ns = "95th percentile of their times.",
            P99_NS: Ns = "99th percentile of their times.",
            PRECISION_NS: Ns = "The three percentiles may be too high by up to this much; 0: they are exact.",
            LONGEST_NS: Ns = "The longest of their times.",
            PERIOD_NS: Option<Ns> = "Sum of the lengths of the periods.",
            LATE: Option<Count> = "Number of periods whose work lasted until the next one was due, or longer.",
            MISSED: Option<Count> = "Number of due times that passed before the work of a period was done.",
            BEFORE_NS: Ns =
                "The part of `took_ns` before the thread was woken for the period, or was at work on the request; of regions, the \
                 part until the first thread arrived.",
            LONGEST_BEFORE_NS: Ns = "The longest of these.",
            RUNNING_NS: Option<Ns> = "The part of `took_ns` after that in which the thread was on a CPU.",
            READY_NS: Option<Ns> = "The part in which it was runnable but not running.",
            BLOCKED_NS: Option<Ns> = "The part in which it waited for something else.",
            UNKNOWN_NS: Option<Ns> = "The part in which its state is unknown.",
            STEADY: Ratio = "Mean of `steady`: how certain it is that there are such periods or requests; 1 for regions.",
        }
    }
}
