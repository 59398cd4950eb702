//! The chain of threads that determined when something ended.

use super::columns::{CoreType, Count, End, Int, Khz, Ns, Ratio, Start, Thread, Tid};
use crate::Text;
use crate::column::table;

table! {
    /// The path, piece by piece.
    CRITICAL_PATH: critical_path {
        version: 2,
        made_from: CriticalPath,
        large: true,
        doc: "The chain of threads that determined when a thread came where it was at the end of the time asked for (the critical path \
              of Yang and Miller, 1988), piece by piece in order of time: the pieces tile that time. Going back from the end, the \
              path stays with a thread while it runs and while it is ready; where it was woken by another thread, the path goes \
              over to that one at the instant of the waking, also where that leads further back than the wait. A wait that an \
              interrupt ended, or nobody knows who, stays on the path as blocked. Of sources without flags (see the table wakers) a \
              waking by an interrupt that came upon a running thread is told as that thread's. A waking that no ready time \
              followed leaves no trace of its waker. Whose end it is, is said beside the time (corewise table --thread TID, the \
              last life of that number); unsaid, of the threads that run at the end the one that came to run last, or where none \
              does, the one that ran last: of those of the program that the recording was made for, where it is known and any of \
              them ran, else of all; no rows where none ran.",
        key: [START_NS],
        columns: {
            START_NS: Start,
            END_NS: End,
            THREAD: Thread,
            TID: Option<Tid>,
            STATE: Text =
                "running; ready: another ran on the CPU of its run queue, or nobody can say what did, or that CPU was parked; \
                 wakeup_latency: ready while that CPU was idle; throttled: ready, and held by its cgroup's CPU quota; blocked (in a source without wakings, until it ran again); exited; unknown, without a reason: \
                 before its life began.",
            CPU: Option<Int> =
                "Running: where. Ready, wakeup_latency and throttled: on whose run queue, where told. Else null.",
            CORE_TYPE: Option<CoreType>,
            SIBLING: Option<Text> =
                "Running: another CPU of that core was busy; idle: none was; unknown: nobody can say; null: it has none that \
                 anybody told.",
            FREQ_KHZ: Option<Khz> = "Running: the frequency that was told of that CPU last; null: none was.",
            BEHIND: Option<Thread> = "Ready: the thread (key) that ran on the CPU of its run queue; null: nobody can say.",
            REASON: Option<Text> = "Why, as in the table thread_state.",
            WAKER: Option<Thread> =
                "Ready since a waking: the thread (key) that woke it, from which the path comes. Blocked: who ended that. 0: an \
                 interrupt did; null: nobody, or nobody knows who.",
            PRIO: Option<Int> = "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair), where told.",
        }
    }
}

table! {
    /// The path, thread by thread.
    CRITICAL_BY_THREAD: critical_by_thread {
        version: 2,
        made_from: CriticalPath,
        large: false,
        doc: "For how long which threads were on the critical path, and what they did there: the table critical_path in sums, the \
              thread with the most first. path_ns sums to the time asked for.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Option<Tid>,
            PATH_NS: Ns = "On the path; the times below sum to it, but for beside_busy_ns.",
            SHARE: Ratio = "Of the time asked for.",
            RUNNING_PERFORMANCE_NS: Ns = "Ran there on a core of type performance.",
            RUNNING_MIDDLE_NS: Ns = "Ran there on one of type middle.",
            RUNNING_EFFICIENT_NS: Ns = "Ran there on one of type efficient.",
            RUNNING_LOW_POWER_NS: Ns = "Ran there on one of type low_power.",
            RUNNING_UNIFORM_NS: Ns = "Ran there where one class of cores or none is known, or on nobody knows which CPU.",
            BESIDE_BUSY_NS: Ns = "Of all its running time there, that in which a sibling was busy.",
            READY_NS: Ns = "Was ready there behind another thread, or nobody can say behind what.",
            WAKEUP_LATENCY_NS: Ns = "Was ready there while the CPU of its run queue was idle.",
            THROTTLED_NS: Ns = "Its cgroup's CPU quota held it there, where that is told; else it is in the two before.",
            BLOCKED_NS: Ns = "Was blocked there.",
            EXITED_NS: Ns = "Had exited.",
            UNKNOWN_NS: Ns = "Nobody can say what it did.",
            VISITS: Count = "How often the path came to it.",
        }
    }
}
