//! What happened: the normalised events that every source is read into.
//!
//! An [`Event`] is small and `Copy`; texts (thread names, masks, paths) stand once per stream in the [`Batch`] that first
//! uses them and are named by [`NameId`]. 4 million events pass through here in a fraction of a second, so the layout
//! matters: a test holds the size at 64 bytes.

use crate::{CpuId, FrameTime, MaybeCount, MaybeNs, Ns, Pid, Present, Prio, StackFrame, StackId, Tid};
use serde::{Deserialize, Serialize};
use std::num::NonZeroI32;

/// A text of this stream; 0 is "not told". Ids count from 1 in the order of [`Batch::names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct NameId(pub u32);

impl NameId {
    /// The source did not say.
    pub const NONE: Self = Self(0);
}

/// Something that happened at an instant on a CPU.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Ns,
    /// Where in its source the event was read: a byte offset.
    pub offset: u64,
    /// On which CPU.
    pub cpu: CpuId,
    /// The task that this CPU ran when the event was recorded, where the event itself tells it (perf's tid, ftrace's
    /// `common_pid`, LTTng's context); never what another event says of it. [`Tid::UNKNOWN`]: it does not.
    pub current: Tid,
    /// What.
    pub what: What,
}

/// The kinds of event.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum What {
    /// The CPU left one thread for another.
    Switch(Switch),
    /// A thread was woken.
    Wake(Wake),
    /// A thread that does not run was moved to another CPU's run queue (`sched_migrate_task`).
    Migrate {
        /// The thread moved.
        tid: Tid,
        /// The CPU it left.
        from: CpuId,
        /// The CPU it goes to.
        to: CpuId,
    },
    /// A thread was made. Not the begin of its life: that is its `WakeKind::New`.
    Fork {
        /// Who made it.
        parent: Tid,
        /// The new thread.
        tid: Tid,
        /// Its process.
        pid: Pid,
        /// Its name at birth.
        name: NameId,
    },
    /// A thread became the only one of its process with a new program.
    Exec {
        /// The thread, its number after the exec.
        tid: Tid,
        /// Its process.
        pid: Pid,
        /// The file executed.
        file: NameId,
    },
    /// A thread began to end (`sched_process_exit`); it may still run until its last switch-out.
    Exit {
        /// The thread.
        tid: Tid,
        /// Its process.
        pid: Pid,
    },
    /// What a thread is called, and in which process it is. [`NameId::NONE`] keeps the name, [`Pid::UNKNOWN`] the process.
    Name {
        /// The thread.
        tid: Tid,
        /// Its process, where told.
        pid: Pid,
        /// Its name.
        name: NameId,
    },
    /// A thread's priority, policy and nice value are these from now on.
    Priority {
        /// The thread.
        tid: Tid,
        /// Its dynamic priority.
        prio: Prio,
        /// `SCHED_*` policy number, where told.
        policy: Option<i8>,
        /// Nice value, −20 to 19, where told.
        nice: Option<i8>,
    },
    /// A thread's priority is another one from now on since it holds a lock with priority inheritance: a thread that waits for the
    /// lock lends it its own, or no longer (`sched_pi_setprio`).
    Inherit {
        /// The thread that holds the lock.
        tid: Tid,
        /// Which priority it has, and which thread lends it.
        priority: InheritedPriority,
    },
    /// The CPUs a thread may use from now on.
    Affinity {
        /// The thread.
        tid: Tid,
        /// As a kernel CPU list ("0-3,8"); none: not known until it is told again.
        cpus: NameId,
    },
    /// A thread is in this cgroup from now on.
    Cgroup {
        /// The thread.
        tid: Tid,
        /// The kernel's cgroup id (inode number of the v2 hierarchy).
        id: u64,
        /// Its path, where known.
        path: NameId,
    },
    /// A thread is throttled from now on, or no longer: its cgroup's CPU quota is used up, and it must not run.
    Throttle {
        /// The thread; `None`: all of them, with `begins` false; from here on every change is told.
        tid: Option<Tid>,
        /// Whether it begins here.
        begins: bool,
    },
    /// A thread calls `sched_yield`, or returns from it. A switch-out between the two is of its own doing.
    Yield {
        /// The thread.
        tid: Tid,
        /// Whether the call begins here.
        begins: bool,
    },
    /// What a cgroup's CPU controller is set to from now on.
    CgroupLimits {
        /// The cgroup's id: its folder's inode number.
        id: u64,
        /// Its path; behind `cpu:` in the CPU controller's own hierarchy (v1), where the id counts too.
        path: NameId,
        /// How long its threads may run in a period; [`MaybeNs::NONE`]: as long as they want.
        quota: MaybeNs,
        /// How long a period is, ns: the kernel allows a second at most.
        period: u32,
        /// Its share beside its siblings, 100 by default; where told.
        weight: Option<u16>,
        /// The CPUs that it may use, as a kernel CPU list.
        cpus: NameId,
    },
    /// What the kernel counted of a cgroup's quota since it was made (`cpu.stat`).
    CgroupStat {
        /// The cgroup, as in [`What::CgroupLimits`].
        id: u64,
        /// Periods in which it had something to run.
        periods: i64,
        /// Those in which its quota was used up.
        throttled: i64,
        /// For how long it was, over all CPUs.
        time: Ns,
    },
    /// What a thread is set to beside policy and nice value.
    SchedAttr {
        /// The thread.
        tid: Tid,
        /// Its own priority, without what a lock's waiters lend it, where told.
        prio: Prio,
        /// How much of the largest core's capacity it asks for at least, of 1024; where told.
        uclamp_min: Option<u16>,
        /// At most.
        uclamp_max: Option<u16>,
    },
    /// A thread would best run on this CPU from now on: a hint, no mask.
    IdealCpu {
        /// The thread.
        tid: Tid,
        /// `None`: none any more.
        cpu: Option<CpuId>,
    },
    /// A row of a snapshot of all threads: what the recorder saw, at the event's own time.
    Seen(Seen),
    /// A thread's number in its own (innermost) pid namespace, where that differs from the recorder's.
    Inner {
        /// The thread, as the recorder numbers it.
        tid: Tid,
        /// The thread, as it numbers itself.
        inner_tid: Tid,
        /// Its process, as it numbers itself.
        inner_pid: Pid,
    },
    /// The task that the CPU ran at the event's time, as the recorder saw it (0 = idle).
    Current {
        /// The task.
        tid: Tid,
    },
    /// The CPU entered an idle state, or left it.
    Idle {
        /// The state's number; −1 on leaving.
        state: i32,
    },
    /// A CPU's frequency is this from now on.
    Frequency {
        /// The CPU meant (not always the one the event was written on).
        of: CpuId,
        /// Kilohertz.
        khz: u32,
    },
    /// A CPU is parked from now on, or no longer: the scheduler puts no threads there but those bound to it. Windows parks cores;
    /// Linux takes CPUs away by hotplug, some Android kernels by isolation.
    Parking {
        /// The CPU meant.
        of: CpuId,
        /// Whether it is.
        parked: bool,
    },
    /// An interrupt handler began or ended.
    Irq {
        /// Hard, soft or other.
        kind: IrqKind,
        /// Interrupt number or softirq vector.
        number: i32,
        /// Whether it begins here.
        begins: bool,
        /// The handler's name.
        name: NameId,
    },
    /// A request to a block device was issued or is done.
    Block {
        /// The task that was current when it was issued: mostly the one that waits for it, but a kernel thread where it was
        /// queued before, or written back. [`Tid::UNKNOWN`] once it is done, or where an interrupt issued it.
        tid: Tid,
        /// What was asked.
        request: BlockRequest,
    },
    /// The kernel charged a thread for running (`sched_stat_runtime`), since its last charge.
    Charge {
        /// The thread.
        tid: Tid,
        /// How much.
        ns: Ns,
    },
    /// Time that the hypervisor gave to others, of this CPU, since boot (`/proc/stat`).
    Steal {
        /// Cumulative.
        total: Ns,
    },
    /// A reading of another clock at the event's time; differences between clocks align logs of other programs.
    Clock {
        /// Which clock.
        which: Clock,
        /// What it showed, ns (ticks for the TSC).
        reading: i64,
    },
    /// A program marked a moment, or the begin or end of a stretch of its own (atrace, `trace_marker`, track events, ITT).
    Mark(Mark),
    /// What a program or the kernel measures was this from now on.
    Value {
        /// Whose; [`Pid::UNKNOWN`]: nobody's in particular.
        pid: Pid,
        /// What is measured, with its unit where the source tells one.
        name: NameId,
        /// How much.
        value: f64,
    },
    /// A picture's way to the screen began or ended.
    Frame(Frame),
    /// A program handed in a frame to be shown, as a frame log has it.
    Present(Present),
    /// What the log tells of that frame.
    FrameTime(FrameTime),
    /// The source reports that it lost events.
    Loss(LossSpan),
    /// Any other sample: it only shows that the recording ran at this time.
    Sample,
}

