//! Why slow frames were slow.

use super::columns::{Count, End, Ns, Ratio, Start, Thread};
use crate::Text;
use crate::column::table;

table! {
    /// The slowest frames, cause by cause.
    SLOW_FRAMES: slow_frames {
        version: 2,
        made_from: SlowFrames,
        large: false,
        doc: "The slowest of the frames that took longer than their budget, and why: the critical path to the end of each (see the \
              table critical_path), cause by cause, beside that of typical frames, the cause that took most more first. Frames are \
              the stretches that a program marked (corewise table --frames-of NAME), else those of a frame log that was recorded \
              beside the threads; they count if they began and ended within the time asked for. The budget is what --budget says, \
              1/60 s say for a display of 60 Hz, since no source tells the display's rate; without it, the median frame time. Typical \
              are those whose times are nearest the median, one of eight frames, nine at most. Ten frames are told (--slowest). \
              The path leads to the end of the thread that marked the frame; of a frame of a process (of a log that does not tell it: of \
              the program that the recording was made for) to that of its thread that ran last within the frame; --thread says \
              another, and where nothing says whose, all of it is unknown. No rows where no frame took longer.",
        key: [RANK, CAUSE, CORE_TYPE, BEHIND],
        columns: {
            RANK: Count = "1: the slowest.",
            NAME: Option<Text> = "What it is called: the mark, or the program of the log.",
            THREAD: Option<Thread>,
            START_NS: Start,
            END_NS: End,
            FRAME_NS: Ns = "The frame time; time_ns sums to it.",
            BUDGET_NS: Ns = "What it might have taken.",
            OVER_NS: Ns = "By so much it took longer.",
            CAUSE: Text =
                "What happened on its path: running; running_beside_busy: running while a sibling was busy; ready: another ran on \
                 the CPU of its run queue, or nobody can say what did; wakeup_latency: ready while that CPU was idle; throttled: held by its cgroup's CPU quota; blocked; exited; \
                 unknown.",
            CORE_TYPE: Option<Text> = "Running: on cores of this type; null: nobody knows on which.",
            BEHIND: Option<Thread> = "Ready: the thread (key) that ran instead; null: nobody can say.",
            TIME_NS: Ns = "For how long, in this frame.",
            TYPICAL_NS: Ns = "For how long in a typical frame, in the mean; sums to their mean time.",
            MORE_NS: Ns = "time_ns less typical_ns; sums to what the frame took longer than a typical one.",
            SHARE: Option<Ratio> = "more_ns, of that sum; less than 0 where the cause took less than usual.",
        }
    }
}
