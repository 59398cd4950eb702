//! Tables of waiting: for a CPU, which threads ran instead, context-switch causes, and waits for other threads.

use super::columns::{Bool, CoreType, Count, End, FilePath, FunctionName, Int, Ns, Start, Thread, Tid, Word};
use crate::column::table;

table! {
    /// Running and waiting time of each thread, and which CPUs were free while it waited for one.
    READY_WAIT: ready_wait {
        version: 6,
        made_from: Analysis,
        large: false,
        doc: "How long and how often each thread ran, was ready and was blocked. Ready time is split in two ways, by \
              how it began and by which CPUs were free meanwhile (or that the thread was throttled); each split sums \
              to `ready_ns`. A free CPU is an idle CPU on which the thread was allowed and which was not known to be \
              parked; while the thread's affinity is unknown (`permission_unknown_ns`), any idle CPU counts as free. \
              If the source has no wakeups, ready time is only the time after switch-outs in a runnable state (null \
              before version 6), and `blocked_ns` includes the ready time that a wakeup would have started. Counts \
              include what began in the requested range, as far as it is known. They exclude what the recording \
              began with, what a snapshot showed, and what follows a reported loss with `--strict-loss`.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            RUNNING_NS: Ns = "Time on a CPU.",
            RUNNING_COUNT: Count = "How often it was switched in.",
            READY_NS: Option<Ns> = "Time runnable but not running.",
            READY_COUNT: Option<Count> = "How often it became ready.",
            MAX_READY_NS: Option<Ns> = "The longest single wait for a CPU, as far as it lies in the requested range.",
            READY_PREEMPTED_NS: Option<Ns> =
                "Ready since it was preempted: the kernel marks the switch-out, or the thread was on its way back to \
                 user mode (recorded by corewise on x86-64, and by sources that record sched_yield calls).",
            READY_YIELDED_NS: Option<Ns> = "Ready since it called sched_yield, if the source records that.",
            READY_THROTTLED_NS: Option<Ns> =
                "Ready since it was switched out because its cgroup's CPU quota was used up, if the source records \
                 that.",
            READY_GAVE_WAY_NS: Option<Ns> =
                "Ready since it gave way, for a kernel thread, which never returns to user mode.",
            READY_UNKNOWN_NS: Option<Ns> =
                "Ready since another switch-out in a runnable state: whether it was preempted or yielded is not \
                 recorded.",
            READY_WOKEN_NS: Option<Ns> = "Ready since it was woken, or since it left its CPU, woken before it slept.",
            READY_NEW_NS: Option<Ns> = "Ready since its first wakeup.",
            READY_OTHER_NS: Option<Ns> = "Ready since before a snapshot that shows it as ready.",
            NO_CPU_FREE_NS: Option<Ns> = "Ready while every CPU either ran a thread or was parked and not usable.",
            FREE_OTHER_TYPE_NS: Option<Ns> =
                "Ready while no CPU of its run queue's core type was free, but one of another type was.",
            FREE_SAME_TYPE_NS: Option<Ns> =
                "Ready while its run queue's CPU was not free, but another CPU of the same core type was.",
            FREE_NOT_ALLOWED_NS: Option<Ns> =
                "Ready while the only idle CPUs that were not parked were CPUs on which it was not allowed; null if \
                 `permission_unknown_ns` is all of `ready_ns`.",
            FREE_PARKED_NS: Option<Ns> =
                "Ready while the only CPUs without a thread, of those on which it was allowed, were parked; null if \
                 parking was not recorded. This time is then in the other columns.",
            WAKEUP_LATENCY_NS: Option<Ns> = "Ready while the CPU of its own run queue was free.",
            THROTTLED_NS: Option<Ns> =
                "Ready while its cgroup's CPU quota kept it from running, whatever was free; null if not recorded \
                 (recordings by corewise on Linux 6.18 and later have it). This time is then in the other columns.",
            FREE_UNKNOWN_NS: Option<Ns> =
                "Ready while it is unknown which CPUs were free, because the state of a relevant CPU or the run queue \
                 of the thread is unknown.",
            PERMISSION_UNKNOWN_NS: Option<Ns> =
                "The part of `ready_ns` in which the affinity of the thread is unknown. Recordings by corewise have \
                 it for every thread from their snapshot on (changes within a second, if the trace says that corewise \
                 checked for them); traces of other tools do not.",
            BLOCKED_NS: Ns = "Time waiting for something other than a CPU.",
            BLOCKED_COUNT: Count = "How often it began to wait for something.",
            MAX_BLOCKED_NS: Ns = "The longest single wait for something, as far as it lies in the requested range.",
            UNKNOWN_NS: Ns = "Time in an unknown state.",
        }
    }
}

