//! At which priorities threads ran, and how they were set.

use super::columns::{Count, End, Int, Ns, Ratio, Start, Thread, Tid};
use crate::Text;
use crate::column::table;

table! {
    /// At which priorities threads ran and waited.
    PRIORITY_RESIDENCY: priority_residency {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran and was ready at each dynamic priority. A stretch counts at the priority that the source told \
              last before its end.",
        key: [THREAD, PRIO],
        columns: {
            THREAD: Thread,
            TID: Tid,
            PRIO: Option<Int> =
                "On the source's scale (Linux: 0–99 real time, 100–139 fair; lower is better); null where not told.",
            RUNNING_NS: Ns = "On a CPU.",
            READY_NS: Option<Ns> = "Could run, but did not; null where the source has no wakings.",
            SHARE: Option<Ratio> = "Of the thread's running time; null where it has none.",
        }
    }
}

table! {
    /// Which threads lent which their priority.
    PRIORITY_INHERITANCE: priority_inheritance {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "Which threads ran at a priority that another one lent them, and what they did meanwhile: the other one waited for a lock \
              of theirs, with priority inheritance (PTHREAD_PRIO_INHERIT). Of boosts that lent nothing better than the thread's own \
              priority there is no row. A boost that began before the recording is not seen. Among threads without a real-time \
              priority (100 and above) Linux lends the number alone: their shares follow their own nice values.",
        key: [THREAD, DONOR],
        columns: {
            THREAD: Thread,
            TID: Tid,
            DONOR: Option<Thread> = "The thread that lent its priority; null where it was not recorded: recordings by corewise have it.",
            OWN_PRIO: Int = "The thread's own priority meanwhile, the best if it changed (Linux: 0–99 real time, 100–139 fair).",
            INHERITED_PRIO: Int = "The best priority that it was lent.",
            BOOSTS: Count = "How often the donor began to lend within the time asked for.",
            BOOSTED_NS: Ns = "How long the priority was lent.",
            RUNNING_NS: Ns = "Of boosted_ns, it was on a CPU.",
            READY_NS: Option<Ns> = "It was ready, in spite of the priority lent; null where the source has no wakings.",
            BLOCKED_NS: Ns = "It was blocked itself.",
        }
    }
}

table! {
    /// Which classes of priority had the CPUs, over time.
    PRIORITY_CLASSES: priority_classes {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "CPU time by class of the priority of who ran, in twenty equal parts of the time: in each, the times sum to that of all CPUs. \
              By dynamic priority on Linux's scale, as it was told last before a stretch's end.",
        key: [START_NS],
        columns: {
            START_NS: Start,
            END_NS: End,
            DEADLINE_NS: Ns = "Threads of the deadline class ran (-1).",
            REAL_TIME_NS: Ns = "Real-time ones (0–99).",
            HIGH_NS: Ns = "Fair ones of a nice value below 0 (100–119).",
            NORMAL_NS: Ns = "Fair ones of nice 0 (120).",
            LOW_NS: Ns = "Fair ones of a nice value above 0 (121–139).",
            UNTOLD_NS: Ns = "Threads of which nobody told the priority.",
            IDLE_NS: Ns = "CPUs idled.",
            UNKNOWN_NS: Ns = "Nobody can say what CPUs did.",
        }
    }
}

table! {
    /// How threads were set to be scheduled.
    THREAD_SCHEDULING: thread_scheduling {
        version: 1,
        made_from: Analysis,
        large: true,
        doc: "How each thread was set to be scheduled, a row for each stretch of equal settings. Of time in which \
              nothing was told of a thread there is no row; what was told holds until something else is.",
        key: [THREAD, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            POLICY: Option<Text> = "other, fifo, rr, batch, idle, deadline or ext (Linux); null where not told.",
            NICE: Option<Int> = "−20 (most) to 19 (least); it counts among the threads of a cgroup, or of an autogroup.",
            STATIC_PRIO: Option<Int> =
                "Its own priority, without what a lock's waiters lend it: 0–98 real time, 100–139 fair (120 + nice), −1 deadline.",
            UCLAMP_MIN: Option<Int> = "Of 1024, the capacity that it asks for at least (sched_util_min).",
            UCLAMP_MAX: Option<Int> = "At most (sched_util_max).",
            CGROUP: Option<Text> = "The path of its cgroup; its number where no path was told.",
            CGROUP_WEIGHT: Option<Int> = "The share of that cgroup beside its siblings (cpu.weight), 100 by default.",
        }
    }
}

table! {
    /// Whether threads ran where it was said that they would best.
    IDEAL_CPU: ideal_cpu {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran on the CPU that it was told to be best on, near it, and elsewhere, as it was told at each time: \
              these sum to its running time. Threads of which it was never told have no row. Windows tells it (the ideal processor), Linux has \
              no such thing.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            IDEAL_NS: Ns = "On the ideal CPU.",
            SAME_CORE_NS: Ns = "On a sibling of it, on the same physical core.",
            SAME_L2_NS: Ns = "On another core that shares its L2 cache (of a cluster of cores).",
            SAME_L3_NS: Ns = "On another one that shares its L3 cache.",
            ELSEWHERE_NS: Ns = "On any other.",
            UNKNOWN_NS: Ns = "Before it was told, or where nobody tells what the two CPUs share.",
            SHARE: Option<Ratio> = "Of ideal_ns in its running time; null where it did not run.",
            NOT_ALLOWED_NS: Ns =
                "Of its running time, while the ideal CPU was none of those on which it is known to be allowed: what the scheduler then \
                 takes for it instead, nobody says.",
        }
    }
}
