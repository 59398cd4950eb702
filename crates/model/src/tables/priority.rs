//! At which priorities threads ran, and how they were set.

use super::columns::{END, START, THREAD, TID, int, ns};
use crate::table::{Col, Kind, TableDef};

/// At which priorities threads ran and waited.
pub const PRIORITY_RESIDENCY: TableDef = TableDef {
    name: "priority_residency",
    version: 1,
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
