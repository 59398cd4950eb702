//! Tables of what siblings of a core and the types of cores do to threads.

use super::columns::{CORE_TYPE, THREAD, TID, count, int, ns, text};
use crate::table::{Col, Kind, MadeFrom, TableDef};

/// How many CPUs of each core were busy at once.
pub const SMT_CORES: TableDef = TableDef {
    name: "smt_cores",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "For how long how many CPUs of each core were busy at once: idle, one busy, many busy and unknown tile the time.",
    key: &["first_cpu"],
    cols: &[
        int("first_cpu", "", "The core, by the lowest number of its CPUs."),
        text("cpus", "Its CPUs, as the kernel lists them: 0,4 or 0-3."),
        CORE_TYPE,
        int(
            "siblings",
            "count",
            "How many CPUs it has; null where nobody told: then each CPU stands as a core of its own.",
        )
        .or_null(),
        ns("idle_ns", "None of its CPUs ran a thread."),
        ns("one_busy_ns", "Exactly one of them did."),
        ns("many_busy_ns", "Two or more of them did."),
        ns("unknown_ns", "Of one of its CPUs or more nobody can say."),
        ns("all_busy_ns", "The part of one_busy_ns and many_busy_ns in which every one of its CPUs ran a thread."),
        ns("first_alone_ns", "Of two siblings: only the one of the lower number ran a thread; null for other cores.")
            .or_null(),
        ns("second_alone_ns", "Of two siblings: only the one of the higher number ran a thread; null for other cores.")
            .or_null(),
    ],
};

/// How much of each type's capacity was used.
pub const SMT_UTILISATION: TableDef = TableDef {
    name: "smt_utilisation",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How much of the capacity of each class of cores was used, where a core with all siblings busy does `gain` times the \
          work of one with a single busy sibling: that one is 1/gain used already, and each further busy sibling adds an equal \
          part of the rest. The gain is assumed to be 1.3, as measured on servers (1.33 and 1.29); the work at hand may differ.",
    key: &["core_class"],
    cols: &[
        int("core_class", "", "0 = slowest class of the machine."),
        CORE_TYPE,
        count("cores", "Cores of this class."),
        count("cpus", "Their CPUs."),
        ns("known_ns", "Core time in which it is known of every CPU of the core whether it was busy."),
        ns("unknown_ns", "All other core time; what follows leaves it out."),
        share("busy_share", "Busy part of the CPUs' time: the utilisation that counts each CPU as a core."),
        Col::new("gain", Kind::Float, "ratio", "What a core does with all siblings busy, by what it does with one."),
        ns("used_ns", "Core time, each moment weighed by the part of the core's capacity that was used; rounded."),
        share("used_share", "used_ns of known_ns."),
        share("headroom_share", "The rest: what could still be done, by what can be done at most."),
    ],
};

/// Whether somebody ran beside each thread.
pub const SMT_THREADS: TableDef = TableDef {
    name: "smt_threads",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each thread ran beside a busy sibling and how long alone on its core: the four times tile running.",
    key: &["thread"],
    cols: &[
        THREAD,
        TID,
        ns("running_ns", "On a CPU."),
        ns("alone_ns", "On a core whose other CPUs were all idle."),
        ns("beside_busy_ns", "On a core of which another CPU ran a thread."),
        ns(
            "beside_unknown_ns",
            "On a core of which no other CPU is known to have run a thread, but nobody can say of all.",
        ),
        ns("no_sibling_ns", "On a core of one CPU, or of which nobody told the siblings."),
        share("beside_busy_share", "beside_busy_ns of alone_ns and beside_busy_ns."),
    ],
};

/// Who ran beside each thread.
pub const SMT_BESIDE: TableDef = TableDef {
    name: "smt_beside",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each thread ran beside each other one on the same core. Beside two at once, the time is in both rows.",
    key: &["thread", "beside_thread"],
    cols: &[
        THREAD,
        TID,
        int("beside_thread", "", "The thread on another CPU of the core.").of_thread(),
        int("beside_tid", "", "The kernel's number of that thread."),
        ns("beside_ns", "How long they ran so."),
    ],
};

/// How long threads ran from one wait to the next, and where.
pub const CPU_BURSTS: TableDef = TableDef {
    name: "cpu_bursts",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each thread ran from one wait to the next (a CPU burst, whoever ran in between), by the class of core, by what its \
          siblings did meanwhile, and by length in sixteen steps an octave: a thread that does the same work again and again shows \
          how much slower it is on one class than on another, and beside a busy sibling. The rows of a thread sum to its \
          running_ns.",
    key: &["thread", "core_class", "sibling", "from_ns"],
    cols: &[
        THREAD,
        TID,
        int("core_class", "", "0 = slowest class of the machine; null: it ran on several.").or_null(),
        CORE_TYPE.or_null(),
        text(
            "sibling",
            "For more than fifteen sixteenths of it: idle: the core's other CPUs were; busy: another one ran a thread; unknown: of one that \
             might have, nobody can say; none: the core is of one CPU, or nobody told of others. Null: now one, now another.",
        )
        .or_null(),
        ns(
            "from_ns",
            "The shortest length of this row: 0, 1024, 1088, 1152, …; null: begin or end were not seen, or something between.",
        )
        .or_null(),
        ns("to_ns", "The first length beyond this row; null: of no known length.").or_null(),
        count("bursts", "How often it ran for so long."),
        ns("running_ns", "For how long in all."),
    ],
};

