//! Parallel regions.

use super::columns::{Count, End, Int, Ns, Start};
use crate::Text;
use crate::column::table;

table! {
    /// Every parallel region, and who waited for the last to arrive.
    PARALLEL_REGIONS: parallel_regions {
        version: 3,
        made_from: Analysis,
        large: true,
        doc: "Every parallel region: while two threads or more of a process have stretches of one name marked, from the first begin to \
              the last end, in order of end. Who begins when all others have ended, within a second, is of it too where it had no CPU \
              meanwhile: it was ready then, and had been for half of the region. A thread arrives with the end of its last stretch, and waits for the last to arrive (the \
              tail of a barrier). What could be recovered is an estimate: recoverable_from_ns to recoverable_to_ns, had the work been \
              handed out such that all arrive at once. With n chunks, handed out one by one, up to slowest_ns / n of that is left, while \
              the last chunk is done on whatever is slowest; what handing out costs is in none of these. Of regions that the time asked for \
              cuts there are no rows.",
        key: [PID, NAME, START_NS],
        columns: {
            PID: Option<Int> = "The process, where told.",
            NAME: Text = "What the program calls the stretches.",
            START_NS: Start,
            END_NS: End,
            THREADS: Count = "Threads that marked such stretches; tracks, where they are of no thread.",
            STRETCHES: Count = "How many they marked, those within others not counted: the chunks, where each is marked.",
            WORKED_NS: Ns = "How long these took, in all.",
            FIRST_ARRIVAL_NS: Ns = "When the first thread arrived.",
            TAIL_NS: Ns = "From then to the last arrival.",
            WAITING_NS: Ns = "From each thread's arrival to the last one, in all.",
            IDLE_PERFORMANCE_NS: Ns =
                "For how long in all cores of type performance idled within the tail, each counted by itself.",
            IDLE_MIDDLE_NS: Ns = "Those of type middle.",
            IDLE_EFFICIENT_NS: Ns = "Those of type efficient.",
            IDLE_LOW_POWER_NS: Ns = "Those of type low_power.",
            IDLE_UNIFORM_NS: Ns = "Those of machines of one type, or of none that is known.",
            IDLE_UNKNOWN_NS: Ns = "For how long in all nobody can say of cores whether they idled.",
            RECOVERABLE_FROM_NS: Ns =
                "By so much sooner all would have arrived at once: if all threads go equally fast (waiting_ns / threads), or if each \
                 stretch is as much work as any other, so that who took longer for each goes slower; the less one.",
            RECOVERABLE_TO_NS: Ns = "The greater one.",
            WAITING_RUNNING_NS: Option<Ns> =
                "Of waiting_ns, that in which those who waited ran: they spun, or did other work; null where stretches are of no thread.",
            LAST_READY_NS: Option<Ns> =
                "For how long the last to arrive had been ready since its part began, and at once before that while another had arrived; the least of \
                 those that came last; null where the source has no wakings, or stretches are of no thread.",
            SLOWEST_NS: Ns = "What all of the work takes one thread alone that goes as the slowest does.",
        }
    }
}
