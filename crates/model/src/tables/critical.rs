//! Tables of the critical path: the chain of threads that determined when something ended.

use super::columns::{Address, CoreType, Count, End, FilePath, Int, Khz, Ns, Ratio, Start, Thread, Tid, Word};
use crate::column::table;

table! {
    /// The critical path, piece by piece.
    CRITICAL_PATH: critical_path {
        version: 3,
        made_from: CriticalPath,
        large: true,
        doc: "The critical path (Yang and Miller, 1988) to the end of the requested range: the chain of threads that \
              determined when the thread got there, piece by piece in order of time. The pieces tile the range. \
              Followed backwards from the end, the path stays with a thread while it runs and while it is ready. \
              Where another thread woke it, the path continues with that thread at the time of the wakeup, even if \
              this leads further back than the wait. A wait that was ended by an interrupt or by an unknown waker \
              stays on the path as blocked; but if the path came to its thread from one that it woke later, the path goes \
              on with that one: with what it did, or with the rest of its own wait. In sources without wakeup flags (see the table `wakers`), a wakeup by an \
              interrupt that hit a running thread is attributed to that thread. If no ready time follows a wakeup, \
              its waker is unknown. `--thread TID` selects the thread that the path ends with (the last instance of \
              that TID). By default, it is the first thread of the recorded program if it exits in the last twentieth of the range; otherwise \
              the thread that runs at the end, the one switched in last if there are \
              several, or the one that ran last if none runs: of the threads of the recorded program if that is \
              known and any of them ran, otherwise of all threads. No rows if no thread ran.",
        key: [START_NS],
        columns: {
            START_NS: Start,
            END_NS: End,
            THREAD: Thread,
            TID: Option<Tid>,
            STATE: Word =
                "`running`. `ready`: another thread ran on the CPU of its run queue, that CPU was parked, or what ran \
                 there is unknown. `wakeup_latency`: ready while that CPU was idle. `throttled`: ready, but its \
                 cgroup's CPU quota kept it from running. `blocked`: waiting (in a source without wakeups, until it \
                 ran again). `exited`. `unknown`; without a reason: before the thread instance began.",
            CPU: Option<Int> =
                "Running: the CPU it ran on. Ready, wakeup_latency and throttled: the CPU of its run queue, null if \
                 not recorded. Null otherwise.",
            CORE_TYPE: Option<CoreType>,
            SIBLING: Option<Word> =
                "Running: `busy` if another CPU of that core ran a thread, `idle` if none did, `unknown` if that is \
                 not known; null if the core has no known sibling.",
            FREQ_KHZ: Option<Khz> = "Running: the last reported frequency of that CPU; null if none was recorded.",
            QUEUED_BEHIND: Option<Thread> = "Ready: key of the thread that ran on the CPU of its run queue; null if unknown.",
            REASON: Option<Word> = "Cause of the state, as in the table `thread_state`.",
            WAKER: Option<Thread> =
                "Ready after a wakeup: key of the thread that woke it, from which the path comes. Blocked: key of the \
                 thread that ended the wait. 0: an interrupt; null if none or unknown.",
            PRIO: Option<Int> =
                "Dynamic priority on the kernel's scale (0–99 real time, 100–139 fair); null if not recorded.",
        }
    }
}

table! {
    /// The critical path, summed by thread.
    CRITICAL_BY_THREAD: critical_by_thread {
        version: 4,
        made_from: CriticalPath,
        large: false,
        doc: "How long each thread was on the critical path, and in which state: the table `critical_path` in sums, \
              longest first, and what the threads waited for before the path came to them. `path_ns` sums to the requested range.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Option<Tid>,
            PATH_NS: Ns = "Time on the path; the times below sum to it, except `sibling_busy_ns`.",
            SHARE: Ratio = "`path_ns` as a share of the requested range.",
            RUNNING_PERFORMANCE_NS: Ns = "On the path, running on a core of type performance.",
            RUNNING_MIDDLE_NS: Ns = "On the path, running on a core of type middle.",
            RUNNING_EFFICIENT_NS: Ns = "On the path, running on a core of type efficient.",
            RUNNING_LOW_POWER_NS: Ns = "On the path, running on a core of type low_power.",
            RUNNING_UNIFORM_NS: Ns =
                "On the path, running on a machine with one core class or none known, or on an unknown CPU.",
            SIBLING_BUSY_NS: Ns = "The part of its running time on the path in which an SMT sibling was busy.",
            READY_NS: Ns = "On the path, ready while another thread ran on the CPU of its run queue, or while what ran there is unknown.",
            WAKEUP_LATENCY_NS: Ns = "On the path, ready while the CPU of its run queue was idle.",
            THROTTLED_NS: Ns =
                "On the path, kept from running by its cgroup's CPU quota, if that is recorded; otherwise this time \
                 is in the two columns before.",
            BLOCKED_NS: Ns = "On the path, blocked.",
            EXITED_NS: Ns = "On the path, after its exit.",
            UNKNOWN_NS: Ns = "On the path, in an unknown state.",
            VISITS: Count = "How often the path came to this thread.",
            WAITED_NS: Option<Ns> =
                "How long it waited in its waits (table `object_waits`) that ended while the path was with it or came to it. During these waits the \
                 path is with the threads for which it waited. They count as far as they lie in the requested range. Null if the path changes threads more than a million times.",
            REASON: Option<Word> =
                "The system call in which it waited longest. This column and the next ones are about the waits in one call for one object that took \
                 longest together, as in the table `wait_objects`. Null if unknown.",
            KIND: Option<Word> = "What they were for, as in the table `wait_objects`, without `other`; null if there were none.",
            OBJECT: Option<Address> = "Which one, as in the table `wait_objects`; null if `kind` is unknown.",
            NAME: Option<FilePath> = "Its path, or its addresses, as in the table `wait_objects`.",
            OBJECT_NS: Option<Ns> = "The part of `waited_ns` in these waits.",
            HOLDER: Option<Thread> =
                "Of a lock, key of the thread that held it when they began; of several threads, the one of the longest waits. Null if unknown.",
            RELEASED_BY: Option<Thread> =
                "Key of the thread that ended them; of several threads, the one of the longest waits. 0: an interrupt, as at a timeout. Null if unknown.",
        }
    }
}

