//! The normalised events into which every source is read.
//!
//! An [`Event`] is small and `Copy`. Texts (thread names, masks, paths) are stored once per stream, in the [`Batch`] that uses
//! them first, and referenced by [`NameId`]. Traces have millions of events, so their size matters: a test limits it to
//! 64 bytes.

mod batch;
mod cells;
mod coded;
mod device;
mod kinds;
mod program;
mod sched;
mod waiting;

pub use batch::{Batch, LeftOut, LossSpan, SamplingOff};
pub use cells::{ReadCells, Storage, WriteCells};
pub use coded::{Coded, position};
pub use device::{BlockOperation, BlockRequest, Clock, Device, IrqKind};
pub use kinds::{EventColumn, EventTable, EventTableId, STACKS, ThreadNote};
pub use program::{Frame, FrameStretch, FrameToken, Mark, MarkEdge};
pub use sched::{Donor, InheritedPriority, SnapshotEntry, SnapshotState, Switch, SwitchOut, Wake, WakeKind};
pub use waiting::{FutexWait, ObjectWait, WaitKind};

use crate::{
    CoreType, CpuId, EnergyDomain, EnergyUse, FrameTime, MaybeNs, Ns, Pid, Present, Prio, StackId, Temperature, Tid,
};
use serde::{Deserialize, Serialize};

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

/// The kind of an event, and its data. `kinds.rs` declares the table of each kind, and with it how it is stored and exported.
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
    /// A thread leaves its CPU to wait in a futex call: follows its [`EventKind::Switch`], at the same time.
    FutexWait(FutexWait),
    /// A thread calls `futex()` with these arguments. What it waits for until [`EventKind::FutexReturn`] is the futex,
    /// and a thread that wakes another one meanwhile wakes this futex.
    FutexCall {
        /// The thread.
        tid: Tid,
        /// The address of the word, in its process.
        address: u64,
        /// The operation, with its flags.
        operation: u16,
        /// The value that the word has to have, or how many threads to wake.
        value: u32,
    },
    /// A thread returns from `futex()`.
    FutexReturn {
        /// The thread.
        tid: Tid,
    },
    /// A thread leaves its CPU to wait in a system call that names an object, or for a lock of the kernel: follows its
    /// [`EventKind::Switch`], at the same time.
    ObjectWait(ObjectWait),
    /// Of the descriptors in the epoll set for which a thread waits, one became ready, and ends the wait. Precedes its [`EventKind::Wake`], at
    /// the same time.
    ObjectReady {
        /// The thread that waits.
        tid: Tid,
        /// What became ready.
        kind: WaitKind,
        /// Which one, as in [`ObjectWait`].
        id: u64,
        /// Its name, as in [`ObjectWait`].
        name: NameId,
    },
    /// A thread that waits in a futex call is woken by a thread that does not wake that futex: by a signal, or by an exit. Precedes its
    /// [`EventKind::Wake`], at the same time. Without it, a thread that wakes it wakes the futex.
    WokenByCall {
        /// The thread that is woken.
        tid: Tid,
        /// The system call in which the waker is; none: it is in none.
        call: NameId,
        /// The first argument of that call.
        argument: u64,
    },
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
        /// The kernel's cgroup id: an inode number of the hierarchy that has the CPU controller (v2, or its own of v1).
        id: u64,
        /// Its path, if known; in v1 prefixed with `cpu:`.
        path: NameId,
    },
    /// A thread is throttled from now on, or no longer: its cgroup's CPU quota is used up, so it may not run.
    Throttle {
        /// The thread; `None` (with `begins` false): all threads; from now on, every change is recorded.
        tid: Option<Tid>,
        /// Whether it begins here.
        begins: bool,
    },
    /// A profiler interrupted a thread that ran on the event's CPU, and recorded where it was. A profiler of elapsed time also stops threads
    /// that wait; its events have no CPU and no current thread.
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

#[cfg(test)]
mod tests {
    #[test]
    fn an_event_is_one_cache_line() {
        assert!(size_of::<super::Event>() <= 64, "{} bytes", size_of::<super::Event>());
    }
}
