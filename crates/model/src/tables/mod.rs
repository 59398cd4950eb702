//! Every table of corewise, declared once.
//!
//! The states, counts and laws are defined in ACCOUNTING.md; times named `…_ns` are nanoseconds, points in time count from
//! the start of the recording.

mod columns;
mod critical;
mod frames;
mod marks;
mod moves;
mod named;
mod parking;
mod power;
mod priority;
mod regions;
mod slow_frames;
mod smt;
mod wait;

pub use critical::{CRITICAL_BY_THREAD, CRITICAL_PATH};
pub use frames::{FRAME_SUMS, FRAMES};
pub use marks::{MARK_STRETCHES, MARKS};
pub use moves::{IDLE_PERIODS, IDLE_WAKEUPS, INTERRUPTS, MIGRATION_MATRIX, MIGRATIONS, RUN_LENGTHS, WAKERS};
pub use named::named;
pub use parking::{FRAMES_PARKED, PARKED_TOGETHER, PARKING};
pub use power::{FREQUENCY_RESIDENCY, IDLE_RESIDENCY, THREAD_BY_FREQUENCY};
pub use priority::{IDEAL_CPU, PRIORITY_CLASSES, PRIORITY_RESIDENCY, THREAD_SCHEDULING};
pub use regions::PARALLEL_REGIONS;
pub use slow_frames::SLOW_FRAMES;
pub use smt::{
    CONCURRENCY_BANDS, CPU_BURSTS, PLACEMENT, SLOWER_CORES, SMT_BESIDE, SMT_CORES, SMT_THREADS, SMT_UTILISATION,
};

use crate::table::{Col, Kind, TableDef};
use columns::{CORE_TYPE, CPU, END, LIFE, LIVES, START, THREAD, TID, count, int, ns, text};

pub use wait::{READY_BY_THIEF, READY_WAIT, SWITCH_CAUSES, WAITS};

/// What each thread did, in sums.
pub const THREADS: TableDef = TableDef {
    name: "threads",
    version: 1,
    doc: "What each life of each thread did: sums over the recording, which tile it from the life's begin to the end.",
    key: &["thread"],
    cols: &[
        LIVES,
        TID,
        LIFE,
        int("pid", "", "The process, where the source tells it.").or_null(),
        text("name", "The last name seen.").or_null(),
        ns("running_ns", "On a CPU."),
        ns("exec_ns", "What the kernel charged for running, summed over the stretches in which it is known.").or_null(),
        ns("exec_of_ns", "The running time of those stretches; less exec_ns it is stolen and interrupt time.")
            .or_null(),
        ns("ready_ns", "Could run, but did not; null where the source has no wakings.").or_null(),
        ns("blocked_ns", "Waited for something."),
        ns("unknown_ns", "Nobody can say what it did."),
        ns("exited_ns", "After its exit."),
        ns("lossy_ns", "The part of all these in which the source reports lost events."),
        count("involuntary", "Switch-outs in a runnable state."),
        count("voluntary", "All other switch-outs."),
        ns("max_ready_ns", "The longest single wait for a CPU; null where the source has no wakings.").or_null(),
        count("migrations", "Switch-ins on a CPU other than the one it was on last."),
        count("unwoken", "Switch-ins of a blocked thread whose waking was never seen."),
        ns("begin_ns", "When this life began: the start of the recording, or its first waking."),
    ],
};

/// What each CPU did, in sums.
pub const CPUS: TableDef = TableDef {
    name: "cpus",
    version: 1,
    doc: "What each CPU did: busy, idle and unknown tile the recording.",
    key: &["cpu"],
    cols: &[
        CPU,
        CORE_TYPE,
        ns("busy_ns", "Ran a thread."),
        ns("idle_ns", "Ran its idle task."),
        ns("unknown_ns", "Nobody can say."),
        ns("lossy_ns", "The part of these in which the source reports lost events of this CPU."),
        count("switches", "Context switches recorded on it."),
        count("broken", "Switches whose previous thread is not the one that this CPU's last switch brought in."),
    ],
};

/// Where each thread ran, CPU by CPU.
pub const THREAD_BY_CPU: TableDef = TableDef {
    name: "thread_by_cpu",
    version: 1,
    doc: "How long each thread ran on each CPU.",
    key: &["thread", "cpu"],
    cols: &[THREAD, TID, LIFE, CPU, ns("running_ns", "On this CPU.")],
};

/// Where each thread ran, by type of core.
pub const THREAD_BY_CORE_TYPE: TableDef = TableDef {
    name: "thread_by_core_type",
    version: 1,
    doc: "How long each thread ran on each class of cores.",
    key: &["thread", "core_class"],
    cols: &[
        THREAD,
        TID,
        LIFE,
        int("core_class", "", "0 = slowest class of the machine."),
        CORE_TYPE,
        ns("running_ns", "On cores of this class."),
        Col::new("share", Kind::Float, "ratio", "Of the thread's running time.").or_null(),
    ],
};

/// How many CPUs ran at once.
pub const CONCURRENCY: TableDef = TableDef {
    name: "concurrency",
    version: 1,
    doc: "For how long how many of the CPUs that have a switch ran a thread with certainty while how many were unknown.",
    key: &["running", "unknown"],
    cols: &[
        count("running", "CPUs that ran a thread with certainty."),
        count("unknown", "CPUs of which nobody can say."),
        ns("duration_ns", "How long in all."),
    ],
};

