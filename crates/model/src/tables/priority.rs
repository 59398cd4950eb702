//! Tables of priorities and scheduling settings.

use super::columns::{Count, End, FilePath, Int, Ns, Ratio, Start, Thread, Tid, Word};
use crate::column::table;

table! {
    /// Running and ready time by priority.
    PRIORITY_RESIDENCY: priority_residency {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran and was ready at each dynamic priority. A stretch counts for the last \
              priority recorded before its end.",
        key: [THREAD, PRIO],
        columns: {
            THREAD: Thread,
            TID: Tid,
            PRIO: Option<Int> =
                "Dynamic priority on the source's scale (Linux: 0–99 real time, 100–139 fair; lower is better); null \
                 if not recorded.",
            RUNNING_NS: Ns = "Time on a CPU.",
            READY_NS: Ns = "Time runnable but not running; if the source has no wakeups, a lower bound.",
            SHARE: Option<Ratio> = "Share of the thread's running time; null if it did not run.",
        }
    }
}

table! {
    /// Inherited priorities.
    PRIORITY_INHERITANCE: priority_inheritance {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "Which threads had a priority inherited from another thread, and what they did meanwhile: the other \
              thread waited for a lock of theirs that has priority inheritance (PTHREAD_PRIO_INHERIT). Boosts that \
              gave no better priority than the thread's own have no row. Boosts that began before the recording are \
              not recorded. For threads without a real-time priority (100 and above), Linux inherits only the \
              number: their CPU shares follow their own nice values.",
        key: [THREAD, DONOR],
        columns: {
            THREAD: Thread,
            TID: Tid,
            DONOR: Option<Thread> =
                "Key of the thread that lent its priority; null if not recorded (recordings by corewise have it).",
            OWN_PRIO: Int =
                "The thread's own priority meanwhile, the best one if it changed (Linux: 0–99 real time, 100–139 \
                 fair).",
            INHERITED_PRIO: Int = "The best priority that it inherited.",
            BOOSTS: Count = "Number of boosts by the donor that began in the requested range.",
            BOOSTED_NS: Ns = "Time with an inherited priority.",
            RUNNING_NS: Ns = "The part of `boosted_ns` on a CPU.",
            READY_NS: Ns =
                "The part of `boosted_ns` in which it was ready, in spite of the inherited priority; if the source has \
                 no wakeups, a lower bound.",
            BLOCKED_NS: Ns =
                "The part of `boosted_ns` in which it was blocked itself; if the source has no wakeups, an upper bound.",
        }
    }
}

table! {
    /// CPU time by priority class, over time.
    PRIORITY_CLASSES: priority_classes {
        version: 1,
        made_from: Analysis,
        large: false,
        doc: "CPU time by priority class of the threads that ran, in twenty equal intervals of the requested range; \
              in each interval, the times sum to the time of all CPUs. Classes follow the dynamic priority on \
              Linux's scale, as last recorded before the end of a stretch.",
        key: [START_NS],
        columns: {
            START_NS: Start,
            END_NS: End,
            DEADLINE_NS: Ns = "CPU time of threads of the deadline class (−1).",
            REAL_TIME_NS: Ns = "CPU time of real-time threads (0–99).",
            HIGH_NS: Ns = "CPU time of fair threads with a nice value below 0 (100–119).",
            NORMAL_NS: Ns = "CPU time of fair threads with nice value 0 (120).",
            LOW_NS: Ns = "CPU time of fair threads with a nice value above 0 (121–139).",
            NOT_RECORDED_NS: Ns = "CPU time of threads whose priority was not recorded.",
            IDLE_NS: Ns = "Idle CPU time.",
            UNKNOWN_NS: Ns = "CPU time in an unknown state.",
        }
    }
}

table! {
    /// Scheduling settings of threads.
    THREAD_SCHEDULING: thread_scheduling {
        version: 2,
        made_from: Analysis,
        large: true,
        doc: "Scheduling settings of each thread: a row for each stretch of equal settings. Time in which no setting \
              is known has no row. A setting holds until another one is recorded.",
        key: [THREAD, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            POLICY: Option<Word> =
                "`other`, `fifo`, `rr`, `batch`, `idle`, `deadline` or `ext` (Linux); null if not recorded.",
            NICE: Option<Int> =
                "Nice value, −20 (highest share) to 19 (lowest), relative to the threads of the same cgroup or \
                 autogroup; null if not recorded.",
            STATIC_PRIO: Option<Int> =
                "The thread's own priority, without priority inheritance: 0–98 real time, 100–139 fair (120 + nice), \
                 −1 deadline; null if not recorded.",
            UCLAMP_MIN: Option<Int> = "Minimum utilisation clamp (sched_util_min), of 1024; null if not recorded.",
            UCLAMP_MAX: Option<Int> = "Maximum utilisation clamp (sched_util_max), of 1024; null if not recorded.",
            CGROUP: Option<FilePath> =
                "Path of its cgroup, or the id if the path was not recorded; null if neither was. With the prefix `cpu:`, the \
                 path is in the hierarchy of the CPU controller (cgroup v1).",
            CGROUP_WEIGHT: Option<Int> =
                "CPU weight of that cgroup relative to its siblings (cpu.weight), 100 by default; null if not \
                 recorded.",
            CGROUP_QUOTA_NS: Option<Ns> =
                "CPU time that the threads of that cgroup may use in a period (cpu.max, cpu.cfs_quota_us); null if it is \
                 not limited or not recorded. A cgroup that contains it may have a lower one.",
            CGROUP_PERIOD_NS: Option<Ns> =
                "Length of that period; null if not recorded.",
        }
    }
}

table! {
    /// Running time on and near the ideal CPU of each thread.
    IDEAL_CPU: ideal_cpu {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "How long each thread ran on its ideal CPU, on CPUs near it, and elsewhere, by the setting at each \
              time; these times sum to its running time. Threads without a recorded ideal CPU have no row. Windows \
              records it (the ideal processor); Linux does not have one.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            IDEAL_NS: Ns = "Time on the ideal CPU.",
            SAME_CORE_NS: Ns = "Time on an SMT sibling on the same physical core.",
            SAME_L2_NS: Ns = "Time on another core that shares its L2 cache (of a cluster of cores).",
            SAME_L3_NS: Ns = "Time on another core that shares its L3 cache.",
            ELSEWHERE_NS: Ns = "Time on any other CPU.",
            UNKNOWN_NS: Ns =
                "Running time before the ideal CPU was recorded, or while it is unknown what the two CPUs share.",
            SHARE: Option<Ratio> = "`ideal_ns` as a share of the running time; null if the thread did not run.",
            NOT_ALLOWED_NS: Ns =
                "The part of its running time in which the ideal CPU was not among the CPUs on which it is known to \
                 be allowed. Which CPU the scheduler prefers instead is not recorded.",
        }
    }
}
