//! The tables of counters (`corewise record --counters`).

use super::columns::{
    CoreType, Count, Cpu, Int, MarkName, MeanCount, Mhz, Ns, PerMicrosecond, Ratio, Thread, Tid, Word,
};
use crate::column::table;

table! {
    /// What each thread made the events of the CPUs count.
    THREAD_COUNTERS: thread_counters {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "What each event counted while a thread ran, by the type of the core and by what the SMT siblings did meanwhile. The CPUs' \
              events are read at every switch, so the counts are exact, not sampled. A count is of its core type only: the time \
              on the other types is not missing in it. If events took turns on the counters of a core, `count` is what was seen, and \
              `estimate` what that suggests for the whole time. No rows if no events were counted.",
        key: [THREAD, TID, COUNTER, CORE_TYPE, SIBLING],
        columns: {
            THREAD: Option<Thread> = "Key of the thread; null if the source has nothing but counts of it.",
            TID: Tid,
            COUNTER: Word = "The event, as `--counters` named it.",
            CORE_TYPE: CoreType,
            SIBLING: Option<Word> =
                "What the SMT siblings of the CPU did between the two readings: `idle` (all of them, all the time), `busy` (at \
                 least one, all the time), `mixed` (neither; such counts are never split), `unknown`, or `none`: it has none. Null \
                 if nothing was counted.",
            STATE: Word =
                "`counted`: all the time; `multiplexed`: only for a part of the time, because events took turns; `not_counted`: \
                 the thread ran, but the event never counted; `no_event`: this type of core does not have the event; \
                 `not_on_type`: the thread never ran on this type. A count of 0 in state `counted` is a real zero.",
            COUNT: Option<Count> = "What was counted; null if nothing could be.",
            ENABLED_NS: Ns = "Time between the readings, in which the thread ran.",
            COUNTED_NS: Ns = "The part of `enabled_ns` in which the event counted.",
            ESTIMATE: Option<MeanCount> =
                "The count for all of `enabled_ns`: `count` if the event counted all the time; else in proportion to the time. \
                 Null if it counted for less than 5 % of the time.",
            LOW: Option<MeanCount> =
                "Low end of the 95 % interval of `estimate`; null with it, and if there are too few readings for an interval.",
            HIGH: Option<MeanCount> = "High end of the interval.",
            DOUBT: Option<Word> =
                "Why the count cannot be right: more misses than accesses, no cycle or no instruction while the thread ran. Null if no rule \
                 contradicts it.",
        }
    }
}

table! {
    /// What the events of each CPU counted.
    CPU_COUNTERS: cpu_counters {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "What each event counted on each CPU: while threads ran, in the idle task, and while it is unknown which thread ran. The three \
              counts add up to that of the CPU. No rows if no events were counted.",
        key: [CPU, COUNTER],
        columns: {
            CPU: Cpu,
            CORE_TYPE: CoreType,
            COUNTER: Word = "The event, as `--counters` named it.",
            STATE: Word = "As in `thread_counters`: `counted`, `multiplexed`, `not_counted` or `no_event`.",
            COUNT: Option<Count> = "What was counted; null if nothing could be.",
            THREADS_COUNT: Option<Count> = "The part of `count` that was booked to threads: the sum of `thread_counters` for this CPU.",
            IDLE_COUNT: Option<Count> = "The part of `count` in the idle task, with the interrupts that it handled.",
            UNKNOWN_COUNT: Option<Count> =
                "The part of `count` for which it is unknown which thread ran, because the kernel did not deliver a switch.",
            ENABLED_NS: Ns = "Time between the readings.",
            COUNTED_NS: Ns = "The part of `enabled_ns` in which the event counted.",
            DOUBT: Option<Word> =
                "Why the count cannot be right or is missing: never counted, more misses than accesses, no cycle or no instruction while \
                 threads ran, a frequency above the CPU's maximum. Null if no rule contradicts it.",
        }
    }
}