table! {
    /// Where the time of the objective went.
    OBJECTIVE_TIME: objective_time {
        version: 1,
        made_from: CriticalPath,
        large: false,
        doc: "Where the time of the objective went: its critical path (table `critical_path`) as a tree: the threads at its end, those for which these waited, and so on. A node is a role of threads \
              (of one program, with names that differ only by a number at the end) and what the threads of the node above waited for until one of these \
              woke them. The threads at the end of the path are in the node without a node above. All rows together sum to the path. Where a thread waited \
              for one that slept itself, until a timer or a device woke it, that time is in the node of the one that slept. It is \
              made for the objective that `corewise diagnose` chooses (another: `corewise table TRACE objective_time --objective`): of its periods, requests or marks the slow ones, and typical ones with which they are compared, or \
              the path to its end. Of a range, it is the path to its end. It has at most 2,000 nodes, to a depth of 16; further ones are joined. Of a path with more than 524,288 parts, the end is in nodes without one above.",
        key: [NODE, STATE, CORE_TYPE, QUEUED_BEHIND, REASON, KIND, OBJECT, NAME],
        columns: {
            NODE: Count = "Number of the node, from 1. Each comes after the one above.",
            ABOVE: Option<Count> = "The node whose threads waited; null at the end of the path.",
            THREAD: Thread = "Key of the thread; of several threads of the role, the one with the most time.",
            THREADS: Count = "Number of threads of the role that are in this node.",
            FOR_REASON: Option<Word> = "The system call in which those above waited, as in the table `wait_objects`; null if unknown.",
            FOR_KIND: Option<Word> =
                "What they waited for, as in the table `wait_objects`, without `other`. `start`: this thread created them. Of an epoll set, what became \
                 ready in it. Null at the end of the path, and if unknown.",
            FOR_OBJECT: Option<Address> = "Which one, as in the table `wait_objects`; null of kinds where each wait has its own.",
            FOR_PATH: Option<FilePath> = "Its path, or its addresses.",
            STATE: Word =
                "What the threads of the node did: `running`, `running_sibling_busy` (an SMT sibling ran too), `ready`, `wakeup_latency`, `throttled`, \
                 `blocked`, `exited`, `unknown`; as in the table `critical_path`.",
            CORE_TYPE: Option<CoreType> = "Running: the type of the core.",
            QUEUED_BEHIND: Option<Thread> = "Ready: a thread of the role that ran instead; null if unknown.",
            REASON: Option<Word> = "Blocked: the system call that waits, as in the table `wait_objects`.",
            KIND: Option<Word> = "Blocked: what it waits for.",
            OBJECT: Option<Address> = "Blocked: which one.",
            NAME: Option<FilePath> = "Blocked: its path, or its addresses.",
            SLOW_NS: Ns = "Time on the path in the slow windows, or on the whole path.",
            TYPICAL_NS: Ns = "Time on the path in the typical windows with which the slow ones are compared.",
            ALONE_NS: Ns = "The part of `slow_ns` in which no other thread ran; `corewise diagnose` leaves threads of other programs out.",
            IDLE_NS: Ns = "The idle time of the other CPUs during `slow_ns`, over all of them.",
            SLOW: Count = "Number of slow windows; 1 for the whole path.",
            TYPICAL: Count = "Number of typical windows.",
        }
    }
}
