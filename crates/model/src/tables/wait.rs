//! Waiting: for a CPU, behind whom, and what made a thread leave its CPU.

use super::columns::{CORE_TYPE, THREAD, TID, count, int, ns, text};
use crate::table::TableDef;

/// How long each thread ran and waited, and what was free while it waited for a CPU.
pub const READY_WAIT: TableDef = TableDef {
    name: "ready_wait",
    version: 5,
    doc: "How long and how often each thread ran, was ready and was blocked. Ready time is told twice, by how it began and by what \
          was free meanwhile, or that it was throttled: each sums to ready_ns. Free is an idle CPU on which the thread was allowed, and that was not parked as far as anybody told; of permission_unknown_ns, \
          while nobody told where that was, any idle one. Columns of ready time are null where the source has no wakings; blocked_ns \
          then holds the ready time that a waking would have begun. Counts are of what began within the time asked for, as far \
          as it is known: not what the recording began with, not what a snapshot may have shown (a thread's first stretch, if \
          it is blocked), nor what follows a reported loss with --strict-loss.",
    key: &["thread"],
    cols: &[
        THREAD,
        TID,
        ns("running_ns", "On a CPU."),
        count("running_count", "How often it came to a CPU."),
        ns("ready_ns", "Could run, but did not.").or_null(),
        count("ready_count", "How often it became ready.").or_null(),
        ns("max_ready_ns", "The longest single wait for a CPU, as far as it lies in the time asked for.").or_null(),
        ns(
            "ready_preempted_ns",
            "Ready since it was preempted: the kernel marks it so, or it was on its way back to user mode, which recordings by corewise \
             on x86-64 tell, and sources that have the calls of sched_yield.",
        )
        .or_null(),
        ns("ready_yielded_ns", "Ready since it called sched_yield, where the source tells that.").or_null(),
        ns("ready_throttled_ns", "Ready since it left as its cgroup's CPU quota was used up, where the source tells that.").or_null(),
        ns("ready_gave_way_ns", "Ready since it gave way, as a kernel thread, which never goes back to user mode.").or_null(),
        ns(
            "ready_unknown_ns",
            "Ready since another switch-out in a runnable state: the source does not tell whether it was preempted or yielded.",
        )
        .or_null(),
        ns("ready_woken_ns", "Ready since it was woken, or since it left its CPU, woken before it slept.").or_null(),
        ns("ready_new_ns", "Ready since its first waking.").or_null(),
        ns("ready_other_ns", "Ready since before a snapshot that shows it so.").or_null(),
        ns("no_cpu_free_ns", "Ready while every CPU ran a thread, or was parked and no place for it anyhow.").or_null(),
        ns(
            "free_other_type_ns",
            "Ready while no CPU of its run queue's core type was free, but one of another type was.",
        )
        .or_null(),
        ns(
            "free_same_type_ns",
            "Ready while its run queue's CPU was not free, and another of the same core type was.",
        )
        .or_null(),
        ns(
            "free_not_allowed_ns",
            "Ready while, of all that were not parked, none but CPUs where it was not allowed were idle; null where permission_unknown_ns is all of ready_ns.",
        )
        .or_null(),
        ns(
            "free_parked_ns",
            "Ready while, of the CPUs where it was allowed, none but parked ones ran no thread; null where nobody tells of \
             parking. Elsewhere this time is in the other columns.",
        )
        .or_null(),
        ns("wakeup_latency_ns", "Ready while the CPU of its own run queue was free.").or_null(),
        ns(
            "throttled_ns",
            "Ready while its cgroup's CPU quota held it, whatever was free; null where nobody tells: recordings by corewise do, \
             of Linux 6.18 and later. Elsewhere this time is in the other columns.",
        )
        .or_null(),
        ns(
            "free_unknown_ns",
            "Ready while nobody can say what was free: of a CPU that matters it is not known what it ran, or not on whose run \
             queue the thread was.",
        )
        .or_null(),
        ns(
            "permission_unknown_ns",
            "Of ready_ns, while nobody told on which CPUs the thread was allowed: recordings by corewise tell it of every thread \
             from their snapshot on (of changes within a second where they say that they look for them), traces of other \
             tools do not.",
        )
        .or_null(),
        ns("blocked_ns", "Waited for something."),
        count("blocked_count", "How often it began to wait for something."),
        ns("max_blocked_ns", "The longest single wait for something, as far as it lies in the time asked for."),
        ns("unknown_ns", "Nobody can say what it did."),
    ],
};

