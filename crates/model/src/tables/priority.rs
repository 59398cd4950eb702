//! At which priorities threads ran, and how they were set.

use super::columns::{END, START, THREAD, TID, int, ns, text};
use crate::table::{Col, Kind, MadeFrom, TableDef};

/// At which priorities threads ran and waited.
pub const PRIORITY_RESIDENCY: TableDef = TableDef {
    name: "priority_residency",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each thread ran and was ready at each dynamic priority. A stretch counts at the priority that the source told \
          last before its end.",
    key: &["thread", "prio"],
    cols: &[
        THREAD,
        TID,
        int(
            "prio",
            "",
            "On the source's scale (Linux: 0–99 real time, 100–139 fair; lower is better); null where not told.",
        )
        .or_null(),
        ns("running_ns", "On a CPU."),
        ns("ready_ns", "Could run, but did not; null where the source has no wakings.").or_null(),
        Col::new("share", Kind::Float, "ratio", "Of the thread's running time; null where it has none.").or_null(),
    ],
};

/// Which classes of priority had the CPUs, over time.
pub const PRIORITY_CLASSES: TableDef = TableDef {
    name: "priority_classes",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "CPU time by class of the priority of who ran, in twenty equal parts of the time: in each, the times sum to that of all CPUs. \
          By dynamic priority on Linux's scale, as it was told last before a stretch's end.",
    key: &["start_ns"],
    cols: &[
        START,
        END,
        ns("deadline_ns", "Threads of the deadline class ran (-1)."),
        ns("real_time_ns", "Real-time ones (0–99)."),
        ns("high_ns", "Fair ones of a nice value below 0 (100–119)."),
        ns("normal_ns", "Fair ones of nice 0 (120)."),
        ns("low_ns", "Fair ones of a nice value above 0 (121–139)."),
        ns("untold_ns", "Threads of which nobody told the priority."),
        ns("idle_ns", "CPUs idled."),
        ns("unknown_ns", "Nobody can say what CPUs did."),
    ],
};

/// How threads were set to be scheduled.
pub const THREAD_SCHEDULING: TableDef = TableDef {
    name: "thread_scheduling",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: true,
    doc: "How each thread was set to be scheduled, a row for each stretch of equal settings. Of time in which \
          nothing was told of a thread there is no row; what was told holds until something else is.",
    key: &["thread", "start_ns"],
    cols: &[
        THREAD,
        TID,
        START,
        END,
        text("policy", "other, fifo, rr, batch, idle, deadline or ext (Linux); null where not told.").or_null(),
        int("nice", "", "−20 (most) to 19 (least); it counts among the threads of a cgroup, or of an autogroup.").or_null(),
        int(
            "static_prio",
            "",
            "Its own priority, without what a lock's waiters lend it: 0–98 real time, 100–139 fair (120 + nice), −1 deadline.",
        )
        .or_null(),
        int("uclamp_min", "", "Of 1024, the capacity that it asks for at least (sched_util_min).").or_null(),
        int("uclamp_max", "", "At most (sched_util_max).").or_null(),
        text("cgroup", "The path of its cgroup; its number where no path was told.").or_null(),
        int("cgroup_weight", "", "The share of that cgroup beside its siblings (cpu.weight), 100 by default.").or_null(),
    ],
};

/// Whether threads ran where it was said that they would best.
pub const IDEAL_CPU: TableDef = TableDef {
    name: "ideal_cpu",
    version: 2,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long each thread ran on the CPU that it was told to be best on, near it, and elsewhere, as it was told at each time: \
          these sum to its running time. Threads of which it was never told have no row. Windows tells it (the ideal processor), Linux has \
          no such thing.",
    key: &["thread"],
    cols: &[
        THREAD,
        TID,
        ns("ideal_ns", "On the ideal CPU."),
        ns("same_core_ns", "On a sibling of it, on the same physical core."),
        ns("same_l2_ns", "On another core that shares its L2 cache (of a cluster of cores)."),
        ns("same_l3_ns", "On another one that shares its L3 cache."),
        ns("elsewhere_ns", "On any other."),
        ns("unknown_ns", "Before it was told, or where nobody tells what the two CPUs share."),
        Col::new("share", Kind::Float, "ratio", "Of ideal_ns in its running time; null where it did not run.")
            .or_null(),
        ns(
            "not_allowed_ns",
            "Of its running time, while the ideal CPU was none of those on which it is known to be allowed: what the scheduler then \
             takes for it instead, nobody says.",
        ),
    ],
};
