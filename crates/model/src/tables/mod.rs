//! Every table of corewise, declared once.
//!
//! The states, counts and laws are defined in ACCOUNTING.md; times named `…_ns` are nanoseconds, points in time count from
//! the start of the recording.

mod block;
mod columns;
mod critical;
mod frame_log;
mod marked;
mod moves;
mod named;
mod parked;
mod power;
mod priority;
mod regions;
mod slow;
mod smt;
mod wait;

pub use block::*;
pub use critical::*;
pub use frame_log::*;
pub use marked::*;
pub use moves::*;
pub use named::named;
pub use parked::*;
pub use power::*;
pub use priority::*;
pub use regions::*;
pub use slow::*;
pub use smt::*;
pub use wait::*;

use crate::Text;
use crate::column::table;
use crate::table::{Col, Kind, TableDef};
use columns::{CoreType, Count, Cpu, End, Int, Life, LifeOfTid, Ns, Ratio, Start, Thread, Tid};

table! {
    /// What each thread did, in sums.
    THREADS: threads {
        version: 1,
        made_from: Totals,
        large: false,
        doc: "What each life of each thread did: sums over the recording, which tile it from the life's begin to the end.",
        key: [THREAD],
        columns: {
            THREAD: Life,
            TID: Tid,
            LIFE: LifeOfTid,
            PID: Option<Int> = "The process, where the source tells it.",
            NAME: Option<Text> = "The last name seen.",
            RUNNING_NS: Ns = "On a CPU.",
            EXEC_NS: Option<Ns> = "What the kernel charged for running, summed over the stretches in which it is known.",
            EXEC_OF_NS: Option<Ns> = "The running time of those stretches; less exec_ns it is stolen and interrupt time.",
            READY_NS: Option<Ns> = "Could run, but did not; null where the source has no wakings.",
            BLOCKED_NS: Ns = "Waited for something.",
            UNKNOWN_NS: Ns = "Nobody can say what it did.",
            EXITED_NS: Ns = "After its exit.",
            LOSSY_NS: Ns = "The part of all these in which the source reports lost events.",
            INVOLUNTARY: Count = "Switch-outs in a runnable state.",
            VOLUNTARY: Count = "All other switch-outs.",
            MAX_READY_NS: Option<Ns> = "The longest single wait for a CPU; null where the source has no wakings.",
            MIGRATIONS: Count = "Switch-ins on a CPU other than the one it was on last.",
            UNWOKEN: Count = "Switch-ins of a blocked thread whose waking was never seen.",
            BEGIN_NS: Ns = "When this life began: the start of the recording, or its first waking.",
        }
        inferred: INFERRED_NS,
    }
}

table! {
    /// What each CPU did, in sums.
    CPUS: cpus {
        version: 1,
        made_from: Totals,
        large: false,
        doc: "What each CPU did: busy, idle and unknown tile the recording.",
        key: [CPU],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            BUSY_NS: Ns = "Ran a thread.",
            IDLE_NS: Ns = "Ran its idle task.",
            UNKNOWN_NS: Ns = "Nobody can say.",
            LOSSY_NS: Ns = "The part of these in which the source reports lost events of this CPU.",
            SWITCHES: Count = "Context switches recorded on it.",
            BROKEN: Count = "Switches whose previous thread is not the one that this CPU's last switch brought in.",
        }
        inferred: INFERRED_NS,
    }
}

table! {
    /// Where each thread ran, CPU by CPU.
    THREAD_BY_CPU: thread_by_cpu {
        version: 1,
        made_from: Totals,
        large: false,
        doc: "How long each thread ran on each CPU.",
        key: [THREAD, CPU],
        columns: {
            THREAD: Thread,
            TID: Tid,
            LIFE: LifeOfTid,
            CPU: Cpu,
            RUNNING_NS: Ns = "On this CPU.",
        }
    }
}

table! {
    /// Where each thread ran, by type of core.
    THREAD_BY_CORE_TYPE: thread_by_core_type {
        version: 1,
        made_from: Totals,
        large: false,
        doc: "How long each thread ran on each class of cores.",
        key: [THREAD, CORE_CLASS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            LIFE: LifeOfTid,
            CORE_CLASS: Int = "0 = slowest class of the machine.",
            CORE_TYPE: CoreType,
            RUNNING_NS: Ns = "On cores of this class.",
            SHARE: Option<Ratio> = "Of the thread's running time.",
        }
    }
}

table! {
    /// How many CPUs ran at once.
    CONCURRENCY: concurrency {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For how long how many of the CPUs that have a switch ran a thread with certainty while how many were unknown.",
        key: [RUNNING, UNKNOWN],
        columns: {
            RUNNING: Count = "CPUs that ran a thread with certainty.",
            UNKNOWN: Count = "CPUs of which nobody can say.",
            DURATION_NS: Ns = "How long in all.",
        }
    }
}