impl Event {
    /// Whether the event shows that the recording ran: side-band records (names, forks told by perf itself, losses,
    /// frame logs, and what programs told and clocks showed without a CPU) do not move its ends.
    #[must_use]
    pub fn is_sample(&self) -> bool {
        match self.what {
            What::Name { .. } | What::Loss(_) | What::Present(_) | What::FrameTime(_) => false,
            What::Mark(_) | What::Value { .. } | What::Frame(_) | What::Clock { .. } => self.cpu != CpuId::UNKNOWN,
            _ => true,
        }
    }

    /// Whether it matters when exactly the event was. What is told of threads holds from whenever it is told on.
    #[must_use]
    pub fn is_dated(&self) -> bool {
        self.is_sample() || matches!(self.what, What::Present(_) | What::FrameTime(_))
    }
}

/// A CPU left `prev` for `next`. A source that tells only one side says [`Tid::UNKNOWN`] of the other.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Switch {
    /// Who was switched out.
    pub prev: Tid,
    /// Who was switched in.
    pub next: Tid,
    /// The name of the one switched out.
    pub prev_name: NameId,
    /// The name of the one switched in.
    pub next_name: NameId,
    /// The callchain of the one switched out, where it was recorded.
    pub stack: StackId,
    /// The state number as the source recorded it.
    pub prev_state: u32,
    /// Its dynamic priority.
    pub prev_prio: Prio,
    /// The next one's dynamic priority.
    pub next_prio: Prio,
    /// What the state number means, by the source's own format.
    pub out: SwitchOut,
    /// The state's letter (`R`, `S`, `D`, …), `?` where it has none.
    pub letter: u8,
    /// What the kernel has charged `prev` for running in its whole life (`se.sum_exec_runtime`), where told.
    pub prev_exec: MaybeNs,
}

