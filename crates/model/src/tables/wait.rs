//! Waiting: for a CPU, behind whom, and what made a thread leave its CPU.

use super::columns::{CoreType, Count, Int, Ns, Thread, Tid};
use crate::Text;
use crate::column::table;

table! {
    /// How long each thread ran and waited, and what was free while it waited for a CPU.
    READY_WAIT: ready_wait {
        version: 5,
        made_from: Analysis,
        large: false,
        doc: "How long and how often each thread ran, was ready and was blocked. Ready time is told twice, by how it began and by what \
              was free meanwhile, or that it was throttled: each sums to ready_ns. Free is an idle CPU on which the thread was allowed, and that was not parked as far as anybody told; of permission_unknown_ns, \
              while nobody told where that was, any idle one. Columns of ready time are null where the source has no wakings; blocked_ns \
              then holds the ready time that a waking would have begun. Counts are of what began within the time asked for, as far \
              as it is known: not what the recording began with, not what a snapshot may have shown (a thread's first stretch, if \
              it is blocked), nor what follows a reported loss with --strict-loss.",
        key: [THREAD],
        columns: {
            THREAD: Thread,
            TID: Tid,
            RUNNING_NS: Ns = "On a CPU.",
            RUNNING_COUNT: Count = "How often it came to a CPU.",
            READY_NS: Option<Ns> = "Could run, but did not.",
            READY_COUNT: Option<Count> = "How often it became ready.",
            MAX_READY_NS: Option<Ns> = "The longest single wait for a CPU, as far as it lies in the time asked for.",
            READY_PREEMPTED_NS: Option<Ns> =
                "Ready since it was preempted: the kernel marks it so, or it was on its way back to user mode, which recordings by corewise \
                 on x86-64 tell, and sources that have the calls of sched_yield.",
            READY_YIELDED_NS: Option<Ns> = "Ready since it called sched_yield, where the source tells that.",
            READY_THROTTLED_NS: Option<Ns> =
                "Ready since it left as its cgroup's CPU quota was used up, where the source tells that.",
            READY_GAVE_WAY_NS: Option<Ns> =
                "Ready since it gave way, as a kernel thread, which never goes back to user mode.",
            READY_UNKNOWN_NS: Option<Ns> =
                "Ready since another switch-out in a runnable state: the source does not tell whether it was preempted or yielded.",
            READY_WOKEN_NS: Option<Ns> = "Ready since it was woken, or since it left its CPU, woken before it slept.",
            READY_NEW_NS: Option<Ns> = "Ready since its first waking.",
            READY_OTHER_NS: Option<Ns> = "Ready since before a snapshot that shows it so.",
            NO_CPU_FREE_NS: Option<Ns> = "Ready while every CPU ran a thread, or was parked and no place for it anyhow.",
            FREE_OTHER_TYPE_NS: Option<Ns> =
                "Ready while no CPU of its run queue's core type was free, but one of another type was.",
            FREE_SAME_TYPE_NS: Option<Ns> =
                "Ready while its run queue's CPU was not free, and another of the same core type was.",
            FREE_NOT_ALLOWED_NS: Option<Ns> =
                "Ready while, of all that were not parked, none but CPUs where it was not allowed were idle; null where permission_unknown_ns is all of ready_ns.",
            FREE_PARKED_NS: Option<Ns> =
                "Ready while, of the CPUs where it was allowed, none but parked ones ran no thread; null where nobody tells of \
                 parking. Elsewhere this time is in the other columns.",
            WAKEUP_LATENCY_NS: Option<Ns> = "Ready while the CPU of its own run queue was free.",
            THROTTLED_NS: Option<Ns> =
                "Ready while its cgroup's CPU quota held it, whatever was free; null where nobody tells: recordings by corewise do, \
                 of Linux 6.18 and later. Elsewhere this time is in the other columns.",
            FREE_UNKNOWN_NS: Option<Ns> =
                "Ready while nobody can say what was free: of a CPU that matters it is not known what it ran, or not on whose run \
                 queue the thread was.",
            PERMISSION_UNKNOWN_NS: Option<Ns> =
                "Of ready_ns, while nobody told on which CPUs the thread was allowed: recordings by corewise tell it of every thread \
                 from their snapshot on (of changes within a second where they say that they look for them), traces of other \
                 tools do not.",
            BLOCKED_NS: Ns = "Waited for something.",
            BLOCKED_COUNT: Count = "How often it began to wait for something.",
            MAX_BLOCKED_NS: Ns = "The longest single wait for something, as far as it lies in the time asked for.",
            UNKNOWN_NS: Ns = "Nobody can say what it did.",
        }
    }
}

