//! The chain of threads that determined when something ended.

use super::columns::{CORE_TYPE, END, START, THREAD, TID, count, int, ns, text};
use crate::table::{Col, Kind, MadeFrom, TableDef};

/// The path, piece by piece.
pub const CRITICAL_PATH: TableDef = TableDef {
    name: "critical_path",
    version: 2,
    made_from: MadeFrom::CriticalPath,
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
    key: &["start_ns"],
    cols: &[
        START,
        END,
        THREAD,
        TID.or_null(),
        text(
            "state",
            "running; ready: another ran on the CPU of its run queue, or nobody can say what did, or that CPU was parked; \
             wakeup_latency: ready while that CPU was idle; throttled: ready, and held by its cgroup's CPU quota; blocked (in a source without wakings, until it ran again); exited; unknown, without a reason: \
             before its life began.",
        ),
        int("cpu", "", "Running: where. Ready, wakeup_latency and throttled: on whose run queue, where told. Else null.").or_null(),
        CORE_TYPE.or_null(),
        text(
            "sibling",
            "Running: another CPU of that core was busy; idle: none was; unknown: nobody can say; null: it has none that \
             anybody told.",
        )
        .or_null(),
        int("freq_khz", "kHz", "Running: the frequency that was told of that CPU last; null: none was.").or_null(),
        int("behind", "", "Ready: the thread (key) that ran on the CPU of its run queue; null: nobody can say.")
            .or_null()
            .of_thread(),
        text("reason", "Why, as in the table thread_state.").or_null(),
        int(
            "waker",
            "",
            "Ready since a waking: the thread (key) that woke it, from which the path comes. Blocked: who ended that. 0: an \
             interrupt did; null: nobody, or nobody knows who.",
        )
        .or_null()
        .of_thread(),
        int("prio", "", "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair), where told.").or_null(),
    ],
};

/// The path, thread by thread.
pub const CRITICAL_BY_THREAD: TableDef = TableDef {
    name: "critical_by_thread",
    version: 2,
    made_from: MadeFrom::CriticalPath,
    large: false,
    doc: "For how long which threads were on the critical path, and what they did there: the table critical_path in sums, the \
          thread with the most first. path_ns sums to the time asked for.",
    key: &["thread"],
    cols: &[
        THREAD,
        TID.or_null(),
        ns("path_ns", "On the path; the times below sum to it, but for beside_busy_ns."),
        Col::new("share", Kind::Float, "ratio", "Of the time asked for."),
        ns("running_performance_ns", "Ran there on a core of type performance."),
        ns("running_middle_ns", "Ran there on one of type middle."),
        ns("running_efficient_ns", "Ran there on one of type efficient."),
        ns("running_low_power_ns", "Ran there on one of type low_power."),
        ns("running_uniform_ns", "Ran there where one class of cores or none is known, or on nobody knows which CPU."),
        ns("beside_busy_ns", "Of all its running time there, that in which a sibling was busy."),
        ns("ready_ns", "Was ready there behind another thread, or nobody can say behind what."),
        ns("wakeup_latency_ns", "Was ready there while the CPU of its run queue was idle."),
        ns("throttled_ns", "Its cgroup's CPU quota held it there, where that is told; else it is in the two before."),
        ns("blocked_ns", "Was blocked there."),
        ns("exited_ns", "Had exited."),
        ns("unknown_ns", "Nobody can say what it did."),
        count("visits", "How often the path came to it."),
    ],
};