/// What a switch-out makes of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SwitchOut {
    /// R: still runnable, and the source does not say why it left. It was preempted on its way back to user mode, called
    /// `sched_yield`, was woken before it slept, is a kernel thread that gave way, or is held by a quota.
    Runnable,
    /// R+: still runnable, it was preempted.
    Preempted,
    /// R: it was preempted on its way back to user mode, which bears no mark of the kernel's.
    PreemptedToUser,
    /// R: it called `sched_yield`.
    Yielded,
    /// R or R+: its cgroup's CPU quota is used up.
    Throttled,
    /// R: a kernel thread, which never goes back to user mode: it gave way, or was woken before it slept.
    GaveWay,
    /// It waits for something.
    Blocked,
    /// X or Z: it will not run again.
    Exited,
    /// The source does not tell (PERF_RECORD_SWITCH before Linux 4.17).
    Untold,
}

impl SwitchOut {
    /// Whether the thread can still run: the kernel counts these as involuntary.
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
            Self::Blocked | Self::Exited | Self::Untold => false,
        }
    }
}

/// A thread was woken.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wake {
    /// Who.
    pub tid: Tid,
    /// Its name, where the source says.
    pub name: NameId,
    /// Which of the kernel's three events.
    pub kind: WakeKind,
    /// The CPU chosen for it; `None` where not told.
    pub target: Option<CpuId>,
    /// The task that was current where the waking happened, but [`Tid::IDLE`] where the source tells that it was in an interrupt,
    /// with which the task that it came upon has nothing to do; [`Tid::UNKNOWN`] where not told.
    pub waker: Tid,
    /// Its dynamic priority.
    pub prio: Prio,
    /// When it happened: the event's time, but for [`WakeKind::WakeupTold`].
    pub stamp: Ns,
}