/// Where the source reports lost events.
pub const LOSS: TableDef = TableDef {
    name: "loss",
    version: 1,
    doc: "Where the source reports lost events: from the last event delivered before to the first one after.",
    key: &["start_ns", "cpu"],
    cols: &[
        START,
        END,
        int("cpu", "", "Whose buffer; null: any CPU's.").or_null(),
        int("events", "count", "How many, null where the source does not count them.").or_null(),
    ],
};

/// The stretches of all threads.
pub const THREAD_STATE: TableDef = TableDef {
    name: "thread_state",
    version: 2,
    doc: "Every stretch of every thread, in order of start; a thread's stretches tile its life.",
    key: &["thread", "start_ns"],
    cols: &[
        THREAD,
        TID,
        START,
        END,
        text("state", "running, ready, blocked, unknown or exited."),
        int("cpu", "", "Running: where. Ready: on whose run queue it began. Else: where it was last.").or_null(),
        text("core_type", "Running: the type of that CPU.").or_null(),
        text(
            "reason",
            "Why: the kernel's state letter for blocked, else a word. Ready since it left its CPU runnable: preempted, yielded (it called \
             sched_yield), throttled, gave_way (a kernel thread), woken_before_sleep, or left_runnable (the source does not say which). \
             In version 1 \"yielded\" stood for all of these that the kernel does not mark as preempted.",
        )
        .or_null(),
        int("waker", "", "Ready: the thread (key) that woke it; 0: an interrupt did.").or_null().of_thread(),
        ns("exec_ns", "Running: what the kernel charged.").or_null(),
        int("prio", "", "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair), where told.").or_null(),
    ],
};

/// The stretches of all CPUs.
pub const CPU_STATE: TableDef = TableDef {
    name: "cpu_state",
    version: 1,
    doc: "Every stretch of every CPU, in order of start; a CPU's stretches tile the recording.",
    key: &["cpu", "start_ns"],
    cols: &[
        CPU,
        START,
        END,
        text("state", "busy, idle or unknown."),
        int("thread", "", "Busy: the thread. Idle: 0. Null where unknown.").or_null().of_thread(),
    ],
};

/// What can be inferred of the time that is unknown in all other tables.
pub const INFERRED_STATE: TableDef = TableDef {
    name: "inferred_state",
    version: 1,
    doc: "Who ran in time that no chain of switches tells, as far as other events show it: unknown in all other tables, unless \
          --inferred was asked for.",
    key: &["cpu", "start_ns"],
    cols: &[
        THREAD,
        TID,
        CPU,
        START,
        END,
        text(
            "basis",
            "first_switch: the CPU's first switch takes it out; named: events there name it as the current task.",
        ),
    ],
};

/// The last column of tables of sums that have what was inferred in them.
const INFERRED: Col = ns("inferred_ns", "The part of the time above that was inferred.");

/// [`THREADS`] with what was inferred in place of unknown time.
pub const THREADS_FILLED: TableDef = TableDef { cols: &and_inferred::<20>(THREADS.cols), ..THREADS };

/// [`CPUS`] with what was inferred in place of unknown time.
pub const CPUS_FILLED: TableDef = TableDef { cols: &and_inferred::<9>(CPUS.cols), ..CPUS };

const fn and_inferred<const N: usize>(cols: &[Col]) -> [Col; N] {
    let mut all = [INFERRED; N];
    let mut at = 0;
    while at < cols.len() {
        all[at] = cols[at];
        at += 1;
    }
    all
}

/// How a table is declared where what was inferred stands in it.
#[must_use]
pub fn filled(def: &'static TableDef) -> &'static TableDef {
    match def.name {
        name if name == THREADS.name => &THREADS_FILLED,
        name if name == CPUS.name => &CPUS_FILLED,
        _ => def,
    }
}

/// All of them, in the order in which they are listed to the user.
pub const ALL: &[&TableDef] = &[
    &THREADS,
    &THREAD_BY_CPU,
    &THREAD_BY_CORE_TYPE,
    &CPUS,
    &CONCURRENCY,
    &READY_WAIT,
    &READY_BY_THIEF,
    &SWITCH_CAUSES,
    &WAITS,
    &MIGRATIONS,
    &MIGRATION_MATRIX,
    &RUN_LENGTHS,
    &PRIORITY_RESIDENCY,
    &PRIORITY_CLASSES,
    &THREAD_SCHEDULING,
    &IDEAL_CPU,
    &WAKERS,
    &IDLE_PERIODS,
    &IDLE_WAKEUPS,
    &INTERRUPTS,
    &IDLE_RESIDENCY,
    &FREQUENCY_RESIDENCY,
    &THREAD_BY_FREQUENCY,
    &PARKING,
    &PARKED_TOGETHER,
    &CONCURRENCY_BANDS,
    &SMT_CORES,
    &SMT_UTILISATION,
    &SMT_THREADS,
    &SMT_BESIDE,
    &CPU_BURSTS,
    &PLACEMENT,
    &SLOWER_CORES,
    &MARKS,
    &CRITICAL_BY_THREAD,
    &CRITICAL_PATH,
    &SLOW_FRAMES,
    &MARK_STRETCHES,
    &PARALLEL_REGIONS,
    &FRAMES_PARKED,
    &FRAME_SUMS,
    &FRAMES,
    &LOSS,
    &THREAD_STATE,
    &CPU_STATE,
    &INFERRED_STATE,
];