/// How many cores of each type and second siblings were busy at once.
pub const CONCURRENCY_BANDS: TableDef = TableDef {
    name: "concurrency_bands",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "For how long how many cores of each type, and how many CPUs beside the first on them, ran a thread at once. As in \
          concurrency, of the CPUs that have a switch; all columns but unknown add up to its running.",
    key: &["performance", "middle", "efficient", "low_power", "uniform", "second_siblings", "unknown"],
    cols: &[
        count("performance", "Performance cores with a busy CPU."),
        count("middle", "Middle cores with a busy CPU."),
        count("efficient", "Efficient cores with a busy CPU."),
        count("low_power", "Low-power cores with a busy CPU."),
        count("uniform", "Cores with a busy CPU where the machine has one class or nobody told the core's."),
        count("second_siblings", "Busy CPUs beyond the first of each core."),
        count("unknown", "CPUs of which nobody can say."),
        ns("duration_ns", "How long in all."),
    ],
};

/// Where threads ran although a better core was idle.
pub const PLACEMENT: TableDef = TableDef {
    name: "placement",
    version: 3,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each thread ran against the order whole fast cores, whole slower cores, busy cores' siblings, while a core \
          before its own was idle on which it was allowed, and was not parked as far as anybody told. While nobody tells where that is (permission_unknown_ns), any core \
          may be: such time counts in the upper end of a range, and not in its lower. in_order_ns, the upper ends and \
          unknown_ns tile running.",
    key: &["thread"],
    cols: &[
        THREAD,
        TID,
        ns("running_ns", "On a CPU."),
        ns("in_order_ns", "No core before its own was idle where it was allowed."),
        ns("slower_core_lower_ns", "On a core while a whole one of a faster class was idle where it is known to be allowed."),
        ns("slower_core_upper_ns", "The same, and while nobody told where it was allowed."),
        ns(
            "busy_sibling_lower_ns",
            "Beside a busy sibling while, of the cores where it is known to be allowed, none of a faster class was known to be \
             idle, but a whole one of its own class was.",
        ),
        ns("busy_sibling_upper_ns", "The same, and while nobody told where it was allowed."),
        ns(
            "skipped_slower_lower_ns",
            "Beside a busy sibling while, of the cores where it is known to be allowed, none of its class or a faster one was \
             known to be idle, but a whole one of a slower class was.",
        ),
        ns("skipped_slower_upper_ns", "The same, and while nobody told where it was allowed."),
        ns("unknown_ns", "Nobody can say, of its own core or of others, whether it was one of these."),
        ns(
            "cost_lower_ns",
            "Of slower_core_lower_ns, what the fastest idle class would have saved by the kernel's capacities; null where \
             these do not tell both classes.",
        )
        .or_null(),
        ns("cost_upper_ns", "The same of slower_core_upper_ns.").or_null(),
        ns("permission_unknown_ns", "Of running_ns, while nobody told on which CPUs the thread was allowed."),
        ns(
            "woken_sibling_lower_ns",
            "Of busy_sibling_lower_ns, on a CPU onto which the thread was woken while it idled beside a busy sibling, and a whole \
             core of the class idled for which no thread was queued; until the thread waits again or runs elsewhere.",
        ),
        ns("woken_sibling_upper_ns", "The same of busy_sibling_upper_ns."),
    ],
};

/// What was on faster cores while threads ran on slower ones.
pub const SLOWER_CORES: TableDef = TableDef {
    name: "slower_cores",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "Of each thread that ran on a core of a class slower than the fastest, what was on faster cores meanwhile: an idle one where it \
          is allowed, an idle one where it is not, or one that a thread of lower priority had. A core of which every CPU is parked is not idle. The five times tile running_ns, and \
          faster_idle_ns is slower_core_lower_ns of the table placement. No rows where the machine has one class, or nobody told \
          of more.",
    key: &["thread"],
    cols: &[
        THREAD,
        TID,
        ns("running_ns", "On a core of another class than the fastest."),
        ns("faster_idle_ns", "While a whole core of a faster class was idle where it is known to be allowed."),
        ns("faster_not_allowed_ns", "While only such cores of faster classes were idle where it is not allowed."),
        ns(
            "faster_lower_ns",
            "While none of them was idle, but on a CPU of one where it is allowed a thread ran whose dynamic priority is lower \
             (a greater number), both priorities being told.",
        ),
        ns("none_ns", "While none of these is known."),
        ns("permission_unknown_ns", "While nobody told on which CPUs it was allowed."),
        ns(
            "not_allowed_cost_ns",
            "Of faster_not_allowed_ns, what the fastest of those classes would have saved by the kernel's capacities; null where these do \
             not tell both classes.",
        )
        .or_null(),
        ns("lower_cost_ns", "The same of faster_lower_ns.").or_null(),
    ],
};

const fn share(name: &'static str, doc: &'static str) -> Col {
    Col::new(name, Kind::Float, "ratio", doc).or_null()
}
