//! Tables of SMT siblings, core types and core placement.

use super::columns::{CoreType, Count, Int, Ns, Ratio, Thread, Tid, Word};
use crate::column::table;

table! {
    /// Busy CPUs of each core.
    SMT_CORES: smt_cores {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For how long how many CPUs of each core were busy at the same time. Idle, one busy, many busy and \
              unknown tile the time.",
        key: [FIRST_CPU],
        columns: {
            FIRST_CPU: Int = "The core, identified by its lowest CPU number.",
            CPUS: Word = "CPUs of the core in the kernel's list format: 0,4 or 0-3.",
            CORE_TYPE: CoreType,
            SIBLINGS: Option<Count> =
                "Number of CPUs of the core; null if not recorded: then each CPU counts as a core.",
            IDLE_NS: Ns = "Time in which none of its CPUs ran a thread.",
            ONE_BUSY_NS: Ns = "Time in which exactly one of its CPUs ran a thread.",
            MANY_BUSY_NS: Ns = "Time in which two or more of its CPUs ran a thread.",
            UNKNOWN_NS: Ns = "Time in which the state of one or more of its CPUs is unknown.",
            ALL_BUSY_NS: Ns = "The part of `one_busy_ns` and `many_busy_ns` in which all of its CPUs ran a thread.",
            FIRST_ALONE_NS: Option<Ns> =
                "Core with two CPUs: time in which only the lower-numbered CPU ran a thread; null for other cores.",
            SECOND_ALONE_NS: Option<Ns> =
                "Core with two CPUs: time in which only the higher-numbered CPU ran a thread; null for other cores.",
        }
    }
}

table! {
    /// Used capacity of each core class.
    SMT_UTILISATION: smt_utilisation {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "How much of the capacity of each core class was used, if a core with all siblings busy does `gain` \
              times the work of a core with a single busy sibling. One busy sibling uses 1/`gain` of the core, and \
              each further one an equal part of the rest. The gain is what `corewise bench` measured on the machine, or \
              else assumed to be 1.3, as measured on servers (1.33 and 1.29); it depends on the workload.",
        key: [CORE_CLASS],
        columns: {
            CORE_CLASS: Int = "Class of cores; 0 is the slowest class of the machine.",
            CORE_TYPE: CoreType,
            CORES: Count = "Number of cores of this class.",
            CPUS: Count = "Number of CPUs of these cores.",
            KNOWN_NS: Ns = "Core time in which the states of all CPUs of the core are known.",
            UNKNOWN_NS: Ns = "All other core time; the columns below exclude it.",
            BUSY_SHARE: Option<Ratio> =
                "Busy share of the CPUs' time: the utilisation if each CPU is counted as a core.",
            GAIN: Ratio = "Work of a core with all siblings busy, relative to one with a single busy sibling.",
            GAIN_SOURCE: Word = "`measured` on this machine, or `assumed`: measured on others.",
            USED_NS: Ns = "Core time, weighted by the used share of the core's capacity; rounded.",
            USED_SHARE: Option<Ratio> = "`used_ns` as a share of `known_ns`.",
            HEADROOM_SHARE: Option<Ratio> = "The unused share of the capacity.",
        }
    }
}

table! {
    /// Running time of each thread by the state of its SMT siblings.
    SMT_THREADS: smt_threads {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran while its SMT sibling was busy, and how long alone on its core. The four \
              times tile its running time.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            RUNNING_NS: Ns = "Time on a CPU.",
            ALONE_NS: Ns = "Time on a core whose other CPUs were all idle.",
            SIBLING_BUSY_NS: Ns = "Time on a core of which another CPU ran a thread.",
            SIBLING_UNKNOWN_NS: Ns =
                "Time on a core of which no other CPU is known to have run a thread, but the state of at least one is \
                 unknown.",
            NO_SIBLING_NS: Ns = "Time on a core with one CPU, or with unknown siblings.",
            SIBLING_BUSY_SHARE: Option<Ratio> = "`sibling_busy_ns` as a share of `alone_ns` + `sibling_busy_ns`.",
        }
    }
}

table! {
    /// Pairs of threads on the same core.
    SMT_PAIRS: smt_pairs {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran at the same time as each other thread on the same core. Time \
              with two other threads is in both rows.",
        key: [THREAD, SIBLING_THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            SIBLING_THREAD: Thread = "Key of the thread on another CPU of the core.",
            SIBLING_TID: Tid = "TID of that thread.",
            OVERLAP_NS: Ns = "Time both threads ran on the core at the same time.",
        }
    }
}

table! {
    /// Running time between two waits.
    CPU_BURSTS: cpu_bursts {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran from one wait to the next (a CPU burst, including preemptions in between), by \
              core class, by the state of its SMT siblings, and by length in sixteen steps per octave. For a thread \
              that repeats the same work, the lengths show how much slower it is on one core class than on another, \
              and while its SMT sibling is busy. The rows of a thread sum to its `running_ns`.",
        key: [THREAD, CORE_CLASS, SIBLING, FROM_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CORE_CLASS: Option<Int> =
                "Class of cores; 0 is the slowest class of the machine; null: the burst ran on several.",
            CORE_TYPE: Option<CoreType>,
            SIBLING: Option<Word> =
                "State of the core's other CPUs for more than fifteen sixteenths of the burst. `idle`: all were idle. \
                 `busy`: at least one ran a thread. `unknown`: the state of one that may have run a thread is \
                 unknown. `none`: the core has one CPU, or no known siblings. Null: mixed.",
            FROM_NS: Option<Ns> =
                "Lower bound of the length range: 0, 1024, 1088, 1152, …; null if the begin, the end or a part of the \
                 burst is unknown.",
            TO_NS: Option<Ns> = "Upper bound of the length range (exclusive); null if the length is unknown.",
            BURSTS: Count = "Number of bursts of this length.",
            RUNNING_NS: Ns = "Total length of these bursts.",
        }
    }
}