/// The kernel's wake events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WakeKind {
    /// `sched_waking`: on the waker's CPU, before the target is chosen.
    Waking,
    /// `sched_wakeup`: the thread is on its run queue.
    Wakeup,
    /// `sched_wakeup_new`: the first of its life.
    New,
    /// A `sched_wakeup` told with the switch-in that followed it: `stamp` is its own time, the event's time is the
    /// switch's. It changes no state.
    WakeupTold,
}

/// A row of a snapshot of all threads.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub pid: Pid,
    /// Its name.
    pub name: NameId,
    /// What it did.
    pub state: SeenState,
    /// The state's letter.
    pub letter: u8,
    /// The CPU it was on, or was on last.
    pub cpu: CpuId,
    /// What the kernel has charged it for running in its whole life, where told.
    pub exec: MaybeNs,
}

/// What a thread of a snapshot did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SeenState {
    /// On its CPU.
    Running,
    /// Runnable, on a run queue.
    Ready,
    /// Waiting.
    Blocked,
    /// Exited, or about to be reaped.
    Exited,
}

/// A moment, or an end of a stretch, that a program marked. Stretches of one track nest: an end closes the last begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// The thread that it is about; [`Tid::UNKNOWN`] where the mark is of a process or of the machine.
    pub tid: Tid,
    /// Its process, where told.
    pub pid: Pid,
    /// 0: the thread's own track; else a number of the source's (an asynchronous stretch's cookie, a track's id).
    pub track: i64,
    /// What the program calls it; [`NameId::NONE`] at most ends.
    pub name: NameId,
    /// Which end.
    pub edge: MarkEdge,
}

/// Which part of a marked stretch this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum MarkEdge {
    /// It begins.
    Begin,
    /// It ends.
    End,
    /// It is a moment.
    Instant,
}

/// A number that joins what was expected of a frame with what came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FrameToken(pub i64);

impl FrameToken {
    /// The source did not say.
    pub const UNKNOWN: Self = Self(-1);
}

/// A picture's way to the screen: Android's frame timeline, and what other systems tell alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Joins begin and end.
    pub cookie: i64,
    /// Joins what was expected with what came.
    pub token: FrameToken,
    /// The process that draws, or shows.
    pub pid: Pid,
    /// The layer or window.
    pub layer: NameId,
    /// Which of its stretches.
    pub stretch: FrameStretch,
    /// Whether it begins here.
    pub begins: bool,
    /// Why it was late, as the source's bits say, where told; 1: it was not.
    pub jank: Option<NonZeroI32>,
}

/// The stretches of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FrameStretch {
    /// When the application should draw it.
    ExpectedSurface,
    /// When it did.
    ActualSurface,
    /// When the compositor should show it.
    ExpectedDisplay,
    /// When it did.
    ActualDisplay,
}

/// Kinds of interrupt handler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum IrqKind {
    /// A device's or the timer's interrupt.
    Hard,
    /// A softirq vector.
    Soft,
    /// A timer that ran out; its name is the function that it calls, where told. It has no number.
    Timer,
    /// What another CPU sent; its name is why, where told. It has no number.
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

/// The priority of a thread that holds locks with priority inheritance, on the scale of [`What::Priority`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InheritedPriority {
    /// Which thread lends it.
    pub donor: Donor,
    /// The priority until now.
    pub old_prio: Prio,
    /// The priority from now on: the better one of its own and the donor's.
    pub prio: Prio,
}

/// Which thread lends its priority: the one that waits first in line for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Donor {
    /// The source does not record it.
    NotRecorded,
    /// No thread does any more.
    None,
    /// This one.
    Thread(Tid),
}

/// A request to a block device was handed to its driver, or is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockRequest {
    /// Of which device.
    pub device: Device,
    /// Its first sector, of 512 bytes; what is left of a request that was done in part begins behind that part.
    pub sector: u64,
    /// How much of the device it is about.
    pub bytes: u64,
    /// What for.
    pub operation: BlockOperation,
    /// Whether it is done; else it was issued.
    pub done: bool,
}