table! {
    /// When each thread was throttled.
    THROTTLED: throttled {
        version: 1,
        made_from: Analysis,
        large: true,
        doc: "Each time in which a thread was ready and its cgroup's CPU quota kept it from running, in the order of the ends. The times of \
              a thread sum to its `throttled_ns` in the table `ready_wait`; no rows if throttling was not recorded (recordings by corewise \
              on Linux 6.18 and later have it).",
        key: [THREAD, START_NS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            START_NS: Start,
            END_NS: End,
            THROTTLED_NS: Ns = "How long it was throttled, as far as it lies in the requested range.",
            WHOLE: Bool = "Whether begin and end lie in the requested range.",
        }
    }
}

table! {
    /// Which threads ran while a thread waited for a CPU.
    RAN_INSTEAD: ran_instead {
        version: 3,
        made_from: Analysis,
        large: false,
        doc: "Which threads ran on the CPU of the run queue on which a thread was ready. The times of all rows of a thread \
              sum to its ready time; if the source has no wakeups, to the ready time that is known (no rows before version 3).",
        key: [THREAD, QUEUED_BEHIND, RAN_INSTEAD, RAN_INSTEAD_PRIO, CORE_CLASS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            QUEUED_BEHIND: Word =
                "What the thread was queued behind. `thread`: another thread ran on the CPU. `idle`: the CPU was idle \
                 or parked. `throttled`: its cgroup's CPU quota kept it from running, whatever ran there \
                 (`throttled_ns` of the table `ready_wait`; if throttling was not recorded, this time is in the other \
                 rows). `unknown`: what ran there is unknown.",
            RAN_INSTEAD: Option<Thread> =
                "Key of the thread that ran instead; 0: the CPU was idle or parked; null if throttled or unknown.",
            RAN_INSTEAD_TID: Option<Tid> = "TID of the thread that ran instead; null if none did or it is unknown.",
            RAN_INSTEAD_PRIO: Option<Int> = "Dynamic priority of that thread on the kernel's scale; null if not recorded.",
            CORE_CLASS: Option<Int> =
                "Core class of the run queue's CPU, 0 is the slowest class of the machine; null if the run queue was \
                 not recorded.",
            CORE_TYPE: Option<CoreType>,
            READY_NS: Ns = "Time the thread was ready.",
        }
    }
}

