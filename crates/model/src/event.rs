//! The normalised events into which every source is read.
//!
//! An [`Event`] is small and `Copy`. Texts (thread names, masks, paths) are stored once per stream, in the [`Batch`] that uses
//! them first, and referenced by [`NameId`]. Traces have millions of events, so their size matters: a test limits it to
//! 64 bytes.

use crate::{
    CoreType, CpuId, EnergyDomain, EnergyUse, FrameTime, MaybeCount, MaybeNs, Ns, Pid, Present, Prio, StackFrame,
    StackId, Temperature, Tid,
};
use serde::{Deserialize, Serialize};
use std::num::NonZeroI32;

/// A text of a stream; 0 means not recorded. Ids count from 1 in the order of [`Batch::names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct NameId(pub u32);

impl NameId {
    /// The source did not say.
    pub const NONE: Self = Self(0);
}

/// An event: something that happened at an instant on a CPU.
///
/// ```
/// use model::{CpuId, Event, EventKind, NameId, Ns, Pid, Tid};
///
/// let event = |what| Event { at: Ns(7), offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what };
/// assert!(event(EventKind::Idle { state: 1 }).is_sample());
/// // The name of a thread is a fact, not something that happened at that time.
/// let name = EventKind::Name { tid: Tid(700), pid: Pid::UNKNOWN, name: NameId(1) };
/// assert!(!event(name).is_sample() && !event(name).is_dated());
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The time.
    pub at: Ns,
    /// The byte offset of the event in its source.
    pub offset: u64,
    /// The CPU on which it happened.
    pub cpu: CpuId,
    /// The task that this CPU ran when the event was recorded, if the event itself contains it (perf's tid, ftrace's
    /// `common_pid`, LTTng's context), never taken from other events; otherwise [`Tid::UNKNOWN`].
    pub current: Tid,
    /// The kind of event and its data.
    pub what: EventKind,
}

