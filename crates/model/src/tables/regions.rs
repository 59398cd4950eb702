//! Parallel regions.

use super::columns::{END, START, count, int, ns, text};
use crate::table::{MadeFrom, TableDef};

/// Every parallel region, and who waited for the last to arrive.
pub const PARALLEL_REGIONS: TableDef = TableDef {
    name: "parallel_regions",
    version: 3,
    made_from: MadeFrom::Analysis,
    large: true,
    doc: "Every parallel region: while two threads or more of a process have stretches of one name marked, from the first begin to \
          the last end, in order of end. Who begins when all others have ended, within a second, is of it too where it had no CPU \
          meanwhile: it was ready then, and had been for half of the region. A thread arrives with the end of its last stretch, and waits for the last to arrive (the \
          tail of a barrier). What could be recovered is an estimate: recoverable_from_ns to recoverable_to_ns, had the work been \
          handed out such that all arrive at once. With n chunks, handed out one by one, up to slowest_ns / n of that is left, while \
          the last chunk is done on whatever is slowest; what handing out costs is in none of these. Of regions that the time asked for \
          cuts there are no rows.",
    key: &["pid", "name", "start_ns"],
    cols: &[
        int("pid", "", "The process, where told.").or_null(),
        text("name", "What the program calls the stretches."),
        START,
        END,
        count("threads", "Threads that marked such stretches; tracks, where they are of no thread."),
        count("stretches", "How many they marked, those within others not counted: the chunks, where each is marked."),
        ns("worked_ns", "How long these took, in all."),
        ns("first_arrival_ns", "When the first thread arrived."),
        ns("tail_ns", "From then to the last arrival."),
        ns("waiting_ns", "From each thread's arrival to the last one, in all."),
        ns(
            "idle_performance_ns",
            "For how long in all cores of type performance idled within the tail, each counted by itself.",
        ),
        ns("idle_middle_ns", "Those of type middle."),
        ns("idle_efficient_ns", "Those of type efficient."),
        ns("idle_low_power_ns", "Those of type low_power."),
        ns("idle_uniform_ns", "Those of machines of one type, or of none that is known."),
        ns("idle_unknown_ns", "For how long in all nobody can say of cores whether they idled."),
        ns(
            "recoverable_from_ns",
            "By so much sooner all would have arrived at once: if all threads go equally fast (waiting_ns / threads), or if each \
             stretch is as much work as any other, so that who took longer for each goes slower; the less one.",
        ),
        ns("recoverable_to_ns", "The greater one."),
        ns(
            "waiting_running_ns",
            "Of waiting_ns, that in which those who waited ran: they spun, or did other work; null where stretches are of no thread.",
        )
        .or_null(),
        ns(
            "last_ready_ns",
            "For how long the last to arrive had been ready since its part began, and at once before that while another had arrived; the least of \
             those that came last; null where the source has no wakings, or stretches are of no thread.",
        )
        .or_null(),
        ns("slowest_ns", "What all of the work takes one thread alone that goes as the slowest does."),
    ],
};
