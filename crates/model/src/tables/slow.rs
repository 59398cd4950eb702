//! The tables of the slowest frames and intervals, and their causes.

use super::columns::{Count, End, MarkName, Ns, Ratio, Start, Thread, Tid, Word};
use crate::column::table;

table! {
    /// The slowest frames, by cause.
    SLOW_FRAMES: slow_frames {
        version: 4,
        made_from: SlowFrames,
        large: false,
        doc: "The slowest of the frames that exceeded their budget, and why: the critical path to the end of each \
              frame (see the table `critical_path`), by cause, compared with that of typical frames. The causes that \
              took the most extra time come first. Frames are the stretches that a program marked (`--frames-of \
              NAME`), otherwise those of a frame log recorded with the threads; only frames that began and ended in \
              the requested range count. The budget is `--budget`, for example 1/60 s for a display of 60 Hz, \
              because no source records the display's refresh rate; by default it is the median frame time. Typical \
              frames are those with frame times nearest to the median: one in eight frames, nine at most. Ten frames \
              are listed (`--slowest`). The path leads to the end of the thread that marked the frame; for a frame \
              of a process (for a log without process IDs: of the recorded program), to the end of its thread that \
              ran last within the frame. `--thread` selects another one. If the thread is unknown, the whole frame \
              time is unknown. No rows if no frame exceeded its budget.",
        key: [RANK, CAUSE, CORE_TYPE, QUEUED_BEHIND],
        columns: {
            RANK: Count = "Rank of the frame; 1 is the slowest.",
            NAME: Option<MarkName> = "Name of the mark, or the program of the frame log.",
            THREAD: Option<Thread>,
            START_NS: Start,
            END_NS: End,
            FRAME_NS: Ns = "Frame time; `time_ns` sums to it.",
            BUDGET_NS: Ns = "Budget of the frame.",
            OVER_NS: Ns = "`frame_ns` minus `budget_ns`.",
            CAUSE: Word =
                "State on the critical path. `running`. `running_sibling_busy`: running while its SMT sibling was \
                 busy. `ready`: another thread ran on the CPU of its run queue, or what ran there is unknown. \
                 `wakeup_latency`: ready while that CPU was idle. `throttled`: kept from running by its cgroup's CPU \
                 quota. `blocked`, `exited` or `unknown`.",
            CORE_TYPE: Option<Word> = "Running: type of the cores; null if unknown.",
            QUEUED_BEHIND: Option<Thread> = "Ready: key of the thread that ran instead; null if unknown.",
            TIME_NS: Ns = "Time in this frame.",
            TYPICAL_NS: Ns = "Mean time in a typical frame; sums to the mean time of typical frames.",
            EXCESS_NS: Ns = "`time_ns` minus `typical_ns`; sums to the extra time compared with a typical frame.",
            SHARE: Option<Ratio> =
                "`excess_ns` as a share of that sum; negative if the cause took less time than in a typical frame.",
        }
    }
}

table! {
    /// The slowest periods, requests and parallel regions, by cause.
    SLOW_INTERVALS: slow_intervals {
        version: 2,
        made_from: Intervals,
        large: false,
        doc: "The slowest periods, requests and parallel regions (tables `periods`, `requests` and `parallel_regions`), and why: \
              the critical path from the begin of each to the end of its work (see the table `critical_path`), by cause and \
              thread, compared with that of typical ones of the same thread or name. Those that took longer than the median \
              are listed, ten of each thread or name (`--slowest`), and of each kind the 20 threads or names with the most \
              time in all, of the first 1000. The path leads to the end of the thread that does the work, or that arrived \
              last in the region. Its time on other threads is time in which the thread waited for them. Typical ones have \
              times nearest to the median: one in eight, nine at most. Only those that began and ended in the requested \
              range count.",
        key: [KIND, SERIES, RANK, CAUSE, CORE_TYPE, PATH_THREAD, QUEUED_BEHIND],
        columns: {
            KIND: Word = "`period`, `request` or `region`.",
            SERIES: Count = "Number of the thread or name; those of a kind with the most time in all come first.",
            RANK: Count = "Rank among those of the thread or name; 1 is the slowest.",
            THREAD: Option<Thread> =
                "The periodic thread, the thread that answered the request, or the last one to arrive in the region.",
            TID: Option<Tid> = "Its TID; null for a region.",
            NAME: Option<MarkName> = "Name of the region.",
            NUMBER: Count =
                "Its number in its table, among those of the TID or name, from 1: `--range period:TID#NUMBER` or \
                 `region:NAME#NUMBER` selects it.",
            START_NS: Start,
            END_NS: End,
            TOOK_NS: Ns = "Time from `start_ns` until its work was done; `time_ns` sums to it.",
            BEFORE_NS: Ns =
                "Time from `start_ns` until the thread was woken for the period, or was at work on the request; 0 for a region.",
            MEDIAN_NS: Ns = "Median of all of the thread or name; slightly more than it if there are very many different times.",
            OVER_NS: Ns = "`took_ns` minus `median_ns`.",
            CAUSE: Word = "State on the critical path, as in the table `slow_frames`.",
            CORE_TYPE: Option<Word> = "Running: type of the cores; null if unknown.",
            PATH_THREAD: Option<Thread> = "The thread on the path; null if unknown.",
            QUEUED_BEHIND: Option<Thread> = "Ready: key of the thread that ran instead; null if unknown.",
            TIME_NS: Ns = "Time in this one.",
            TYPICAL_NS: Ns = "Mean time in a typical one.",
            EXCESS_NS: Ns = "`time_ns` minus `typical_ns`.",
            SHARE: Option<Ratio> =
                "`excess_ns` as a share of the sum of all; negative if the cause took less time than in a typical one.",
        }
    }
}