/// A block device, as the kernel numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Device(pub u32);

impl Device {
    /// Bits of the minor number (`MINORBITS`, include/linux/kdev_t.h).
    const MINOR_BITS: u32 = 20;

    /// By its two numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self(major << Self::MINOR_BITS | minor & ((1 << Self::MINOR_BITS) - 1))
    }
}

impl std::fmt::Display for Device {
    /// As `lsblk` prints them: `254:0`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0 >> Self::MINOR_BITS, self.0 & ((1 << Self::MINOR_BITS) - 1))
    }
}

/// What a request is for.
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
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Flush, Self::Discard, Self::Other];

    /// The word in tables.
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

    /// From the letters that the kernel prints (`blk_fill_rwbs`, block/blk-core.c): `WS` is a synchronous write, `FF` and `F` before
    /// other letters ask for a flush, which then is part of that request.
    #[must_use]
    pub fn of_letters(letters: &[u8]) -> Self {
        let after_flush = letters.strip_prefix(b"F").filter(|rest| !rest.is_empty()).unwrap_or(letters);
        match after_flush.first() {
            Some(b'R') => Self::Read,
            Some(b'W') => Self::Write,
            Some(b'F') => Self::Flush,
            Some(b'D') => Self::Discard,
            _ => Self::Other,
        }
    }
}

/// Events were lost. The event's own time is that of the first event after.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LossSpan {
    /// The last event that the buffer delivered before the loss, if any was.
    pub from: MaybeNs,
    /// The first event that it delivered after, if any came.
    pub to: MaybeNs,
    /// The CPU whose buffer it was; `None`: any of them.
    pub cpu: Option<CpuId>,
    /// How many events, where the source counts them.
    pub events: MaybeCount,
}

impl LossSpan {
    /// Its begin and end, as far as they lie within these times.
    #[must_use]
    pub fn within(&self, begin: Ns, end: Ns) -> (Ns, Ns) {
        let (from, to) = (self.from.get(), self.to.get());
        (from.map_or(begin, |from| from.max(begin)), to.map_or(end, |to| to.min(end)))
    }
}

/// Some events of one stream, and the texts that they are the first to use.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The events, in the order of the source.
    pub events: Vec<Event>,
    /// Texts, continuing the numbering of the stream's earlier batches: the first text of a stream is [`NameId`] 1.
    pub names: Vec<Box<str>>,
    /// Callchains, innermost frame first, numbered as the texts are.
    pub stacks: Vec<Box<[StackFrame]>>,
    /// What the source told and its reader had no room for.
    pub left_out: LeftOut,
}

/// What is left out since there is more of it than is kept: the bounds are far above what recordings have, but whatever meets one is
/// counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LeftOut {
    /// Uses of texts: what they name has no name.
    pub texts: u64,
    /// Uses of callchains that are missing, or cut off.
    pub callchains: u64,
    /// Threads whose process is forgotten.
    pub threads: u64,
    /// Entries of other tables: mappings, tracks, open frames, clocks.
    pub entries: u64,
}

impl LeftOut {
    /// Adds another count, which is 0 then.
    pub fn take(&mut self, from: &mut Self) {
        let more = std::mem::take(from);
        self.texts += more.texts;
        self.callchains += more.callchains;
        self.threads += more.threads;
        self.entries += more.entries;
    }
}

impl Batch {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.names.clear();
        self.stacks.clear();
        self.left_out = LeftOut::default();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn operations_by_their_letters() {
        use super::BlockOperation;
        let all = [("R", 0), ("RA", 0), ("WS", 1), ("FWFS", 1), ("FF", 2), ("D", 3), ("N", 4), ("", 4)];
        for (letters, at) in all {
            assert_eq!(BlockOperation::of_letters(letters.as_bytes()), BlockOperation::ALL[at], "{letters}");
        }
    }

    #[test]
    fn an_event_is_one_cache_line() {
        assert!(size_of::<super::Event>() <= 64, "{} bytes", size_of::<super::Event>());
    }
}
