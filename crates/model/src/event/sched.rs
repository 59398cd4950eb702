//! Switches, wakeups, rows of snapshots, and priorities that are lent.

use crate::{CpuId, MaybeNs, NameId, Ns, Pid, Prio, StackId, Tid};
use serde::{Deserialize, Serialize};

/// A context switch from `prev` to `next`. If the source records only one of them, the other is [`Tid::UNKNOWN`].
///
/// ```
/// use model::{MaybeNs, NameId, Prio, StackId, Switch, SwitchOut, Tid};
///
/// // Thread 700 waits for something, and the CPU becomes idle.
/// let switch = Switch {
///     prev: Tid(700), prev_name: NameId(1), prev_state: 1, prev_prio: Prio::new(120), prev_exec: MaybeNs::NONE,
///     next: Tid::IDLE, next_name: NameId::NONE, next_prio: Prio::new(120),
///     out: SwitchOut::Blocked, state_letter: b'S', stack: StackId::NONE,
/// };
/// assert!(!switch.out.is_runnable());
/// assert!(SwitchOut::Preempted.is_runnable());
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Switch {
    /// The thread switched out.
    pub prev: Tid,
    /// The thread switched in.
    pub next: Tid,
    /// The name of `prev`.
    pub prev_name: NameId,
    /// The name of `next`.
    pub next_name: NameId,
    /// The callchain of `prev`, if recorded.
    pub stack: StackId,
    /// The state number of `prev` as recorded by the source.
    pub prev_state: u32,
    /// The dynamic priority of `prev`.
    pub prev_prio: Prio,
    /// The dynamic priority of `next`.
    pub next_prio: Prio,
    /// The meaning of the state number in the source's format.
    pub out: SwitchOut,
    /// The state letter (`R`, `S`, `D`, …), `?` if it has none.
    pub state_letter: u8,
    /// The CPU time charged to `prev` since its creation (`se.sum_exec_runtime`), if recorded.
    pub prev_exec: MaybeNs,
}

/// The state in which a thread is switched out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SwitchOut {
    /// R: runnable, and the cause of the switch-out was not recorded. It was preempted on its way back to user mode, called
    /// `sched_yield`, was woken before it slept, is a kernel thread that gave way, or is throttled.
    Runnable,
    /// R+: preempted while runnable.
    Preempted,
    /// R: preempted on its way back to user mode, which the kernel does not mark.
    PreemptedToUser,
    /// R: it called `sched_yield`.
    Yielded,
    /// R or R+: its cgroup's CPU quota is used up.
    Throttled,
    /// R: a kernel thread, which never returns to user mode. It gave way, or was woken before it slept.
    GaveWay,
    /// It waits for something other than a CPU.
    Blocked,
    /// X or Z: it will not run again.
    Exited,
    /// The state was not recorded (PERF_RECORD_SWITCH before Linux 4.17).
    NotRecorded,
}

impl SwitchOut {
    /// Whether the thread is runnable: the kernel counts these switch-outs as involuntary.
    #[must_use]
    #[inline]
    pub fn is_runnable(self) -> bool {
        match self {
            Self::Runnable
            | Self::Preempted
            | Self::PreemptedToUser
            | Self::Yielded
            | Self::Throttled
            | Self::GaveWay => true,
            Self::Blocked | Self::Exited | Self::NotRecorded => false,
        }
    }
}

/// A wakeup of a thread.
///
/// ```
/// use model::{CpuId, Event, EventKind, NameId, Ns, Prio, Tid, Wake, WakeKind};
///
/// // A wakeup at 5 ns that was recorded with the switch-in at 9 ns.
/// let (kind, target, stamp) = (WakeKind::WakeupAtSwitchIn, Some(CpuId(0)), Ns(5));
/// let wake = Wake { tid: Tid(700), name: NameId::NONE, kind, target, waker: Tid::UNKNOWN, prio: Prio::UNKNOWN, stamp };
/// let event = Event { at: Ns(9), offset: 0, cpu: CpuId(0), current: Tid(700), what: EventKind::Wake(wake) };
/// assert_eq!(event.at - wake.stamp, Ns(4));
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wake {
    /// The thread that was woken.
    pub tid: Tid,
    /// Its name, if recorded.
    pub name: NameId,
    /// Which of the kernel's wakeup events.
    pub kind: WakeKind,
    /// The CPU chosen for it; `None` if not recorded.
    pub target: Option<CpuId>,
    /// The task that was current where the wakeup was issued, but [`Tid::IDLE`] if the source marks it as issued by an interrupt,
    /// which has nothing to do with the current task; [`Tid::UNKNOWN`] if not recorded.
    pub waker: Tid,
    /// Its dynamic priority.
    pub prio: Prio,
    /// The time of the wakeup: the event's time, except for [`WakeKind::WakeupAtSwitchIn`].
    pub stamp: Ns,
}

/// The kernel's wakeup events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WakeKind {
    /// `sched_waking`: on the waker's CPU, before the target is chosen.
    Waking,
    /// `sched_wakeup`: the thread is on its run queue.
    Wakeup,
    /// `sched_wakeup_new`: the first wakeup of a new thread.
    New,
    /// A `sched_wakeup` recorded with the switch-in that followed it: `stamp` is its own time, the event's time is that of the
    /// switch. It changes no state.
    WakeupAtSwitchIn,
}

/// An entry of a snapshot of all threads.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SnapshotEntry {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub pid: Pid,
    /// Its name.
    pub name: NameId,
    /// Its state.
    pub state: SnapshotState,
    /// The state letter.
    pub state_letter: u8,
    /// The CPU it ran on, now or last.
    pub cpu: CpuId,
    /// The CPU time charged to it since its creation, if recorded.
    pub exec: MaybeNs,
}

/// The state of a thread in a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SnapshotState {
    /// On its CPU.
    Running,
    /// Runnable, on a run queue.
    Ready,
    /// Waiting.
    Blocked,
    /// Exited, or about to be reaped.
    Exited,
}

/// The priority of a thread that holds locks with priority inheritance, on the scale of [`crate::EventKind::Priority`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InheritedPriority {
    /// The thread that lends it.
    pub donor: Donor,
    /// The priority until now.
    pub old_prio: Prio,
    /// The priority from now on: the better one of its own and the donor's.
    pub prio: Prio,
}

/// The thread that lends its priority: the first in the queue of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Donor {
    /// The source does not record it.
    NotRecorded,
    /// No thread any more.
    None,
    /// This thread.
    Thread(Tid),
}
