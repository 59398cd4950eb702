//! Tables of what siblings of a core and the types of cores do to threads.

use super::columns::{CoreType, Count, Int, Ns, Ratio, Thread, Tid};
use crate::Text;
use crate::column::table;

table! {
    /// How many CPUs of each core were busy at once.
    SMT_CORES: smt_cores {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For how long how many CPUs of each core were busy at once: idle, one busy, many busy and unknown tile the time.",
        key: [FIRST_CPU],
        columns: {
            FIRST_CPU: Int = "The core, by the lowest number of its CPUs.",
            CPUS: Text = "Its CPUs, as the kernel lists them: 0,4 or 0-3.",
            CORE_TYPE: CoreType,
            SIBLINGS: Option<Count> =
                "How many CPUs it has; null where nobody told: then each CPU stands as a core of its own.",
            IDLE_NS: Ns = "None of its CPUs ran a thread.",
            ONE_BUSY_NS: Ns = "Exactly one of them did.",
            MANY_BUSY_NS: Ns = "Two or more of them did.",
            UNKNOWN_NS: Ns = "Of one of its CPUs or more nobody can say.",
            ALL_BUSY_NS: Ns = "The part of one_busy_ns and many_busy_ns in which every one of its CPUs ran a thread.",
            FIRST_ALONE_NS: Option<Ns> =
                "Of two siblings: only the one of the lower number ran a thread; null for other cores.",
            SECOND_ALONE_NS: Option<Ns> =
                "Of two siblings: only the one of the higher number ran a thread; null for other cores.",
        }
    }
}

table! {
    /// How much of each type's capacity was used.
    SMT_UTILISATION: smt_utilisation {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How much of the capacity of each class of cores was used, where a core with all siblings busy does `gain` times the \
              work of one with a single busy sibling: that one is 1/gain used already, and each further busy sibling adds an equal \
              part of the rest. The gain is assumed to be 1.3, as measured on servers (1.33 and 1.29); the work at hand may differ.",
        key: [CORE_CLASS],
        columns: {
            CORE_CLASS: Int = "0 = slowest class of the machine.",
            CORE_TYPE: CoreType,
            CORES: Count = "Cores of this class.",
            CPUS: Count = "Their CPUs.",
            KNOWN_NS: Ns = "Core time in which it is known of every CPU of the core whether it was busy.",
            UNKNOWN_NS: Ns = "All other core time; what follows leaves it out.",
            BUSY_SHARE: Option<Ratio> = "Busy part of the CPUs' time: the utilisation that counts each CPU as a core.",
            GAIN: Ratio = "What a core does with all siblings busy, by what it does with one.",
            USED_NS: Ns = "Core time, each moment weighed by the part of the core's capacity that was used; rounded.",
            USED_SHARE: Option<Ratio> = "used_ns of known_ns.",
            HEADROOM_SHARE: Option<Ratio> = "The rest: what could still be done, by what can be done at most.",
        }
    }
}

table! {
    /// Whether somebody ran beside each thread.
    SMT_THREADS: smt_threads {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran beside a busy sibling and how long alone on its core: the four times tile running.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            RUNNING_NS: Ns = "On a CPU.",
            ALONE_NS: Ns = "On a core whose other CPUs were all idle.",
            BESIDE_BUSY_NS: Ns = "On a core of which another CPU ran a thread.",
            BESIDE_UNKNOWN_NS: Ns =
                "On a core of which no other CPU is known to have run a thread, but nobody can say of all.",
            NO_SIBLING_NS: Ns = "On a core of one CPU, or of which nobody told the siblings.",
            BESIDE_BUSY_SHARE: Option<Ratio> = "beside_busy_ns of alone_ns and beside_busy_ns.",
        }
    }
}

table! {
    /// Who ran beside each thread.
    SMT_BESIDE: smt_beside {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran beside each other one on the same core. Beside two at once, the time is in both rows.",
        key: [THREAD, BESIDE_THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            BESIDE_THREAD: Thread = "The thread on another CPU of the core.",
            BESIDE_TID: Int = "The kernel's number of that thread.",
            BESIDE_NS: Ns = "How long they ran so.",
        }
    }
}

table! {
    /// How long threads ran from one wait to the next, and where.
    CPU_BURSTS: cpu_bursts {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran from one wait to the next (a CPU burst, whoever ran in between), by the class of core, by what its \
              siblings did meanwhile, and by length in sixteen steps an octave: a thread that does the same work again and again shows \
              how much slower it is on one class than on another, and beside a busy sibling. The rows of a thread sum to its \
              running_ns.",
        key: [THREAD, CORE_CLASS, SIBLING, FROM_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CORE_CLASS: Option<Int> = "0 = slowest class of the machine; null: it ran on several.",
            CORE_TYPE: Option<CoreType>,
            SIBLING: Option<Text> =
                "For more than fifteen sixteenths of it: idle: the core's other CPUs were; busy: another one ran a thread; unknown: of one that \
                 might have, nobody can say; none: the core is of one CPU, or nobody told of others. Null: now one, now another.",
            FROM_NS: Option<Ns> =
                "The shortest length of this row: 0, 1024, 1088, 1152, …; null: begin or end were not seen, or something between.",
            TO_NS: Option<Ns> = "The first length beyond this row; null: of no known length.",
            BURSTS: Count = "How often it ran for so long.",
            RUNNING_NS: Ns = "For how long in all.",
        }
    }
}

