//! The declarations of all tables.
//!
//! docs/accounting.md defines the states, counts and invariants. Columns named `…_ns` hold nanoseconds; points in time count from
//! the start of the recording.

mod block;
mod classes;
mod columns;
mod counted;
mod critical;
mod energy_used;
mod frame_log;
mod idle;
mod locked;
mod lost_idle;
mod marked;
mod moves;
mod named;
mod parked;
mod periodic;
mod pooled;
mod power;
mod priority;
mod profile;
mod regions;
pub mod renamed;
mod slow;
mod smt;
mod tried;
mod wait;

pub use block::*;
pub use classes::*;
pub use counted::*;
pub use critical::*;
pub use energy_used::*;
pub use frame_log::*;
pub use idle::*;
pub use locked::*;
pub use lost_idle::*;
pub use marked::*;
pub use moves::*;
pub use named::named;
pub use parked::*;
pub use periodic::*;
pub use pooled::*;
pub use power::*;
pub use priority::*;
pub use profile::*;
pub use regions::*;
pub use slow::*;
pub use smt::*;
pub use tried::*;
pub use wait::*;

use crate::column::table;
use crate::table::{Col, Kind, TableDef};
use columns::{
    CoreType, Count, Cpu, End, InstanceKey, InstanceOfTid, Int, Ns, Ratio, Start, Thread, ThreadName, Tid, Word,
};

table! {
    /// Time sums of each thread.
    THREADS: threads {
        version: 2,
        made_from: Totals,
        large: false,
        doc: "Time each thread instance spent in each state, and how often it switched. `running_ns`, `ready_ns`, `blocked_ns`, \
              `unknown_ns` and `exited_ns` sum to the time from its begin to the end of the recording.",
        key: [THREAD],
        columns: {
            THREAD: InstanceKey,
            TID: Tid,
            INSTANCE: InstanceOfTid,
            PID: Option<Int> = "Process ID; null if not recorded.",
            NAME: Option<ThreadName> = "Last known name of the thread.",
            RUNNING_NS: Ns = "Time on a CPU.",
            EXEC_NS: Option<Ns> =
                "CPU time that the kernel charged to the thread, summed over the stretches where it is known; null if \
                 it is known for none.",
            EXEC_OF_NS: Option<Ns> =
                "Running time of the stretches that `exec_ns` covers. The difference to `exec_ns` is steal and \
                 interrupt time.",
            READY_NS: Ns =
                "Time runnable but not running. Without recorded wakeups, only the time after a switch-out in a runnable \
                 state: a lower bound (in version 1, null).",
            BLOCKED_NS: Ns =
                "Time waiting for something other than a CPU. Without recorded wakeups, up to the next switch-in: an \
                 upper bound.",
            BLOCKED_OR_READY_NS: Ns =
                "The part of `blocked_ns` of which it is unknown how much was ready time: without recorded wakeups, all \
                 of it. The ready time is at least `ready_ns` and at most the sum of both.",
            UNKNOWN_NS: Ns = "Time in an unknown state.",
            EXITED_NS: Ns = "Time after its exit.",
            LOSSY_NS: Ns = "The part of all times above in which the source reports lost events.",
            INVOLUNTARY: Count = "Number of switch-outs in a runnable state.",
            VOLUNTARY: Count = "Number of all other switch-outs.",
            MAX_READY_NS: Ns = "The longest single wait for a CPU that is part of `ready_ns`.",
            MIGRATIONS: Count = "Number of switch-ins on another CPU than the one it ran on before.",
            UNWOKEN: Count = "Number of switch-ins of a blocked thread without a recorded wakeup.",
            BEGIN_NS: Ns = "When the thread instance began: at the start of the recording, or at its first wakeup.",
        }
        inferred: INFERRED_NS,
    }
}

table! {
    /// Time sums of each CPU.
    CPUS: cpus {
        version: 1,
        made_from: Totals,
        large: false,
        doc: "Time each CPU was busy, idle or in an unknown state. The three times tile the recording.",
        key: [CPU],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            BUSY_NS: Ns = "Time running a thread.",
            IDLE_NS: Ns = "Time running the idle task.",
            UNKNOWN_NS: Ns = "Time in an unknown state.",
            LOSSY_NS: Ns = "The part of all times above in which the source reports lost events of this CPU.",
            SWITCHES: Count = "Number of context switches recorded on this CPU.",
            BROKEN: Count =
                "Number of inconsistent switches: the thread switched out is not the one that the previous switch \
                 brought in.",
        }
        inferred: INFERRED_NS,
    }
}

