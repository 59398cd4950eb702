//! Tables of migrations, run lengths, wakeups, idle periods and interrupts.

use super::columns::{CoreType, Count, Cpu, Int, Ns, Thread, Tid, Word};
use crate::column::table;

table! {
    /// Migrations of each thread, by the distance between the two CPUs.
    MIGRATIONS: migrations {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How often each thread ran on another CPU than before, by the nearest level of the topology that the \
              two CPUs share, as far as the machine is known. Each migration is in one of the columns; they sum to \
              `migrations`. Over the whole recording, `migrations` differs from the same column of `threads`: it \
              excludes switch-ins on another CPU that an inconsistent switch made unknown or that had no duration, \
              and includes those before which an inconsistent switch hides where the thread had been. The previous \
              CPU of a thread that is ready when the requested range begins is unknown, so its first switch-in is \
              not counted.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            MIGRATIONS: Count = "All migrations.",
            SAME_CORE: Count = "To an SMT sibling on the same physical core.",
            SAME_L2: Count = "To another core of the same type that shares the L2 cache.",
            SAME_L3: Count = "To another core of the same type that shares the L3 cache, but no nearer one.",
            SAME_TYPE: Count = "To another core of the same type and package, with no known shared cache.",
            TO_FASTER: Count = "To a core of a faster class.",
            TO_SLOWER: Count = "To a core of a slower class.",
            OTHER_PACKAGE: Count = "To a core of the same type in another package, with no shared cache.",
            UNKNOWN: Count = "The topology of one of the two CPUs is unknown.",
        }
    }
}

table! {
    /// Migrations by source and target CPU.
    MIGRATION_MATRIX: migration_matrix {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How often threads migrated from each CPU to each other CPU: the table `migrations` by its two ends.",
        key: [FROM_CPU, TO_CPU],
        columns: {
            FROM_CPU: Int = "CPU that the thread ran on before.",
            TO_CPU: Int = "CPU that the thread ran on next.",
            EDGE: Word = "Topology level that the two CPUs share: a column of the table `migrations`.",
            MIGRATIONS: Count = "Number of migrations.",
        }
    }
}

table! {
    /// Lengths of uninterrupted runs.
    RUN_LENGTHS: run_lengths {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran from a switch-in to its switch-out, by core class and by length in powers of \
              two. A run without a known begin and end (cut by the requested range, by the recording or by a loss, \
              shown by a snapshot, or inferred) has no length. Such runs have rows of their own, so that \
              `running_ns` sums to the whole running time.",
        key: [THREAD, CORE_CLASS, FROM_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CORE_CLASS: Option<Int> =
                "Class of cores; 0 is the slowest class of the machine; null if the source does not record the CPU.",
            CORE_TYPE: Option<CoreType>,
            FROM_NS: Option<Ns> =
                "Lower bound of the length range: 0, 1000, 2000, 4000, …; null if the length is unknown (cut).",
            TO_NS: Option<Ns> = "Upper bound of the length range (exclusive); null if the length is unknown (cut).",
            RUNS: Count = "Number of runs of this length; for cut runs, the number of pieces.",
            RUNNING_NS: Ns = "Total length of these runs.",
            AFTER_WAKE: Option<Count> = "Number of `runs` that began with a wakeup; null if the source has no wakeups.",
            AFTER_WAKE_NS: Option<Ns> =
                "Total length of the runs that began with a wakeup; null if the source has no wakeups.",
        }
    }
}

table! {
    /// Which thread woke which.
    WAKERS: wakers {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Which thread woke which: the wakeups that made a thread ready, and how long it then was ready. A \
              wakeup of a thread that was already ready, or that kept running, changes nothing and is not counted. \
              Wakeups before the requested range are not counted either, but the ready time that follows them is \
              included as far as it lies in the range.",
        key: [WAKER, THREAD],
        columns: {
            WAKER: Option<Thread> =
                "Key of the thread that was running where the wakeup was issued; 0: an interrupt, because no thread \
                 was running there or because the source marks it (flags that not all sources have); null if not \
                 recorded.",
            THREAD: Thread,
            TID: Tid,
            WAKINGS: Count = "Number of wakeups.",
            SAME_CPU: Count = "Wakeups to the run queue of the CPU on which the waker ran.",
            OTHER_CPU: Count = "Wakeups to the run queue of another CPU.",
            UNKNOWN_CPU: Count = "Wakeups for which the waker's CPU or the run queue was not recorded.",
            READY_NS: Ns = "Time the thread was ready after these wakeups.",
        }
    }
}