table! {
    /// How many cores of each type and second siblings were busy at once.
    CONCURRENCY_BANDS: concurrency_bands {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "For how long how many cores of each type, and how many CPUs beside the first on them, ran a thread at once. As in \
              concurrency, of the CPUs that have a switch; all columns but unknown add up to its running.",
        key: [PERFORMANCE, MIDDLE, EFFICIENT, LOW_POWER, UNIFORM, SECOND_SIBLINGS, UNKNOWN],
        columns: {
            PERFORMANCE: Count = "Performance cores with a busy CPU.",
            MIDDLE: Count = "Middle cores with a busy CPU.",
            EFFICIENT: Count = "Efficient cores with a busy CPU.",
            LOW_POWER: Count = "Low-power cores with a busy CPU.",
            UNIFORM: Count = "Cores with a busy CPU where the machine has one class or nobody told the core's.",
            SECOND_SIBLINGS: Count = "Busy CPUs beyond the first of each core.",
            UNKNOWN: Count = "CPUs of which nobody can say.",
            DURATION_NS: Ns = "How long in all.",
        }
    }
}

table! {
    /// Where threads ran although a better core was idle.
    PLACEMENT: placement {
        version: 3,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran against the order whole fast cores, whole slower cores, busy cores' siblings, while a core \
              before its own was idle on which it was allowed, and was not parked as far as anybody told. While nobody tells where that is (permission_unknown_ns), any core \
              may be: such time counts in the upper end of a range, and not in its lower. in_order_ns, the upper ends and \
              unknown_ns tile running.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            RUNNING_NS: Ns = "On a CPU.",
            IN_ORDER_NS: Ns = "No core before its own was idle where it was allowed.",
            SLOWER_CORE_LOWER_NS: Ns =
                "On a core while a whole one of a faster class was idle where it is known to be allowed.",
            SLOWER_CORE_UPPER_NS: Ns = "The same, and while nobody told where it was allowed.",
            BUSY_SIBLING_LOWER_NS: Ns =
                "Beside a busy sibling while, of the cores where it is known to be allowed, none of a faster class was known to be \
                 idle, but a whole one of its own class was.",
            BUSY_SIBLING_UPPER_NS: Ns = "The same, and while nobody told where it was allowed.",
            SKIPPED_SLOWER_LOWER_NS: Ns =
                "Beside a busy sibling while, of the cores where it is known to be allowed, none of its class or a faster one was \
                 known to be idle, but a whole one of a slower class was.",
            SKIPPED_SLOWER_UPPER_NS: Ns = "The same, and while nobody told where it was allowed.",
            UNKNOWN_NS: Ns = "Nobody can say, of its own core or of others, whether it was one of these.",
            COST_LOWER_NS: Option<Ns> =
                "Of slower_core_lower_ns, what the fastest idle class would have saved by the kernel's capacities; null where \
                 these do not tell both classes.",
            COST_UPPER_NS: Option<Ns> = "The same of slower_core_upper_ns.",
            PERMISSION_UNKNOWN_NS: Ns = "Of running_ns, while nobody told on which CPUs the thread was allowed.",
            WOKEN_SIBLING_LOWER_NS: Ns =
                "Of busy_sibling_lower_ns, on a CPU onto which the thread was woken while it idled beside a busy sibling, and a whole \
                 core of the class idled for which no thread was queued; until the thread waits again or runs elsewhere.",
            WOKEN_SIBLING_UPPER_NS: Ns = "The same of busy_sibling_upper_ns.",
        }
    }
}

table! {
    /// What was on faster cores while threads ran on slower ones.
    SLOWER_CORES: slower_cores {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Of each thread that ran on a core of a class slower than the fastest, what was on faster cores meanwhile: an idle one where it \
              is allowed, an idle one where it is not, or one that a thread of lower priority had. A core of which every CPU is parked is not idle. The five times tile running_ns, and \
              faster_idle_ns is slower_core_lower_ns of the table placement. No rows where the machine has one class, or nobody told \
              of more.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            RUNNING_NS: Ns = "On a core of another class than the fastest.",
            FASTER_IDLE_NS: Ns = "While a whole core of a faster class was idle where it is known to be allowed.",
            FASTER_NOT_ALLOWED_NS: Ns = "While only such cores of faster classes were idle where it is not allowed.",
            FASTER_LOWER_NS: Ns =
                "While none of them was idle, but on a CPU of one where it is allowed a thread ran whose dynamic priority is lower \
                 (a greater number), both priorities being told.",
            NONE_NS: Ns = "While none of these is known.",
            PERMISSION_UNKNOWN_NS: Ns = "While nobody told on which CPUs it was allowed.",
            NOT_ALLOWED_COST_NS: Option<Ns> =
                "Of faster_not_allowed_ns, what the fastest of those classes would have saved by the kernel's capacities; null where these do \
                 not tell both classes.",
            LOWER_COST_NS: Option<Ns> = "The same of faster_lower_ns.",
        }
    }
}