table! {
    /// Busy cores by core type, and busy second siblings, at the same time.
    CONCURRENCY_BANDS: concurrency_bands {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For how long how many cores of each type, and how many further CPUs on the same cores, ran a thread at \
              the same time. Like `concurrency`, this counts CPUs for which a switch or a snapshot shows what they \
              ran; all columns except `unknown` add up to its `running`.",
        key: [PERFORMANCE, MIDDLE, EFFICIENT, LOW_POWER, UNIFORM, SECOND_SIBLINGS, UNKNOWN],
        columns: {
            PERFORMANCE: Count = "Number of performance cores with a busy CPU.",
            MIDDLE: Count = "Number of middle cores with a busy CPU.",
            EFFICIENT: Count = "Number of efficient cores with a busy CPU.",
            LOW_POWER: Count = "Number of low-power cores with a busy CPU.",
            UNIFORM: Count =
                "Number of cores with a busy CPU on a machine with one core class, or of an unknown class.",
            SECOND_SIBLINGS: Count = "Number of busy CPUs beyond the first of each core.",
            UNKNOWN: Count = "Number of CPUs in an unknown state.",
            DURATION_NS: Ns = "Total time with these numbers of cores.",
        }
    }
}

table! {
    /// Suboptimal core placement.
    PLACEMENT: placement {
        version: 3,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran with suboptimal placement. The order of preference is: a whole fast core, a \
              whole slower core, the SMT sibling of a busy CPU. Placement is suboptimal while a preferable core on \
              which the thread was allowed was idle and not known to be parked. While the thread's affinity is \
              unknown (`permission_unknown_ns`), any core may have been allowed: such time counts for the upper \
              bound of a range, but not for its lower bound. `in_order_ns`, the upper bounds and `unknown_ns` tile \
              the running time.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            RUNNING_NS: Ns = "Time on a CPU.",
            IN_ORDER_NS: Ns = "Time in which no preferable core on which the thread was allowed was idle.",
            SLOWER_CORE_LOWER_NS: Ns =
                "Time on a core while a whole core of a faster class was idle on which the thread is known to be \
                 allowed.",
            SLOWER_CORE_UPPER_NS: Ns = "The same, including time with unknown affinity.",
            BUSY_SIBLING_LOWER_NS: Ns =
                "Time while its SMT sibling was busy and, of the cores on which the thread is known to be allowed, \
                 none of a faster class was known to be idle, but a whole core of its own class was.",
            BUSY_SIBLING_UPPER_NS: Ns = "The same, including time with unknown affinity.",
            SKIPPED_SLOWER_LOWER_NS: Ns =
                "Time while its SMT sibling was busy and, of the cores on which the thread is known to be allowed, \
                 none of its own or a faster class was known to be idle, but a whole core of a slower class was.",
            SKIPPED_SLOWER_UPPER_NS: Ns = "The same, including time with unknown affinity.",
            UNKNOWN_NS: Ns =
                "Time in which the state of its own core or of others is unknown, so that the placement cannot be \
                 classified.",
            COST_LOWER_NS: Option<Ns> =
                "Time that the fastest idle class would have saved of `slower_core_lower_ns`, calculated from the \
                 kernel's CPU capacities; null if the capacity of either class is unknown.",
            COST_UPPER_NS: Option<Ns> = "The same for `slower_core_upper_ns`.",
            PERMISSION_UNKNOWN_NS: Ns = "The part of `running_ns` in which the affinity of the thread is unknown.",
            WOKEN_SIBLING_LOWER_NS: Ns =
                "The part of `busy_sibling_lower_ns` on a CPU to which the thread was woken while that CPU was idle, \
                 its SMT sibling was busy, and a whole core of the class was idle with no thread queued for it; it \
                 ends when the thread waits again or runs elsewhere.",
            WOKEN_SIBLING_UPPER_NS: Ns = "The same for `busy_sibling_upper_ns`.",
        }
    }
}

table! {
    /// Use of the faster cores while threads ran on slower ones.
    SLOWER_CORES: slower_cores {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For each thread that ran on a core slower than the fastest class: the use of the faster cores \
              meanwhile. Either a faster core was idle on which the thread is allowed, or one on which it is not \
              allowed, or a faster core ran a thread of lower priority. A core whose CPUs are all parked is not \
              idle. The five times tile `running_ns`, and `faster_idle_ns` equals `slower_core_lower_ns` of the \
              table `placement`. No rows if the machine has one core class, or only one is known.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            RUNNING_NS: Ns = "Time on a core of another class than the fastest.",
            FASTER_IDLE_NS: Ns =
                "Time in which a whole core of a faster class was idle on which the thread is known to be allowed.",
            FASTER_NOT_ALLOWED_NS: Ns =
                "Time in which the only idle cores of faster classes were cores on which the thread is not allowed.",
            FASTER_LOWER_NS: Ns =
                "Time in which none of them was idle, but a CPU of one on which the thread is allowed ran a thread \
                 with a lower dynamic priority (a greater number); both priorities are known.",
            NONE_NS: Ns = "Time in which none of these is known.",
            PERMISSION_UNKNOWN_NS: Ns = "Time in which the affinity of the thread is unknown.",
            NOT_ALLOWED_COST_NS: Option<Ns> =
                "Time that the fastest of those classes would have saved of `faster_not_allowed_ns`, calculated from \
                 the kernel's CPU capacities; null if the capacity of either class is unknown.",
            LOWER_COST_NS: Option<Ns> = "The same for `faster_lower_ns`.",
        }
    }
}