table! {
    /// Who ran where a thread wanted to.
    READY_BY_THIEF: ready_by_thief {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "Who ran on the CPU on whose run queue a thread was ready. Over all rows of a thread the times sum to its ready time. No \
              rows where the source has no wakings.",
        key: [THREAD, BEHIND, THIEF, THIEF_PRIO, CORE_CLASS],
        columns: {
            THREAD: Thread,
            TID: Tid,
            BEHIND: Text =
                "thread: another thread ran there; idle: the CPU was idle, or parked; throttled: its cgroup's CPU quota held it, \
                 whatever ran there (throttled_ns of the table ready_wait; where nobody tells that, such time is in the others); unknown: \
                 nobody can say what ran there.",
            THIEF: Option<Thread> =
                "The thread (key) that ran there; 0: the CPU was idle, or parked; null: throttled, or nobody can say.",
            THIEF_TID: Option<Int> = "The kernel's number of that thread.",
            THIEF_PRIO: Option<Int> = "Its dynamic priority on the kernel's scale, where told.",
            CORE_CLASS: Option<Int> =
                "Of the run queue's CPU, 0 = slowest class of the machine; null: nobody told on whose run queue it was.",
            CORE_TYPE: Option<CoreType>,
            READY_NS: Ns = "How long.",
        }
    }
}

table! {
    /// What made each thread leave its CPU.
    SWITCH_CAUSES: switch_causes {
        version: 3,
        made_from: Analysis,
        large: false,
        doc: "What made each thread leave its CPU, how often, and what it did until its next change of state. Preempted for one of \
              higher priority, or (as when its time is up) for one of equal or lower priority: see next. Not counted is what the \
              recording began with, what a snapshot may have shown (a thread's first stretch, if it is blocked or exited), and \
              what follows a reported loss with --strict-loss.",
        key: [THREAD, CAUSE, LETTER, REASON, NEXT, PREEMPTOR],
        columns: {
            THREAD: Thread,
            TID: Tid,
            CAUSE: Text =
                "preempted: the kernel took its CPU. yielded: it called sched_yield. throttled: its cgroup's CPU quota was used up. gave_way: a \
                 kernel thread, which no return to user mode can preempt. woken_before_sleep: it was about to wait. blocked, exited. \
                 unknown: nobody can say; with the letter R it could still run, and was preempted or yielded.",
            LETTER: Option<Text> =
                "Blocked, exited: the kernel's letter of the state, where it is known. Unknown: R where it left its CPU while it could run.",
            REASON: Option<Text> =
                "Blocked, where callchains were recorded (record --stacks, perf record -g): the system call that waits (read, \
                 futex), or page_fault; in a kernel thread the first function that is not the scheduler's. Null where the names \
                 of the callchain do not tell: then the letter says all that is known.",
            NEXT: Option<Text> =
                "Where it could still run: who came next on that CPU: one of higher, equal or lower dynamic priority, or idle; null \
                 where nobody can say.",
            PREEMPTOR: Option<Thread> =
                "Where it could still run: the thread (key) that took the CPU; 0: the CPU went idle; null: nobody can say.",
            COUNT: Count = "How often.",
            READY_NS: Option<Ns> = "Ready from then on; null where the source has no wakings.",
            BLOCKED_NS: Ns = "Blocked from then on.",
            UNKNOWN_NS: Ns = "Unknown from then on.",
        }
    }
}

table! {
    /// Who ended each thread's waiting, and what that one did meanwhile.
    WAITS: waits {
        version: 2,
        made_from: Analysis,
        large: false,
        doc: "How often and for how long each thread was blocked until somebody woke it, by who did, and what that one did meanwhile: had \
              it run sooner, the wait might have been shorter. A wait that the time asked for cuts counts with what lies within, one \
              that lasts to its end not at all. No rows where the source has no wakings.",
        key: [THREAD, WAKER, LETTER, REASON],
        columns: {
            THREAD: Thread,
            TID: Tid,
            WAKER: Option<Thread> =
                "The thread (key) that ended the wait; 0: an interrupt (a device, a timer); null: not told.",
            LETTER: Option<Text> = "The kernel's letter of the state in which it waited, where it is known.",
            REASON: Option<Text> =
                "Where callchains were recorded: the system call that waits, or page_fault; in a kernel thread the first function that \
                 is not the scheduler's. Null where the names of the callchain do not tell.",
            WAITS: Count = "How often.",
            TOGETHER: Option<Count> =
                "Of waits, those that the waker ended with another thread's, as at a barrier: whom it woke before or next had not waited again \
                 by then. Null without a waker.",
            BLOCKED_NS: Ns = "For how long in all.",
            WAKER_RUNNING_NS: Option<Ns> =
                "Of blocked_ns, that in which the waker ran, as far as its last 32 stretches before the waking tell; null without a waker.",
            WAKER_PREEMPTED_NS: Option<Ns> = "That in which it was ready after it had left its CPU while it could run.",
            WAKER_READY_NS: Option<Ns> = "That in which it was ready for any other reason, as after a waking.",
            WAKER_BLOCKED_NS: Option<Ns> = "That in which it waited itself.",
        }
    }
}
