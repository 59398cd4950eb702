//! Tables of what programs mark.

use super::columns::{Bool, Count, End, Int, Ns, Start, Thread};
use crate::Text;
use crate::column::table;

table! {
    /// What marked stretches took, and what their threads did meanwhile.
    MARKS: marks {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long the stretches took that a thread or process marked, by name, and what the thread did meanwhile. A stretch \
              within another is a part of both.",
        key: [THREAD, PID, NAME],
        columns: {
            THREAD: Option<Thread> = "The thread that marked them; null: they are of a process or of the machine.",
            PID: Option<Int> = "The process, where told.",
            NAME: Option<Text> = "What the program calls them.",
            COUNT: Count = "Stretches that ended, and moments.",
            OPEN: Count = "Stretches that had not ended at the end, counted up to there.",
            DURATION_NS: Ns = "From begin to end, in all.",
            LONGEST_NS: Ns = "The longest one.",
            RUNNING_NS: Option<Ns> = "Of that the thread was on a CPU.",
            READY_NS: Option<Ns> = "Of that it could run, but did not; null where the source has no wakings.",
            BLOCKED_NS: Option<Ns> = "Of that it waited for something.",
            UNKNOWN_NS: Option<Ns> = "Of that nobody can say what it did.",
        }
    }
}

table! {
    /// Every marked stretch.
    MARK_STRETCHES: mark_stretches {
        version: 1,
        made_from: Analysis,
        large: true,
        doc: "Every stretch that a thread or process marked, in order of end, and what the thread did meanwhile: a frame each, where \
              a program marks its frames.",
        key: [THREAD, PID, NAME, START_NS, END_NS],
        columns: {
            THREAD: Option<Thread> = "The thread that marked it; null: it is of a process or of the machine.",
            PID: Option<Int> = "The process, where told.",
            NAME: Option<Text> = "What the program calls it.",
            START_NS: Start,
            END_NS: End,
            ENDED: Bool = "Whether its end was marked; otherwise it goes up to the recording's.",
            DURATION_NS: Ns = "From begin to end.",
            RUNNING_NS: Option<Ns> = "Of that the thread was on a CPU.",
            READY_NS: Option<Ns> = "Of that it could run, but did not; null where the source has no wakings.",
            BLOCKED_NS: Option<Ns> = "Of that it waited for something.",
            UNKNOWN_NS: Option<Ns> = "Of that nobody can say what it did.",
        }
    }
}