table! {
    /// Context-switch causes of each thread.
    SWITCH_CAUSES: switch_causes {
        version: 5,
        made_from: Analysis,
        large: false,
        doc: "What made each thread leave its CPU, how often, and what it did until its next change of state. A \
              preemption is caused by a thread of higher priority, or (at the end of a time slice) by one of equal \
              or lower priority: see `next`. Not counted: what the recording began with, a switch at its first or \
              last instant, what a snapshot showed, and what follows a reported loss with `--strict-loss`.",
        key: [THREAD, CAUSE, STATE_LETTER, REASON, NEXT, PREEMPTOR],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CAUSE: Word =
                "`preempted`: the kernel took its CPU. `yielded`: it called sched_yield. `throttled`: its cgroup's \
                 CPU quota was used up. `gave_way`: a kernel thread, which no return to user mode can preempt. \
                 `woken_before_sleep`: it was about to wait. `blocked`, `exited`. `unknown`: not recorded, or contradicted by a \
                 later event; with the state letter R it was runnable, so it was preempted or yielded.",
            STATE_LETTER: Option<Word> =
                "Blocked and exited: the kernel's state letter, if known. Unknown: R if it left its CPU in a runnable \
                 state.",
            REASON: Option<Word> =
                "Blocked: the system call that waits (read, futex) or page_fault, for a kernel thread the first \
                 function outside the scheduler. Recorded by corewise on x86-64 and arm64 for programs, otherwise taken from \
                 callchains (`record --stacks`, `perf record -g`); null if neither shows it.",
            NEXT: Option<Word> =
                "Runnable: which thread ran next on that CPU, by dynamic priority: `higher`, `equal` or `lower`, or \
                 `idle`; null if unknown.",
            PREEMPTOR: Option<Thread> =
                "Runnable: key of the thread that took the CPU; 0: the CPU became idle; null if unknown.",
            COUNT: Count = "How often.",
            READY_NS: Ns = "Ready time that followed.",
            BLOCKED_NS: Ns =
                "Blocked time that followed; if the source has no wakeups, with the ready time after it.",
            UNKNOWN_NS: Ns = "Unknown time that followed.",
            CALL_SITE: Option<FunctionName> =
                "Blocked: where the program waited: the innermost function of its callchain that has a name and is not of the kernel, of a C library, \
                 or of the standard library or runtime of a language; of several, the one with the most blocked time. Null without callchains \
                 (`record --stacks`, `perf record -g`); each whole chain is in the event table `stack`.",
            SOURCE_FILE: Option<FilePath> =
                "Blocked: path of the source file of `call_site` (`record --stacks`, debug information); null if its lines are not known.",
            LINE: Option<Int> = "The line in it of the call; of several, the one with the most blocked time. Null without `source_file`.",
        }
    }
}

table! {
    /// Wakers that ended the waits of each thread, and what they did meanwhile.
    WAITS: waits {
        version: 4,
        made_from: Analysis,
        large: false,
        doc: "How often and for how long each thread was blocked until it was woken, by waker, and what the waker \
              did meanwhile: if the waker had run earlier, the wait might have been shorter. A wait that the begin \
              of the requested range cuts counts with the part inside; a wait that lasts to the end of the range is \
              not counted. No rows if the source has no wakeups.",
        key: [THREAD, WAKER, STATE_LETTER, REASON],
        columns: {
            THREAD: Thread,
            TID: Tid,
            WAKER: Option<Thread> =
                "Key of the thread that ended the wait; 0: an interrupt (device or timer); null if not recorded, or if \
                 the thread ran at the instant of its wakeup.",
            STATE_LETTER: Option<Word> = "The kernel's state letter of the wait; null if unknown.",
            REASON: Option<Word> =
                "The system call that waits, or page_fault, for a kernel thread the first function outside the \
                 scheduler, as in the table `switch_causes`; null if unknown.",
            WAITS: Count = "Number of waits.",
            WOKEN_TOGETHER: Option<Count> =
                "Number of `waits` that the waker ended together with another thread's, as at a barrier: between the two \
                 wakeups, it did not leave its CPU, and the thread that it woke first did not wait again. Null if `waker` is null.",
            BLOCKED_NS: Ns = "Total time of these waits.",
            WAKER_RUNNING_NS: Option<Ns> =
                "The part of `blocked_ns` in which the waker ran, as far as its last 32 stretches before the wakeup \
                 show; null if `waker` is null.",
            WAKER_PREEMPTED_NS: Option<Ns> =
                "The part of `blocked_ns` in which the waker was ready after it had left its CPU in a runnable state; \
                 null if `waker` is null.",
            WAKER_READY_NS: Option<Ns> =
                "The part of `blocked_ns` in which the waker was ready for any other reason, such as a wakeup; null \
                 if `waker` is null.",
            WAKER_BLOCKED_NS: Option<Ns> =
                "The part of `blocked_ns` in which the waker was blocked itself; null if `waker` is null.",
            CALL_SITE: Option<FunctionName> =
                "Where the program waited, as in the table `switch_causes`; of several functions, the one with the most blocked time.",
        }
    }
}
