//! Tables of what programs mark.

use super::columns::{END, START, count, ns, text};
use crate::table::{Col, Kind, MadeFrom, TableDef};

/// What marked stretches took, and what their threads did meanwhile.
pub const MARKS: TableDef = TableDef {
    name: "marks",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: false,
    doc: "How long the stretches took that a thread or process marked, by name, and what the thread did meanwhile. A stretch \
          within another is a part of both.",
    key: &["thread", "pid", "name"],
    cols: &[
        Col::new(
            "thread",
            Kind::Int,
            "",
            "The thread that marked them; null: they are of a process or of the machine.",
        )
        .or_null()
        .of_thread(),
        Col::new("pid", Kind::Int, "", "The process, where told.").or_null(),
        text("name", "What the program calls them.").or_null(),
        count("count", "Stretches that ended, and moments."),
        count("open", "Stretches that had not ended at the end, counted up to there."),
        ns("duration_ns", "From begin to end, in all."),
        ns("longest_ns", "The longest one."),
        ns("running_ns", "Of that the thread was on a CPU.").or_null(),
        ns("ready_ns", "Of that it could run, but did not; null where the source has no wakings.").or_null(),
        ns("blocked_ns", "Of that it waited for something.").or_null(),
        ns("unknown_ns", "Of that nobody can say what it did.").or_null(),
    ],
};

/// Every marked stretch.
pub const MARK_STRETCHES: TableDef = TableDef {
    name: "mark_stretches",
    version: 1,
    made_from: MadeFrom::Analysis,
    large: true,
    doc: "Every stretch that a thread or process marked, in order of end, and what the thread did meanwhile: a frame each, where \
          a program marks its frames.",
    key: &["thread", "pid", "name", "start_ns", "end_ns"],
    cols: &[
        Col::new("thread", Kind::Int, "", "The thread that marked it; null: it is of a process or of the machine.")
            .or_null()
            .of_thread(),
        Col::new("pid", Kind::Int, "", "The process, where told.").or_null(),
        text("name", "What the program calls it.").or_null(),
        START,
        END,
        Col::new("ended", Kind::Bool, "", "Whether its end was marked; otherwise it goes up to the recording's."),
        ns("duration_ns", "From begin to end."),
        ns("running_ns", "Of that the thread was on a CPU.").or_null(),
        ns("ready_ns", "Of that it could run, but did not; null where the source has no wakings.").or_null(),
        ns("blocked_ns", "Of that it waited for something.").or_null(),
        ns("unknown_ns", "Of that nobody can say what it did.").or_null(),
    ],
};