/// The kind of an event, and its data.
///
/// ```
/// use model::{CpuId, EventKind};
///
/// let events = [EventKind::Idle { state: 2 }, EventKind::Frequency { of: CpuId(1), khz: 800_000 }, EventKind::Sample];
/// let khz = events.iter().find_map(|what| match *what {
///     EventKind::Frequency { of: CpuId(1), khz } => Some(khz),
///     _ => None,
/// });
/// assert_eq!(khz, Some(800_000));
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum EventKind {
    /// The CPU switched from one thread to another.
    Switch(Switch),
    /// A thread was woken.
    Wake(Wake),
    /// A thread that is not running was moved to another CPU's run queue (`sched_migrate_task`).
    Migrate {
        /// The thread that was moved.
        tid: Tid,
        /// The CPU it left.
        from: CpuId,
        /// The CPU it moved to.
        to: CpuId,
    },
    /// A thread was created. Its thread instance begins later, with its `WakeKind::New`.
    Fork {
        /// The thread that created it.
        parent: Tid,
        /// The new thread.
        tid: Tid,
        /// Its process.
        pid: Pid,
        /// Its initial name.
        name: NameId,
    },
    /// A thread executed a new program and became the only thread of its process.
    Exec {
        /// The thread, with its TID after the exec.
        tid: Tid,
        /// Its process.
        pid: Pid,
        /// The file executed.
        file: NameId,
    },
    /// A thread began to exit (`sched_process_exit`); it may still run until its last switch-out.
    Exit {
        /// The thread.
        tid: Tid,
        /// Its process.
        pid: Pid,
    },
    /// The name and process of a thread. [`NameId::NONE`] keeps the name, [`Pid::UNKNOWN`] keeps the process. If another thread was
    /// current ([`Event::current`]), that thread created it, and a thread has the name of its creator until it gets its own.
    Name {
        /// The thread.
        tid: Tid,
        /// Its process, if recorded.
        pid: Pid,
        /// Its name.
        name: NameId,
    },
    /// The priority, policy and nice value of a thread from now on.
    Priority {
        /// The thread.
        tid: Tid,
        /// Its dynamic priority.
        prio: Prio,
        /// The `SCHED_*` policy number, if recorded.
        policy: Option<i8>,
        /// The nice value, −20 to 19, if recorded.
        nice: Option<i8>,
    },
    /// The priority of a thread changes because it holds a lock with priority inheritance: a thread that waits for the lock lends
    /// its priority, or no longer does (`sched_pi_setprio`).
    Inherit {
        /// The thread that holds the lock.
        tid: Tid,
        /// The priority from now on, and the thread that lends it.
        priority: InheritedPriority,
    },
    /// The CPUs a thread may use from now on.
    Affinity {
        /// The thread.
        tid: Tid,
        /// A kernel CPU list ("0-3,8"); none: unknown until the next such event.
        cpus: NameId,
    },
    /// The cgroup of a thread from now on.
    Cgroup {
        /// The thread.
        tid: Tid,
        /// The kernel's cgroup id (inode number of the v2 hierarchy).
        id: u64,
        /// Its path, if known.
        path: NameId,
    },
    /// A thread is throttled from now on, or no longer: its cgroup's CPU quota is used up, so it may not run.
    Throttle {
        /// The thread; `None` (with `begins` false): all threads; from now on, every change is recorded.
        tid: Option<Tid>,
        /// Whether it begins here.
        begins: bool,
    },
    /// A profiler interrupted a thread that ran on the event's CPU, and recorded where it was.
    CpuSample {
        /// The thread.
        tid: Tid,
        /// Its callchain, innermost frame first; of one frame if only the instruction pointer was recorded.
        stack: StackId,
        /// Its name at this time.
        name: NameId,
        /// The type of the core, if the source says it by the PMU that counted: the event may have no CPU. Otherwise
        /// [`CoreType::Uniform`].
        core: CoreType,
    },
    /// What an event of a CPU counted while one thread ran, from the reading before to this one.
    Count {
        /// The thread that ran; 0: idle, [`Tid::UNKNOWN`]: several did, because a switch between the readings was not recorded.
        tid: Tid,
        /// The event, as it was asked for.
        event: NameId,
        /// The time since the reading before. The event was enabled for this time.
        length: Ns,
        /// The count.
        count: i64,
        /// How long the event counted; less than `length` if it shared a counter with others (multiplexed).
        running: Ns,
    },
    /// What an event of a CPU has counted while a thread ran, from the last reading to a mark of that thread. It is a part of the
    /// [`EventKind::Count`] that follows, and is never added to it.
    CountAtMark {
        /// The thread.
        tid: Tid,
        /// The event, as it was asked for.
        event: NameId,
        /// The time since the last reading.
        length: Ns,
        /// The count.
        count: i64,
        /// How long the event counted.
        running: Ns,
    },
    /// A thread calls `sched_yield`, or returns from it. A switch-out between the two is voluntary.
    Yield {
        /// The thread.
        tid: Tid,
        /// Whether the call begins here.
        begins: bool,
    },
    /// The settings of a cgroup's CPU controller from now on.
    CgroupLimits {
        /// The cgroup's id: the inode number of its directory.
        id: u64,
        /// Its path, prefixed with `cpu:` in the CPU controller's own hierarchy (v1), to which the id belongs too.
        path: NameId,
        /// The CPU time that its threads may use in a period; [`MaybeNs::NONE`]: unlimited.
        quota: MaybeNs,
        /// The length of a period in ns; the kernel allows one second at most.
        period: u32,
        /// Its weight relative to its siblings, 100 by default; if recorded.
        weight: Option<u16>,
        /// The CPUs that it may use, as a kernel CPU list.
        cpus: NameId,
    },
    /// The quota statistics of a cgroup since its creation (`cpu.stat`).
    CgroupStat {
        /// The cgroup, as in [`EventKind::CgroupLimits`].
        id: u64,
        /// Periods in which it had runnable threads.
        periods: i64,
        /// Periods in which its quota was used up.
        throttled: i64,
        /// The time it was throttled, over all CPUs.
        time: Ns,
    },
    /// The scheduling attributes of a thread in addition to policy and nice value.
    SchedAttr {
        /// The thread.
        tid: Tid,
        /// Its own priority, without priority inheritance, if recorded.
        prio: Prio,
        /// The minimum utilisation clamp, of 1024 (the largest core's capacity), if recorded.
        uclamp_min: Option<u16>,
        /// The maximum utilisation clamp, if recorded.
        uclamp_max: Option<u16>,
    },
    /// The ideal CPU of a thread from now on: a hint, not a mask.
    IdealCpu {
        /// The thread.
        tid: Tid,
        /// `None`: no longer set.
        cpu: Option<CpuId>,
    },
    /// An entry of a snapshot of all threads, at the event's own time.
    Snapshot(SnapshotEntry),
    /// The TID of a thread in its own (innermost) PID namespace, if that is not the recorder's.
    Inner {
        /// The TID in the recorder's namespace.
        tid: Tid,
        /// The TID in the thread's own namespace.
        inner_tid: Tid,
        /// The PID in the thread's own namespace.
        inner_pid: Pid,
    },
    /// The task that the CPU ran at the event's time, as determined by the recorder (0 = idle).
    Current {
        /// The task.
        tid: Tid,
    },
    /// The CPU entered an idle state, or left it.
    Idle {
        /// The number of the idle state; −1 on leaving.
        state: i32,
    },
    /// The frequency of a CPU from now on.
    Frequency {
        /// The CPU (not always the one on which the event was recorded).
        of: CpuId,
        /// The frequency in kHz.
        khz: u32,
    },
    /// A CPU is parked from now on, or no longer: the scheduler places no threads there except those bound to it. Windows parks
    /// cores, Linux takes CPUs offline by hotplug, and some Android kernels isolate them.
    Parking {
        /// The CPU.
        of: CpuId,
        /// Whether it is parked.
        parked: bool,
    },
    /// An interrupt handler began or ended.
    Irq {
        /// The kind of interrupt.
        kind: IrqKind,
        /// The interrupt number or softirq vector.
        number: i32,
        /// Whether it begins here.
        begins: bool,
        /// The handler's name.
        name: NameId,
    },
    /// A request to a block device was issued or completed.
    Block {
        /// The task that was current when it was issued: usually the one that waits for it, but a kernel thread if the request was
        /// queued before or is a writeback. [`Tid::UNKNOWN`] for a completion, or if an interrupt issued it.
        tid: Tid,
        /// The request.
        request: BlockRequest,
    },
    /// The kernel charged a thread for running (`sched_stat_runtime`), since its last charge.
    Charge {
        /// The thread.
        tid: Tid,
        /// The CPU time.
        ns: Ns,
    },
    /// The steal time of this CPU since boot: the time that the hypervisor gave to others (`/proc/stat`).
    Steal {
        /// Cumulative.
        total: Ns,
    },
    /// A reading of another clock at the event's time, used to align the logs of other programs.
    Clock {
        /// The clock.
        which: Clock,
        /// Its value in ns (ticks for the TSC).
        reading: i64,
    },
    /// A program marked an instant, or the begin or end of a stretch (atrace, `trace_marker`, track events, ITT).
    Mark(Mark),
    /// The value of a counter of a program or the kernel from now on.
    Value {
        /// The process; [`Pid::UNKNOWN`]: none in particular.
        pid: Pid,
        /// The name of the counter, with its unit if the source has one.
        name: NameId,
        /// The value.
        value: f64,
    },
    /// A source of energy, and what is known of it from now on.
    EnergyDomain(EnergyDomain),
    /// What a domain used since the reading before. Both readings are those of a thread of the recorder, so the event has no CPU.
    Energy(EnergyUse),
    /// A reading of a sensor of temperature.
    Temperature(Temperature),
    /// A stretch of a frame's way to the screen began or ended.
    Frame(Frame),
    /// A program presented a frame, from a frame log.
    Present(Present),
    /// A measured time of a frame, from a frame log.
    FrameTime(FrameTime),
    /// The source reports that it lost events.
    Loss(LossSpan),
    /// Any other sample, which only shows that the recording was running at this time.
    Sample,
}