table! {
    /// How fast each thread ran on each type of core.
    THREAD_IPC: thread_ipc {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "Instructions and cycles of each thread by the type of the core and by what the SMT siblings did, and the rates that follow. \
              Both counts are of the same intervals. No rows unless `instructions` and `cycles` were counted.",
        key: [THREAD, TID, CORE_TYPE, SIBLING],
        columns: {
            THREAD: Option<Thread> = "Key of the thread; null if the source has nothing but counts of it.",
            TID: Tid,
            CORE_TYPE: CoreType,
            SIBLING: Word = "`all`, or as in `thread_counters`.",
            INSTRUCTIONS: Count = "Instructions counted.",
            CYCLES: Count = "Cycles counted in the same intervals.",
            COUNTED_NS: Ns = "The time in which both counted.",
            ENABLED_NS: Ns = "The time between the readings.",
            IPC: Option<Ratio> = "Instructions per cycle; null if both counted for less than 5 % of the time, or no cycle.",
            IPC_LOW: Option<Ratio> =
                "Low end of the 95 % interval of `ipc`; equal to it if both counted all the time. Null with too few readings.",
            IPC_HIGH: Option<Ratio> = "High end of the interval.",
            CPI: Option<Ratio> = "Cycles per instruction; null if `ipc` is null or 0.",
            MIPS: Option<PerMicrosecond> = "Millions of instructions per second of running.",
            EFFECTIVE_MHZ: Option<Mhz> =
                "The mean frequency while the thread ran on this type: cycles divided by the time in which they were counted.",
            RELATIVE_IPS: Option<Ratio> =
                "`mips` relative to this thread's `mips` on the fastest type of core on which it ran. Of `all` only.",
            COVERAGE: Option<Ratio> =
                "The time in which both counted, over all types, as a share of the thread's running time. Of `all` only.",
            DOUBT: Option<Word> =
                "Why the row cannot be right: `effective_mhz` is more than 1 % above the maximum of the CPUs on which it was counted, or no \
                 cycle or no instruction was counted. Null if no rule contradicts it.",
        }
    }
}

table! {
    /// What the events counted within marked stretches.
    MARK_COUNTERS: mark_counters {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "What each event counted within the stretches that a thread marked, while that thread ran, by name and by the type of the \
              core. A nested stretch also counts for the stretches around it. The calls that `record --mark` marks read the events at \
              their begin and end, so their counts are exact, and include what the probes themselves count. For other marks, it is \
              unknown which part of the reading around the begin or the end belongs to the stretch: the counts have a range. No rows \
              if no events were counted.",
        key: [THREAD, PID, NAME, COUNTER, CORE_TYPE],
        columns: {
            THREAD: Option<Thread> = "Key of the thread that marked them.",
            PID: Option<Int> = "Process ID; null if not recorded.",
            NAME: Option<MarkName> = "Name that the program gave them.",
            COUNTER: Option<Word> = "The event, as `--counters` named it; null if nothing was counted in any stretch.",
            CORE_TYPE: Option<CoreType>,
            STRETCHES: Count = "Number of stretches in this row, on all types of core.",
            READ: Count = "How many of these have exact counts: the events were read at both ends, or the thread did not run there.",
            LEFT_OUT: Count =
                "Number of stretches that are not in this row: begin or end is outside the range or not recorded, or the reading around \
                 it belongs to no thread.",
            HOW: Option<Word> =
                "`read`: all stretches have exact counts; `estimate`: some have a range. Null if nothing was counted.",
            STATE: Word =
                "As in `thread_counters`: `counted`, `multiplexed`, `not_counted`, or `not_on_type`: the thread ran on this type, but \
                 not in these stretches.",
            COUNT: Option<Count> = "What was counted in the stretches; null if `how` is not `read`.",
            LOW: Option<MeanCount> =
                "At least so much was counted: without the readings around the begin and the end. If events took turns: the low end of the \
                 95 % interval, null with too few stretches for one, or if `how` is `estimate`.",
            ESTIMATE: Option<MeanCount> =
                "The count, with those readings in proportion to the time, and for all of `enabled_ns` if events took turns. Null if the \
                 event counted for less than 5 % of the time.",
            HIGH: Option<MeanCount> = "At most so much was counted: with all of those readings; or the high end of the interval.",
            ENABLED_NS: Ns =
                "The part of `running_ns` that is in readings of this thread, to some microseconds. What was counted in the rest is unknown and in no column.",
            COUNTED_NS: Ns = "The part of `enabled_ns` in which the event counted.",
            RUNNING_NS: Ns = "Time in which the thread ran on this type of core within the stretches.",
        }
    }
}