table! {
    /// Running time by thread and CPU.
    THREAD_BY_CPU: thread_by_cpu {
        version: 1,
        made_from: Totals,
        large: false,
        doc: "Time each thread ran on each CPU.",
        key: [THREAD, CPU],
        columns: {
            THREAD: Thread,
            TID: Tid,
            INSTANCE: InstanceOfTid,
            CPU: Cpu,
            RUNNING_NS: Ns = "Time the thread ran on this CPU.",
        }
    }
}

table! {
    /// Running time by thread and core class.
    THREAD_BY_CORE_TYPE: thread_by_core_type {
        version: 1,
        made_from: Totals,
        large: false,
        doc: "Time each thread ran on each class of cores.",
        key: [THREAD, CORE_CLASS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            INSTANCE: InstanceOfTid,
            CORE_CLASS: Int = "Class of cores; 0 is the slowest class of the machine.",
            CORE_TYPE: CoreType,
            RUNNING_NS: Ns = "Time the thread ran on cores of this class.",
            SHARE: Option<Ratio> = "Share of the thread's running time; null if it did not run.",
        }
    }
}

table! {
    /// Number of CPUs busy at the same time.
    CONCURRENCY: concurrency {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "For how long how many CPUs were busy at the same time. Counts CPUs for which a switch or a \
              snapshot shows what they ran; no rows if there is none (in version 1, a row of 0 CPUs).",
        key: [RUNNING, UNKNOWN],
        columns: {
            RUNNING: Count = "Number of CPUs known to run a thread.",
            UNKNOWN: Count = "Number of CPUs in an unknown state.",
            DURATION_NS: Ns = "Total time with these numbers of CPUs.",
        }
    }
}

table! {
    /// Lost events.
    LOSS: loss {
        version: 1,
        made_from: Spans,
        large: false,
        doc: "Where the source reports lost events: from the last event before the loss to the first event after it.",
        key: [START_NS, CPU],
        columns: {
            START_NS: Start,
            END_NS: End,
            CPU: Option<Int> = "CPU whose buffer lost the events; null if it may be any CPU.",
            EVENTS: Option<Count> = "Number of lost events; null if the source does not count them.",
        }
    }
}

table! {
    /// State stretches of all threads.
    THREAD_STATE: thread_state {
        version: 3,
        made_from: States,
        large: true,
        doc: "Every state stretch of every thread, in order of start. The stretches of a thread instance tile its \
              lifetime.",
        key: [THREAD, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            STATE: Word = "`running`, `ready`, `blocked`, `unknown` or `exited`.",
            CPU: Option<Int> =
                "Running: the CPU it runs on. Ready: the CPU of the run queue on which it began to wait. Otherwise: \
                 the CPU it ran on last.",
            CORE_TYPE: Option<Word> = "Core type of that CPU; null unless the thread is running.",
            REASON: Option<Word> =
                "Cause of the state. Blocked: the kernel's state letter. Ready after a switch-out in a runnable \
                 state: `preempted`, `yielded` (it called sched_yield), `throttled`, `gave_way` (a kernel thread), \
                 `woken_before_sleep`, or `left_runnable` (cause not recorded). In version 1, `yielded` meant all of \
                 these that the kernel does not mark as preempted. Unknown since version 3: `cpu_not_recorded` and \
                 `no_switch_in`.",
            WAKER: Option<Thread> =
                "Ready: key of the thread that woke it; 0: an interrupt woke it; null if not recorded.",
            EXEC_NS: Option<Ns> = "Running: CPU time that the kernel charged; null if not recorded.",
            PRIO: Option<Int> =
                "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair); null if not recorded.",
        }
    }
}

table! {
    /// State stretches of all CPUs.
    CPU_STATE: cpu_state {
        version: 1,
        made_from: States,
        large: true,
        doc: "Every state stretch of every CPU, in order of start. The stretches of a CPU tile the recording.",
        key: [CPU, START_NS],
        columns: {
            CPU: Cpu,
            START_NS: Start,
            END_NS: End,
            STATE: Word = "`busy`, `idle` or `unknown`.",
            THREAD: Option<Thread> = "Busy: key of the thread that runs. Idle: 0. Null if unknown.",
        }
    }
}

table! {
    /// What other events show about unknown time.
    INFERRED_STATE: inferred_state {
        version: 1,
        made_from: Spans,
        large: false,
        doc: "Threads that ran in time not covered by any chain of switches, inferred from other events. All other \
              tables show this time as unknown, unless `--inferred` is given.",
        key: [CPU, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CPU: Cpu,
            START_NS: Start,
            END_NS: End,
            BASIS: Word =
                "Evidence. `first_switch`: the CPU's first switch switches the thread out. `named`: events on the CPU \
                 name it as the current task.",
        }
    }
}

/// The last column of tables of sums that include inferred time.
const INFERRED: Col =
    Col::new(threads::INFERRED_NS.name(), Kind::Int, "ns", "The part of the times above that was inferred.");