impl Event {
    /// Whether the event shows that the recording was running. Side-band records (names, forks from perf itself, losses, frame
    /// logs, energy, and program events and clock readings without a CPU) do not extend the recording.
    #[must_use]
    pub fn is_sample(&self) -> bool {
        match self.what {
            EventKind::Name { .. } | EventKind::Loss(_) | EventKind::Present(_) | EventKind::FrameTime(_) => false,
            EventKind::EnergyDomain(_) | EventKind::Energy(_) | EventKind::Temperature(_) => false,
            EventKind::Mark(_) | EventKind::Value { .. } | EventKind::Frame(_) | EventKind::Clock { .. } => {
                self.cpu != CpuId::UNKNOWN
            }
            _ => true,
        }
    }

    /// Whether it counts as an event of the source. Readers add the names of threads and losses to what a source has.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        !matches!(self.what, EventKind::Name { .. } | EventKind::Loss(_))
    }

    /// Whether the exact time of the event matters. Facts about threads apply from the time they are reported.
    #[must_use]
    pub fn is_dated(&self) -> bool {
        self.is_sample() || matches!(self.what, EventKind::Present(_) | EventKind::FrameTime(_))
    }
}

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

/// An instant, or the begin or end of a stretch, that a program marked. Stretches of one track nest: an end closes the last begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// The thread that it is about; [`Tid::UNKNOWN`] if the mark belongs to a process or to the machine.
    pub tid: Tid,
    /// Its process, if recorded.
    pub pid: Pid,
    /// 0: the thread's own track; otherwise a number from the source (the cookie of an asynchronous stretch, a track id).
    pub track: i64,
    /// The name that the program gave it; [`NameId::NONE`] for most ends.
    pub name: NameId,
    /// Whether it is a begin, an end or an instant.
    pub edge: MarkEdge,
}