table! {
    /// Lengths of idle periods of CPUs.
    IDLE_PERIODS: idle_periods {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each CPU was idle from one thread to the next, by length in powers of two. A period without a \
              known begin and end (cut by the requested range, by the recording or by unknown time) has no length. \
              Such periods have a row of their own, so that `idle_ns` sums to the whole idle time.",
        key: [CPU, FROM_NS],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            FROM_NS: Option<Ns> =
                "Lower bound of the length range: 0, 1000, 2000, 4000, …; null if the length is unknown (cut).",
            TO_NS: Option<Ns> = "Upper bound of the length range (exclusive); null if the length is unknown (cut).",
            PERIODS: Count = "Number of idle periods of this length; for cut periods, the number of pieces.",
            IDLE_NS: Ns = "Total length of these periods.",
        }
    }
}

table! {
    /// What ended the idle periods of CPUs.
    IDLE_WAKEUPS: idle_wakeups {
        version: 3,
        made_from: Analysis,
        large: false,
        doc: "What ended the idle periods of each CPU: the event that made the next thread on it ready. `periods` \
              and `idle_ns` sum to those of the table `idle_periods`. An interrupt that woke no thread does not end \
              an idle period, although it ends a stay in an idle state (see the table `idle_residency`).",
        key: [CPU, CAUSE, WAKER, INTERRUPT],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            CAUSE: Word =
                "`thread`: another thread woke it. `interrupt`: an interrupt of a device or timer woke it (see the \
                 table `wakers`), or its CPU was idle. `not_recorded`: it was woken, but the waker was not recorded. `new`: \
                 its first wakeup. `pulled`: it had been switched out on another CPU in a runnable state. `requeued`: \
                 the same, on this CPU. `unknown`: the reason why it could run is unknown. `cut`: the end is not in \
                 the requested range or the recording, or unknown time hides it.",
            WAKER: Option<Thread> = "`thread` and `new`: key of the thread that woke it; null if not recorded.",
            INTERRUPT: Option<Word> =
                "The first interrupt after the CPU entered the last idle state of the period. Device: its name, or \
                 `irq` and its number. Softirq: `softirq` and the name of its vector. Timer: `timer` and the function \
                 it called, if recorded. IPI: `ipi` and why another CPU sent it. Null if no interrupt or no idle \
                 state was recorded.",
            PERIODS: Count = "Number of idle periods that ended this way.",
            ELSEWHERE: Count = "Number of `periods` whose thread became ready on another CPU's run queue.",
            IDLE_NS: Ns = "Total length of these periods.",
        }
    }
}

table! {
    /// Interrupt time by thread.
    INTERRUPTS: interrupts {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Which interrupts hit each thread, and how long their handlers ran on its CPU meanwhile. This time is \
              part of the thread's `running_ns`, but the thread made no progress (`exec_ns` of the table `threads` \
              excludes it if the kernel accounts for interrupt time). Only handlers with a recorded begin and end \
              count; for nested handlers, the time counts for the inner one. No rows if the source does not record \
              interrupts (`record --irq`).",
        key: [THREAD, CPU, KIND, NUMBER, INTERRUPT],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CPU: Cpu,
            KIND: Word =
                "`device`, `softirq`, `timer` (a timer function or the timer interrupt), or `ipi` (sent by another \
                 CPU).",
            NUMBER: Option<Int> = "Device: interrupt number. Softirq: vector. Null otherwise.",
            INTERRUPT: Word = "Name, as in the table `idle_wakeups`.",
            COUNT: Count = "Number of handlers that began while the thread was on that CPU.",
            HANDLER_NS: Ns = "Total time in the handlers.",
            LONGEST_NS: Ns = "The longest single handler.",
        }
    }
}