/// Who ran where a thread wanted to.
pub const READY_BY_THIEF: TableDef = TableDef {
    name: "ready_by_thief",
    version: 2,
    doc: "Who ran on the CPU on whose run queue a thread was ready. Over all rows of a thread the times sum to its ready time. No \
          rows where the source has no wakings.",
    key: &["thread", "behind", "thief", "thief_prio", "core_class"],
    cols: &[
        THREAD,
        TID,
        text(
            "behind",
            "thread: another thread ran there; idle: the CPU was idle, or parked; throttled: its cgroup's CPU quota held it, \
             whatever ran there (throttled_ns of the table ready_wait; where nobody tells that, such time is in the others); unknown: \
             nobody can say what ran there.",
        ),
        int(
            "thief",
            "",
            "The thread (key) that ran there; 0: the CPU was idle, or parked; null: throttled, or nobody can say.",
        )
        .or_null()
        .of_thread(),
        int("thief_tid", "", "The kernel's number of that thread.").or_null(),
        int("thief_prio", "", "Its dynamic priority on the kernel's scale, where told.").or_null(),
        int(
            "core_class",
            "",
            "Of the run queue's CPU, 0 = slowest class of the machine; null: nobody told on whose run queue it was.",
        )
        .or_null(),
        CORE_TYPE.or_null(),
        ns("ready_ns", "How long."),
    ],
};

/// What made each thread leave its CPU.
pub const SWITCH_CAUSES: TableDef = TableDef {
    name: "switch_causes",
    version: 3,
    doc: "What made each thread leave its CPU, how often, and what it did until its next change of state. Preempted for one of \
          higher priority, or (as when its time is up) for one of equal or lower priority: see next. Not counted is what the \
          recording began with, what a snapshot may have shown (a thread's first stretch, if it is blocked or exited), and \
          what follows a reported loss with --strict-loss.",
    key: &["thread", "cause", "letter", "reason", "next", "preemptor"],
    cols: &[
        THREAD,
        TID,
        text(
            "cause",
            "preempted: the kernel took its CPU. yielded: it called sched_yield. throttled: its cgroup's CPU quota was used up. gave_way: a \
             kernel thread, which no return to user mode can preempt. woken_before_sleep: it was about to wait. blocked, exited. \
             unknown: nobody can say; with the letter R it could still run, and was preempted or yielded.",
        ),
        text(
            "letter",
            "Blocked, exited: the kernel's letter of the state, where it is known. Unknown: R where it left its CPU while it could run.",
        )
        .or_null(),
        text(
            "reason",
            "Blocked, where callchains were recorded (record --stacks, perf record -g): the system call that waits (read, \
             futex), or page_fault; in a kernel thread the first function that is not the scheduler's. Null where the names \
             of the callchain do not tell: then the letter says all that is known.",
        )
        .or_null(),
        text(
            "next",
            "Where it could still run: who came next on that CPU: one of higher, equal or lower dynamic priority, or idle; null \
             where nobody can say.",
        )
        .or_null(),
        int(
            "preemptor",
            "",
            "Where it could still run: the thread (key) that took the CPU; 0: the CPU went idle; null: nobody can say.",
        )
        .or_null()
        .of_thread(),
        count("count", "How often."),
        ns("ready_ns", "Ready from then on; null where the source has no wakings.").or_null(),
        ns("blocked_ns", "Blocked from then on."),
        ns("unknown_ns", "Unknown from then on."),
    ],
};

/// Who ended each thread's waiting, and what that one did meanwhile.
pub const WAITS: TableDef = TableDef {
    name: "waits",
    version: 2,
    doc: "How often and for how long each thread was blocked until somebody woke it, by who did, and what that one did meanwhile: had \
          it run sooner, the wait might have been shorter. A wait that the time asked for cuts counts with what lies within, one \
          that lasts to its end not at all. No rows where the source has no wakings.",
    key: &["thread", "waker", "letter", "reason"],
    cols: &[
        THREAD,
        TID,
        int(
            "waker",
            "",
            "The thread (key) that ended the wait; 0: an interrupt (a device, a timer); null: not told.",
        )
        .or_null()
        .of_thread(),
        text("letter", "The kernel's letter of the state in which it waited, where it is known.").or_null(),
        text(
            "reason",
            "Where callchains were recorded: the system call that waits, or page_fault; in a kernel thread the first function that \
             is not the scheduler's. Null where the names of the callchain do not tell.",
        )
        .or_null(),
        count("waits", "How often."),
        count(
            "together",
            "Of waits, those that the waker ended with another thread's, as at a barrier: whom it woke before or next had not waited again \
             by then. Null without a waker.",
        )
        .or_null(),
        ns("blocked_ns", "For how long in all."),
        ns(
            "waker_running_ns",
            "Of blocked_ns, that in which the waker ran, as far as its last 32 stretches before the waking tell; null without a waker.",
        )
        .or_null(),
        ns("waker_preempted_ns", "That in which it was ready after it had left its CPU while it could run.").or_null(),
        ns("waker_ready_ns", "That in which it was ready for any other reason, as after a waking.").or_null(),
        ns("waker_blocked_ns", "That in which it waited itself.").or_null(),
    ],
};