/// Which part of a marked stretch a mark is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MarkEdge {
    /// The begin.
    Begin,
    /// The end.
    End,
    /// An instant.
    Instant,
}

/// A number that links the expected with the actual stretches of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FrameToken(pub i64);

impl FrameToken {
    /// The source did not say.
    pub const UNKNOWN: Self = Self(-1);
}

/// A stretch of a frame's way to the screen: Android's frame timeline, and the like from other systems.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Links begin and end.
    pub cookie: i64,
    /// Links expected and actual stretches.
    pub token: FrameToken,
    /// The process that draws or displays the frame.
    pub pid: Pid,
    /// The layer or window.
    pub layer: NameId,
    /// Which stretch of the frame.
    pub stretch: FrameStretch,
    /// Whether it begins here.
    pub begins: bool,
    /// Why it was late, in the source's bits, if recorded; 1: it was not late.
    pub jank: Option<NonZeroI32>,
}

/// The stretches of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FrameStretch {
    /// When the application was expected to draw it.
    ExpectedSurface,
    /// When the application drew it.
    ActualSurface,
    /// When the compositor was expected to display it.
    ExpectedDisplay,
    /// When the compositor displayed it.
    ActualDisplay,
}

/// Kinds of interrupt handler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum IrqKind {
    /// A device's or the timer's interrupt.
    Hard,
    /// A softirq vector.
    Soft,
    /// A timer that expired; its name is the function that it calls, if recorded. It has no number.
    Timer,
    /// An inter-processor interrupt; its name is the reason, if recorded. It has no number.
    Ipi,
}

/// The machine's clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_BOOTTIME`.
    Boottime,
    /// `CLOCK_REALTIME`, since 1970.
    Realtime,
    /// The time stamp counter; in ticks, not ns.
    Tsc,
    /// `sched_clock`, the default of perf and ftrace.
    Perf,
}

/// The priority of a thread that holds locks with priority inheritance, on the scale of [`EventKind::Priority`].
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

/// A request to a block device that was issued to its driver or completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockRequest {
    /// The device.
    pub device: Device,
    /// Its first sector, of 512 bytes; the rest of a partly completed request begins after the completed part.
    pub sector: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The operation.
    pub operation: BlockOperation,
    /// Whether it was completed; otherwise it was issued.
    pub done: bool,
}

/// A block device, by its number in the kernel.
///
/// ```
/// use model::Device;
///
/// let disk = Device::new(254, 0);
/// assert_eq!((disk.major(), disk.minor(), disk.to_string()), (254, 0, "254:0".to_owned()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Device(pub u32);

impl Device {
    /// The number of bits of the minor number (`MINORBITS`, include/linux/kdev_t.h).
    const MINOR_BITS: u32 = 20;

    /// Returns the device with these numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(major << Self::MINOR_BITS | minor & ((1 << Self::MINOR_BITS) - 1))
    }

    /// Returns the major number: the kind of device, by its driver.
    #[must_use]
    pub const fn major(self) -> u32 {
        self.0 >> Self::MINOR_BITS
    }

    /// Returns the minor number: the device or partition of that kind.
    #[must_use]
    pub const fn minor(self) -> u32 {
        self.0 & ((1 << Self::MINOR_BITS) - 1)
    }
}

impl std::fmt::Display for Device {
    /// Formats the device as `lsblk` does: `254:0`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

/// The operation of a request to a block device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum BlockOperation {
    /// Data is read.
    Read,
    /// Data is written.
    Write,
    /// The device's cache is written to its medium.
    Flush,
    /// The device may forget data.
    Discard,
    /// Anything else.
    Other,
}

impl BlockOperation {
    /// All operations.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Flush, Self::Discard, Self::Other];