/// [`THREADS`] with inferred time instead of unknown time.
pub const THREADS_FILLED: TableDef =
    TableDef { cols: &and_inferred::<{ THREADS.cols.len() + 1 }>(THREADS.cols), ..THREADS };

/// [`CPUS`] with inferred time instead of unknown time.
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

/// Returns the declaration of a table that includes inferred time.
#[must_use]
pub fn filled(def: &'static TableDef) -> &'static TableDef {
    match def.name {
        name if name == THREADS.name => &THREADS_FILLED,
        name if name == CPUS.name => &CPUS_FILLED,
        _ => def,
    }
}

/// All tables, in the order in which `corewise tables` lists them.
pub const ALL: &[&TableDef] = &[
    &THREADS,
    &THREAD_BY_CPU,
    &THREAD_BY_CORE_TYPE,
    &CPUS,
    &CONCURRENCY,
    &READY_WAIT,
    &THROTTLED,
    &RAN_INSTEAD,
    &SWITCH_CAUSES,
    &SAMPLES,
    &FOLDED_STACKS,
    &THREAD_COUNTERS,
    &THREAD_IPC,
    &CPU_COUNTERS,
    &MARK_COUNTERS,
    &WAITS,
    &LOCKS,
    &LOCK_HOLDERS,
    &LOCK_WAITS,
    &DEADLOCKS,
    &OBJECT_WAITS,
    &WAIT_OBJECTS,
    &SERVED_WAITS,
    &POOLS,
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
    &LOST_IDLENESS,
    &IDLE_WAKEUPS,
    &INTERRUPTS,
    &BLOCK_IO,
    &IDLE_ENDS,
    &IDLE_STAYS,
    &CPU_WAKEUPS,
    &POWER_BY_FUNCTION,
    &IDLE_RESIDENCY,
    &FREQUENCY_RESIDENCY,
    &THREAD_BY_FREQUENCY,
    &ENERGY,
    &ENERGY_UNKNOWN,
    &POWER_OVER_TIME,
    &TEMPERATURES,
    &PARKING,
    &PARKED_TOGETHER,
    &CONCURRENCY_BANDS,
    &SMT_CORES,
    &SMT_UTILISATION,
    &SMT_THREADS,
    &SMT_PAIRS,
    &CPU_BURSTS,
    &TASK_CLASSES,
    &PLACEMENT,
    &SLOWER_CORES,
    &MARKS,
    &OBJECTIVE_TIME,
    &CRITICAL_BY_THREAD,
    &CRITICAL_PATH,
    &SLOW_FRAMES,
    &SLOW_INTERVALS,
    &INTERVAL_SUMS,
    &MARK_STRETCHES,
    &PERIODS,
    &REQUESTS,
    &PARALLEL_REGIONS,
    &FRAMES_PARKED,
    &FRAME_SUMS,
    &FRAMES,
    &TRIALS,
    &LOSS,
    &THREAD_STATE,
    &CPU_STATE,
    &INFERRED_STATE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MadeFrom, Shows};

    #[test]
    fn tables_of_spans_have_a_start_and_an_end() {
        for def in ALL.iter().filter(|def| matches!(def.made_from, MadeFrom::Spans | MadeFrom::States)) {
            assert!(def.col("start_ns").is_some() && def.col("end_ns").is_some(), "{}", def.name);
        }
        for def in ALL {
            assert_ne!(def.made_from, MadeFrom::Elsewhere, "{} can be requested", def.name);
        }
    }

    #[test]
    fn tables_of_totals_are_not_large() {
        // Readers of these tables use `Session::table`, which refuses large tables.
        for def in ALL.iter().filter(|def| matches!(def.made_from, MadeFrom::Totals | MadeFrom::Spans)) {
            assert!(!def.large, "{}", def.name);
        }
    }

    /// Columns of the same name show the same, except for names, which threads, programs and marks have. No column that shows something
    /// private by its name is declared to show nothing.
    #[test]
    fn what_columns_show_follows_from_what_they_are() {
        let mut shown = std::collections::BTreeMap::new();
        for def in ALL {
            for col in named(def).cols {
                let expected = match col.name {
                    "cgroup" | "source_file" => Shows::Path,
                    "file" => Shows::File,
                    "callchain" => Shows::Chain,
                    "function" | "call_site" | "holder_call_site" => Shows::Function,
                    "comm" | "pool" => Shows::Name,
                    "application" => Shows::Program,
                    "swap_chain" => Shows::Address,
                    "name" if col.shows != Shows::Nothing => continue,
                    name if name.ends_with("_name") && name != "state_name" => Shows::Name,
                    name => *shown.entry(name).or_insert(col.shows),
                };
                assert_eq!(col.shows, expected, "{}.{}", def.name, col.name);
            }
        }
    }
}
