//! Who moved where, for how long it stayed, at which priority, and who woke it.

use super::columns::{CoreType, Count, Cpu, Int, Ns, Thread, Tid};
use crate::Text;
use crate::column::table;

table! {
    /// How often each thread changed its CPU, by what the two have in common.
    MIGRATIONS: migrations {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How often each thread came to run on a CPU other than the one it was on last, by the nearest that the two CPUs have \
              in common as far as the machine is known. Each migration is in one column; they sum to migrations. Over the whole \
              recording migrations is less than in the table threads by the switch-ins elsewhere that a broken link made unknown \
              or that lasted no time, and more by those before which a broken link hides where it had gone. Of a thread that is ready when the time asked for begins nobody says here where it was, so \
              its first switch-in is not counted.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            MIGRATIONS: Count = "In all.",
            SAME_CORE: Count = "To a sibling, on the same physical core.",
            SAME_L2: Count = "To another core of the same type that shares the L2 cache.",
            SAME_L3: Count = "To another core of the same type that shares the L3 cache and no nearer one.",
            SAME_TYPE: Count = "To another core of the same type and package, with no shared cache that anybody told.",
            TO_FASTER: Count = "To a core of a faster class.",
            TO_SLOWER: Count = "To a core of a slower class.",
            OTHER_PACKAGE: Count = "To a core of the same type in another package, with no shared cache.",
            UNKNOWN: Count = "Nothing is known of one of the CPUs that could tell.",
        }
    }
}

table! {
    /// From which CPU to which threads moved.
    MIGRATION_MATRIX: migration_matrix {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How often any thread moved from one CPU to another: the table migrations by its two ends.",
        key: [FROM_CPU, TO_CPU],
        columns: {
            FROM_CPU: Int = "The CPU that the thread was on last.",
            TO_CPU: Int = "The CPU that it came to run on.",
            EDGE: Text = "What the two have in common: a column of the table migrations.",
            MIGRATIONS: Count = "How often.",
        }
    }
}

table! {
    /// How long threads ran at a stretch.
    RUN_LENGTHS: run_lengths {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran from a switch-in to its switch-out, on each class of cores, by length in powers of two. What \
              was not seen from begin to end (the time asked for, the recording or a loss cuts it, a snapshot shows it, it was \
              inferred) has no length and is in rows of its own, so that running_ns sums to all of the running time.",
        key: [THREAD, CORE_CLASS, FROM_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CORE_CLASS: Option<Int> = "0 = slowest class of the machine; null where the source does not say on which CPU.",
            CORE_TYPE: Option<CoreType>,
            FROM_NS: Option<Ns> =
                "The shortest length of this row: 0, 1000, 2000, 4000, …; null: cut, so of no known length.",
            TO_NS: Option<Ns> = "The first length beyond this row; null: cut.",
            RUNS: Count = "How often it ran for so long; of those that are cut, the pieces.",
            RUNNING_NS: Ns = "For how long in all.",
            AFTER_WAKE: Option<Count> = "Of runs, those that began with a waking; null where the source has none.",
            AFTER_WAKE_NS: Option<Ns> = "For how long these ran in all.",
        }
    }
}

table! {
    /// Who woke whom.
    WAKERS: wakers {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Who woke whom: the wakings that made a thread ready, and for how long it then was. A waking that came while the thread \
              was ready, or ran and went on, changed nothing and is not counted, nor is one before the time asked for; the ready \
              time that followed counts as far as it lies within.",
        key: [WAKER, THREAD],
        columns: {
            WAKER: Option<Thread> =
                "The thread (key) that ran when the other was woken; 0: it was an interrupt, since no thread ran there, or since the \
                 source tells (its flags; not all have them); null: not told.",
            THREAD: Thread,
            TID: Tid,
            WAKINGS: Count = "How often.",
            SAME_CPU: Count = "Of these, to the run queue of the CPU on which the waker ran.",
            OTHER_CPU: Count = "To another run queue.",
            UNKNOWN_CPU: Count = "Where the waker ran, or the run queue, is not told.",
            READY_NS: Ns = "How long the thread was ready after these wakings.",
        }
    }
}

table! {
    /// How long CPUs were idle at a stretch.
    IDLE_PERIODS: idle_periods {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each CPU was idle from one thread to the next, by length in powers of two. What was not seen from begin to end \
              (the time asked for, the recording or unknown time cuts it) has no length and is in a row of its own, so that idle_ns \
              sums to all of the idle time.",
        key: [CPU, FROM_NS],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            FROM_NS: Option<Ns> =
                "The shortest length of this row: 0, 1000, 2000, 4000, …; null: cut, so of no known length.",
            TO_NS: Option<Ns> = "The first length beyond this row; null: cut.",
            PERIODS: Count = "How often it was idle for so long; of those that are cut, the pieces.",
            IDLE_NS: Ns = "For how long in all.",
        }
    }
}

table! {
    /// What ended the idle periods of CPUs.
    IDLE_WAKEUPS: idle_wakeups {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "What ended the idle periods of each CPU, by what made the thread ready that ran there next: whose waking costs the           machine its sleep. Its periods and idle_ns sum to those of the table idle_periods. An interrupt that woke no thread           ends none of them, though it ends a stay in an idle state (see the table idle_residency).",
        key: [CPU, CAUSE, WAKER, INTERRUPT],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            CAUSE: Text =
                "thread: another thread woke it; interrupt: an interrupt did (a device's, a timer's; see the table wakers), or its              CPU idled; untold: it was woken, nobody knows by whom; new: the first waking of its life; pulled: it was switched out              on another CPU while it could run; requeued: on this one; unknown: nobody can say why it could run; cut: nobody saw              the end (the time asked for, the recording or unknown time cuts it).",
            WAKER: Option<Thread> = "thread and new: the thread (key) that woke it, where told.",
            INTERRUPT: Option<Text> =
                "The first interrupt after the CPU had entered its last idle state of the period: a device's by its name (else irq and \
                 its number), softirq and its vector's name, timer and the function that it called (where told), ipi and why another CPU \
                 sent it. Null: none was told, or no idle state was.",
            PERIODS: Count = "How many idle periods ended so.",
            ELSEWHERE: Count = "Of these, those whose thread had become ready on the run queue of another CPU.",
            IDLE_NS: Ns = "For how long the CPU had been idle, in all.",
        }
    }
}

table! {
    /// Which interrupts took the time of each thread.
    INTERRUPTS: interrupts {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Which interrupts came upon each thread, and for how long their handlers ran on its CPU while it was there: part of its \
              running_ns, in which it did nothing (exec_ns of the table threads is without it where the kernel keeps account of \
              interrupts). A handler counts that was seen from begin to end; what lies within another one is the inner one's. No rows \
              where the source does not tell of interrupts (record --irq).",
        key: [THREAD, CPU, KIND, NUMBER, INTERRUPT],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CPU: Cpu,
            KIND: Text =
                "device, softirq, timer (the function that it called, or its own interrupt), or ipi (sent by another CPU).",
            NUMBER: Option<Int> = "device: the interrupt's; softirq: the vector's; else null.",
            INTERRUPT: Text = "What it is called, as in the table idle_wakeups.",
            COUNT: Count = "How often it began while the thread was on that CPU.",
            HANDLER_NS: Ns = "How long its handlers ran.",
            LONGEST_NS: Ns = "The longest one.",
        }
    }
}