    /// Returns the value in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::Other => "other",
        }
    }

    /// Returns the operation of an `rwbs` field as printed by the kernel (`blk_fill_rwbs`, block/blk-core.c): `WS` is a synchronous
    /// write, `FF` is a flush, `F` before other characters requests a flush as part of that request.
    #[must_use]
    pub fn from_rwbs(rwbs: &[u8]) -> Self {
        let after_flush = rwbs.strip_prefix(b"F").filter(|rest| !rest.is_empty()).unwrap_or(rwbs);
        match after_flush.first() {
            Some(b'R') => Self::Read,
            Some(b'W') => Self::Write,
            Some(b'F') => Self::Flush,
            Some(b'D') => Self::Discard,
            _ => Self::Other,
        }
    }
}

/// A loss of events. The event's own time is that of the first event after the loss.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LossSpan {
    /// The time of the last event that the buffer delivered before the loss, if there is one.
    pub from: MaybeNs,
    /// The time of the first event that it delivered after the loss, if there is one.
    pub to: MaybeNs,
    /// The CPU of the buffer; `None`: any CPU.
    pub cpu: Option<CpuId>,
    /// The number of lost events, if the source counts them.
    pub events: MaybeCount,
}

impl LossSpan {
    /// Returns its begin and end, limited to these times.
    #[must_use]
    pub fn within(&self, begin: Ns, end: Ns) -> (Ns, Ns) {
        let (from, to) = (self.from.get(), self.to.get());
        (from.map_or(begin, |from| from.max(begin)), to.map_or(end, |to| to.min(end)))
    }
}

/// A batch of events of one stream, and the texts that they use first.
///
/// ```
/// use model::{Batch, NameId, Stacks};
///
/// let with = |name: &str| Batch { names: vec![name.into()], ..Batch::default() };
/// let mut all = Stacks::default();
/// all.add(&with("redis-server"));
/// all.add(&with("kworker/0:1"));
/// // Each text is in the batch that uses it first, and keeps its id in later ones.
/// assert_eq!(all.name(NameId(2)), Some("kworker/0:1"));
/// assert_eq!(all.name(NameId::NONE), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events, in the order of the source.
    pub events: Vec<Event>,
    /// The new texts. The numbering continues from the stream's earlier batches: the first text of a stream is [`NameId`] 1.
    pub names: Vec<Box<str>>,
    /// The new callchains, innermost frame first, numbered like the texts.
    pub stacks: Vec<Box<[StackFrame]>>,
    /// What the reader dropped because it exceeds a limit.
    pub left_out: LeftOut,
    /// For how long events were not sampled; in the last batch of a stream.
    pub sampling_off: Vec<SamplingOff>,
}

/// How often and for how long the kernel stopped sampling an event, because its samples came faster than it allows
/// (`PERF_RECORD_THROTTLE`). Nothing is lost, but samples are missing where they were most frequent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SamplingOff {
    /// The event.
    pub event: String,
    /// The CPU, if the event was one of a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// The thread, if the event was one of a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<i32>,
    /// How often sampling stopped.
    pub times: u64,
    /// For how long, in ns: an upper bound, as the thread may have moved to a CPU on which it was sampled.
    pub off_ns: i64,
    /// How often it did not start again before the end of the recording.
    pub until_end: u64,
}

/// Counts of data that readers dropped because it exceeds a limit. The limits are far above what recordings contain.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LeftOut {
    /// Uses of texts that are missing.
    pub texts: u64,
    /// Uses of callchains that are missing or truncated.
    pub callchains: u64,
    /// Threads whose process was dropped.
    pub threads: u64,
    /// Entries of other tables: mappings, tracks, open frames, clocks.
    pub entries: u64,
}

impl LeftOut {
    /// Adds another count and resets it.
    pub fn take(&mut self, from: &mut Self) {
        let more = std::mem::take(from);
        self.texts += more.texts;
        self.callchains += more.callchains;
        self.threads += more.threads;
        self.entries += more.entries;
    }
}

impl Batch {
    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.names.clear();
        self.stacks.clear();
        self.left_out = LeftOut::default();
        self.sampling_off.clear();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn operations_from_rwbs() {
        use super::BlockOperation;
        let all = [("R", 0), ("RA", 0), ("WS", 1), ("FWFS", 1), ("FF", 2), ("D", 3), ("N", 4), ("", 4)];
        for (rwbs, at) in all {
            assert_eq!(BlockOperation::from_rwbs(rwbs.as_bytes()), BlockOperation::ALL[at], "{rwbs}");
        }
    }

    #[test]
    fn an_event_is_one_cache_line() {
        assert!(size_of::<super::Event>() <= 64, "{} bytes", size_of::<super::Event>());
    }
}