table! {
    /// Where the source reports lost events.
    LOSS: loss {
        version: 1,
        made_from: Spans,
        large: false,
        doc: "Where the source reports lost events: from the last event delivered before to the first one after.",
        key: [START_NS, CPU],
        columns: {
            START_NS: Start,
            END_NS: End,
            CPU: Option<Int> = "Whose buffer; null: any CPU's.",
            EVENTS: Option<Count> = "How many, null where the source does not count them.",
        }
    }
}

table! {
    /// The stretches of all threads.
    THREAD_STATE: thread_state {
        version: 2,
        made_from: States,
        large: true,
        doc: "Every stretch of every thread, in order of start; a thread's stretches tile its life.",
        key: [THREAD, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            STATE: Text = "running, ready, blocked, unknown or exited.",
            CPU: Option<Int> = "Running: where. Ready: on whose run queue it began. Else: where it was last.",
            CORE_TYPE: Option<Text> = "Running: the type of that CPU.",
            REASON: Option<Text> =
                "Why: the kernel's state letter for blocked, else a word. Ready since it left its CPU runnable: preempted, yielded (it called \
                 sched_yield), throttled, gave_way (a kernel thread), woken_before_sleep, or left_runnable (the source does not say which). \
                 In version 1 \"yielded\" stood for all of these that the kernel does not mark as preempted.",
            WAKER: Option<Thread> = "Ready: the thread (key) that woke it; 0: an interrupt did.",
            EXEC_NS: Option<Ns> = "Running: what the kernel charged.",
            PRIO: Option<Int> = "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair), where told.",
        }
    }
}

table! {
    /// The stretches of all CPUs.
    CPU_STATE: cpu_state {
        version: 1,
        made_from: States,
        large: true,
        doc: "Every stretch of every CPU, in order of start; a CPU's stretches tile the recording.",
        key: [CPU, START_NS],
        columns: {
            CPU: Cpu,
            START_NS: Start,
            END_NS: End,
            STATE: Text = "busy, idle or unknown.",
            THREAD: Option<Thread> = "Busy: the thread. Idle: 0. Null where unknown.",
        }
    }
}

table! {
    /// What can be inferred of the time that is unknown in all other tables.
    INFERRED_STATE: inferred_state {
        version: 1,
        made_from: Spans,
        large: false,
        doc: "Who ran in time that no chain of switches tells, as far as other events show it: unknown in all other tables, unless \
              --inferred was asked for.",
        key: [CPU, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CPU: Cpu,
            START_NS: Start,
            END_NS: End,
            BASIS: Text =
                "first_switch: the CPU's first switch takes it out; named: events there name it as the current task.",
        }
    }
}

/// The last column of tables of sums that have what was inferred in them.
const INFERRED: Col =
    Col::new(threads::INFERRED_NS.name(), Kind::Int, "ns", "The part of the time above that was inferred.");

/// [`THREADS`] with what was inferred in place of unknown time.
pub const THREADS_FILLED: TableDef =
    TableDef { cols: &and_inferred::<{ THREADS.cols.len() + 1 }>(THREADS.cols), ..THREADS };

/// [`CPUS`] with what was inferred in place of unknown time.
pub const CPUS_FILLED: TableDef = TableDef { cols: &and_inferred::<{ CPUS.cols.len() + 1 }>(CPUS.cols), ..CPUS };

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
    &PRIORITY_INHERITANCE,
    &PRIORITY_CLASSES,
    &THREAD_SCHEDULING,
    &IDEAL_CPU,
    &WAKERS,
    &IDLE_PERIODS,
    &IDLE_WAKEUPS,
    &INTERRUPTS,
    &BLOCK_IO,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MadeFrom;

    #[test]
    fn what_overlaps_a_part_has_a_begin_and_an_end() {
        for def in ALL.iter().filter(|def| matches!(def.made_from, MadeFrom::Spans | MadeFrom::States)) {
            assert!(def.col("start_ns").is_some() && def.col("end_ns").is_some(), "{}", def.name);
        }
        for def in ALL {
            assert_ne!(def.made_from, MadeFrom::Elsewhere, "{} can be asked for", def.name);
        }
    }

    #[test]
    fn sums_are_never_as_long_as_the_recording() {
        // Whoever reads them by their place asks for `Session::table`, which refuses what is large.
        for def in ALL.iter().filter(|def| matches!(def.made_from, MadeFrom::Totals | MadeFrom::Spans)) {
            assert!(!def.large, "{}", def.name);
        }
    }
}
