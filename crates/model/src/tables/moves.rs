//! Who moved where, for how long it stayed, at which priority, and who woke it.

use super::columns::{CORE_TYPE, CPU, THREAD, TID, count, int, ns, text};
use crate::table::{MadeFrom, TableDef};

/// How often each thread changed its CPU, by what the two have in common.
pub const MIGRATIONS: TableDef = TableDef {
    name: "migrations",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How often each thread came to run on a CPU other than the one it was on last, by the nearest that the two CPUs have \
          in common as far as the machine is known. Each migration is in one column; they sum to migrations. Over the whole \
          recording migrations is less than in the table threads by the switch-ins elsewhere that a broken link made unknown \
          or that lasted no time, and more by those before which a broken link hides where it had gone. Of a thread that is ready when the time asked for begins nobody says here where it was, so \
          its first switch-in is not counted.",
    key: &["thread"],
    cols: &[
        THREAD,
        TID,
        count("migrations", "In all."),
        count("same_core", "To a sibling, on the same physical core."),
        count("same_l2", "To another core of the same type that shares the L2 cache."),
        count("same_l3", "To another core of the same type that shares the L3 cache and no nearer one."),
        count("same_type", "To another core of the same type and package, with no shared cache that anybody told."),
        count("to_faster", "To a core of a faster class."),
        count("to_slower", "To a core of a slower class."),
        count("other_package", "To a core of the same type in another package, with no shared cache."),
        count("unknown", "Nothing is known of one of the CPUs that could tell."),
    ],
};

/// From which CPU to which threads moved.
pub const MIGRATION_MATRIX: TableDef = TableDef {
    name: "migration_matrix",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How often any thread moved from one CPU to another: the table migrations by its two ends.",
    key: &["from_cpu", "to_cpu"],
    cols: &[
        int("from_cpu", "", "The CPU that the thread was on last."),
        int("to_cpu", "", "The CPU that it came to run on."),
        text("edge", "What the two have in common: a column of the table migrations."),
        count("migrations", "How often."),
    ],
};

/// How long threads ran at a stretch.
pub const RUN_LENGTHS: TableDef = TableDef {
    name: "run_lengths",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each thread ran from a switch-in to its switch-out, on each class of cores, by length in powers of two. What \
          was not seen from begin to end (the time asked for, the recording or a loss cuts it, a snapshot shows it, it was \
          inferred) has no length and is in rows of its own, so that running_ns sums to all of the running time.",
    key: &["thread", "core_class", "from_ns"],
    cols: &[
        THREAD,
        TID,
        int("core_class", "", "0 = slowest class of the machine; null where the source does not say on which CPU.")
            .or_null(),
        CORE_TYPE.or_null(),
        ns("from_ns", "The shortest length of this row: 0, 1000, 2000, 4000, …; null: cut, so of no known length.")
            .or_null(),
        ns("to_ns", "The first length beyond this row; null: cut.").or_null(),
        count("runs", "How often it ran for so long; of those that are cut, the pieces."),
        ns("running_ns", "For how long in all."),
        count("after_wake", "Of runs, those that began with a waking; null where the source has none.").or_null(),
        ns("after_wake_ns", "For how long these ran in all.").or_null(),
    ],
};

/// Who woke whom.
pub const WAKERS: TableDef = TableDef {
    name: "wakers",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "Who woke whom: the wakings that made a thread ready, and for how long it then was. A waking that came while the thread \
          was ready, or ran and went on, changed nothing and is not counted, nor is one before the time asked for; the ready \
          time that followed counts as far as it lies within.",
    key: &["waker", "thread"],
    cols: &[
        int(
            "waker",
            "",
            "The thread (key) that ran when the other was woken; 0: it was an interrupt, since no thread ran there, or since the \
             source tells (its flags; not all have them); null: not told.",
        )
        .or_null()
        .of_thread(),
        THREAD,
        TID,
        count("wakings", "How often."),
        count("same_cpu", "Of these, to the run queue of the CPU on which the waker ran."),
        count("other_cpu", "To another run queue."),
        count("unknown_cpu", "Where the waker ran, or the run queue, is not told."),
        ns("ready_ns", "How long the thread was ready after these wakings."),
    ],
};

/// How long CPUs were idle at a stretch.
pub const IDLE_PERIODS: TableDef = TableDef {
    name: "idle_periods",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each CPU was idle from one thread to the next, by length in powers of two. What was not seen from begin to end \
          (the time asked for, the recording or unknown time cuts it) has no length and is in a row of its own, so that idle_ns \
          sums to all of the idle time.",
    key: &["cpu", "from_ns"],
    cols: &[
        CPU,
        CORE_TYPE,
        ns("from_ns", "The shortest length of this row: 0, 1000, 2000, 4000, …; null: cut, so of no known length.")
            .or_null(),
        ns("to_ns", "The first length beyond this row; null: cut.").or_null(),
        count("periods", "How often it was idle for so long; of those that are cut, the pieces."),
        ns("idle_ns", "For how long in all."),
    ],
};

/// What ended the idle periods of CPUs.
pub const IDLE_WAKEUPS: TableDef = TableDef {
    name: "idle_wakeups",
    version: 2,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "What ended the idle periods of each CPU, by what made the thread ready that ran there next: whose waking costs the           machine its sleep. Its periods and idle_ns sum to those of the table idle_periods. An interrupt that woke no thread           ends none of them, though it ends a stay in an idle state (see the table idle_residency).",
    key: &["cpu", "cause", "waker", "interrupt"],
    cols: &[
        CPU,
        CORE_TYPE,
        text(
            "cause",
            "thread: another thread woke it; interrupt: an interrupt did (a device's, a timer's; see the table wakers), or its              CPU idled; untold: it was woken, nobody knows by whom; new: the first waking of its life; pulled: it was switched out              on another CPU while it could run; requeued: on this one; unknown: nobody can say why it could run; cut: nobody saw              the end (the time asked for, the recording or unknown time cuts it).",
        ),
        int("waker", "", "thread and new: the thread (key) that woke it, where told.").or_null().of_thread(),
        text(
            "interrupt",
            "The first interrupt after the CPU had entered its last idle state of the period: a device's by its name (else irq and \
             its number), softirq and its vector's name, timer and the function that it called (where told), ipi and why another CPU \
             sent it. Null: none was told, or no idle state was.",
        )
        .or_null(),
        count("periods", "How many idle periods ended so."),
        count("elsewhere", "Of these, those whose thread had become ready on the run queue of another CPU."),
        ns("idle_ns", "For how long the CPU had been idle, in all."),
    ],
};

/// Which interrupts took the time of each thread.
pub const INTERRUPTS: TableDef = TableDef {
    name: "interrupts",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "Which interrupts came upon each thread, and for how long their handlers ran on its CPU while it was there: part of its \
          running_ns, in which it did nothing (exec_ns of the table threads is without it where the kernel keeps account of \
          interrupts). A handler counts that was seen from begin to end; what lies within another one is the inner one's. No rows \
          where the source does not tell of interrupts (record --irq).",
    key: &["thread", "cpu", "kind", "number", "interrupt"],
    cols: &[
        THREAD,
        TID,
        CPU,
        text(
            "kind",
            "device, softirq, timer (the function that it called, or its own interrupt), or ipi (sent by another CPU).",
        ),
        int("number", "", "device: the interrupt's; softirq: the vector's; else null.").or_null(),
        text("interrupt", "What it is called, as in the table idle_wakeups."),
        count("count", "How often it began while the thread was on that CPU."),
        ns("handler_ns", "How long its handlers ran."),
        ns("longest_ns", "The longest one."),
    ],
};
