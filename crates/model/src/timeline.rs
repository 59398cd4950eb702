//! What happened to threads and CPUs, in order of time: two streams of stretches, and one of everything else.
//!
//! A new kind of event that analyses follow is a variant of [`Change`] and a line in [`TimelineEvent::of`]. Everything between
//! (accounting, temporary files, folders, the threads of a pass) hands [`TimelineEvent`]s on without a look at their kind.

use crate::{
    BlockRequest, CpuId, CpuStretch, Event, InheritedPriority, IrqKind, Mark, NameId, Ns, Prio, StackId, SwitchOut,
    ThreadStretch, Tid, What,
};
use serde::{Deserialize, Serialize};

/// What began up to the same time. Of one instant, stretches never come in a later part than events. At one instant, analyses
/// see CPUs' stretches first, then threads', then events in the order of [`TimelineEvent::order`].
#[derive(Clone, Copy, Default)]
pub struct Timeline<'a> {
    /// Threads' stretches.
    pub threads: &'a [ThreadStretch],
    /// CPUs' stretches.
    pub cpus: &'a [CpuStretch],
    /// Everything else.
    pub events: &'a [TimelineEvent],
}

/// Something that happened at an instant and that no stretch shows.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimelineEvent {
    /// When. What held before the recording began holds from its begin.
    pub at: Ns,
    /// To which thread or CPU.
    pub who: Subject,
    /// What changed.
    pub what: Change,
}

/// Which threads or CPUs an event is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Subject {
    /// The thread with this number. Where its life is over or has not begun, some kinds are about the number's next life.
    Thread(Tid),
    /// A CPU.
    Cpu(CpuId),
    /// All threads: from here on, every change of this kind is reported.
    AllThreads,
    /// A process, a cgroup, a device or the machine; the change itself says which.
    Other,
}

/// What changed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Change {
    /// The thread is on the run queue of another CPU (`sched_migrate_task`), whatever it did then: whether it was ready its
    /// stretches say, of which some are known later. The stretch of a thread that was ready goes on; its `cpu` is the queue on
    /// which it began.
    Queue(CpuId),
    /// A program marked something.
    Mark(Mark),
    /// The CPU's idle state, frequency or parking, or an interrupt on it.
    Power(Power),
    /// The thread may use these CPUs from now on, as a kernel CPU list ("0-3,8"); none: it is not known which.
    Affinity(NameId),
    /// The thread is throttled from now on, or no longer.
    Throttled(bool),
    /// The thread left its CPU to wait, and its callchain was recorded.
    BlockedAt(StackId),
    /// How the thread, or a cgroup, is set to be scheduled from now on.
    Setting(SetTo),
    /// The thread issued a request to a block device, or ([`Subject::Other`]) one is done.
    Block(BlockRequest),
    /// The thread's priority is inherited from now on, or no longer.
    Inherited(InheritedPriority),
}

/// What power management reports of a CPU, and what takes it out of its idle state or away from its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Power {
    /// It left its idle state.
    Awake,
    /// It entered the idle state of this number.
    Idle(u32),
    /// Its frequency, kHz.
    Frequency(u32),
    /// It is parked ([`What::Parking`]), or no longer.
    Parked(bool),
    /// An interrupt's handler began.
    Interrupt(Interrupt),
    /// It ended.
    Interrupted(Interrupt),
}

/// An interrupt, by its kind, number and name as in [`What::Irq`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Interrupt {
    /// Which kind.
    pub kind: IrqKind,
    /// Interrupt number or softirq vector.
    pub number: i32,
    /// What it is called.
    pub name: NameId,
}

/// What is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SetTo {
    /// Policy and nice value, as in [`What::Priority`].
    Policy {
        /// `SCHED_*` number, where recorded.
        policy: Option<i8>,
        /// −20 to 19, where recorded.
        nice: Option<i8>,
    },
    /// As in [`What::SchedAttr`].
    Attr {
        /// Its own priority, where recorded.
        prio: Prio,
        /// Where recorded.
        uclamp_min: Option<u16>,
        /// Where recorded.
        uclamp_max: Option<u16>,
    },
    /// The cgroup that the thread is in.
    Cgroup {
        /// Its id.
        id: u64,
        /// Its path, where known.
        path: NameId,
    },
    /// A cgroup's share, relative to its siblings.
    Weight {
        /// The cgroup's id.
        id: u64,
        /// Its path, where known.
        path: NameId,
        /// 100 by default; where recorded.
        weight: Option<u16>,
    },
    /// The CPU where the thread would best run, if any.
    IdealCpu(Option<CpuId>),
}

impl TimelineEvent {
    /// What an event of a source is on the timeline, where analyses follow its kind.
    #[inline]
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        use Subject::{AllThreads, Cpu, Other, Thread};
        let thread = |tid: Tid| (tid.0 > 0).then_some(Thread(tid));
        let (who, what) = match event.what {
            // Most events are of these kinds.
            What::Wake(_) | What::Charge { .. } | What::Name { .. } => return None,
            What::Switch(switch) => {
                let blocked = switch.out == SwitchOut::Blocked && switch.stack != StackId::NONE;
                if !blocked || event.at < Ns::ZERO {
                    return None;
                }
                (thread(switch.prev)?, Change::BlockedAt(switch.stack))
            }
            What::Migrate { tid, to, .. } => (thread(tid)?, Change::Queue(to)),
            What::Mark(mark) if event.at >= Ns::ZERO => (Thread(mark.tid), Change::Mark(mark)),
            What::Idle { state } => {
                (Cpu(event.cpu), Change::Power(u32::try_from(state).map_or(Power::Awake, Power::Idle)))
            }
            What::Frequency { of, khz } => (Cpu(of), Change::Power(Power::Frequency(khz))),
            What::Parking { of, parked } => (Cpu(of), Change::Power(Power::Parked(parked))),
            What::Irq { kind, number, begins, name } => {
                let of = Interrupt { kind, number, name };
                (Cpu(event.cpu), Change::Power(if begins { Power::Interrupt(of) } else { Power::Interrupted(of) }))
            }
            What::Block { tid, request } => (thread(tid).unwrap_or(Other), Change::Block(request)),
            What::Inherit { tid, priority } => (thread(tid)?, Change::Inherited(priority)),
            What::Affinity { tid, cpus } => (thread(tid)?, Change::Affinity(cpus)),
            What::Throttle { tid: None, begins } => (AllThreads, Change::Throttled(begins)),
            What::Throttle { tid: Some(tid), begins } => (Thread(tid), Change::Throttled(begins)),
            What::Priority { policy: None, nice: None, .. } => return None,
            What::Priority { tid, policy, nice, .. } => (thread(tid)?, Change::Setting(SetTo::Policy { policy, nice })),
            What::SchedAttr { tid, prio, uclamp_min, uclamp_max } => {
                (thread(tid)?, Change::Setting(SetTo::Attr { prio, uclamp_min, uclamp_max }))
            }
            What::Cgroup { tid, id, path } => (thread(tid)?, Change::Setting(SetTo::Cgroup { id, path })),
            What::CgroupLimits { id, path, weight, .. } => (Other, Change::Setting(SetTo::Weight { id, path, weight })),
            What::IdealCpu { tid, cpu } => (thread(tid)?, Change::Setting(SetTo::IdealCpu(cpu))),
            _ => return None,
        };
        Some(Self { at: event.at.max(Ns::ZERO), who, what })
    }

    /// The order in which events are followed: by time, and at one instant by kind, so that what CPUs' buffers happened to be
    /// read first makes no difference. A mark finds CPUs as they were until then. Kinds that are not named here come last, in
    /// the order of the recording.
    #[must_use]
    pub fn order(&self) -> (Ns, u8) {
        let kind = match self.what {
            Change::Queue(_) => 0,
            Change::Mark(_) => 1,
            Change::Power(_) => 2,
            Change::Affinity(_) => 3,
            Change::Throttled(_) => 4,
            Change::BlockedAt(_) => 5,
            Change::Setting(_) => 6,
            _ => 7,
        };
        (self.at, kind)
    }

    /// The number of the thread that it is about.
    #[must_use]
    pub fn tid(&self) -> Option<Tid> {
        if let Subject::Thread(tid) = self.who { Some(tid) } else { None }
    }

    /// The CPU and what became of it, where the event is about power.
    #[must_use]
    pub fn power(&self) -> Option<(CpuId, Power)> {
        match (self.who, self.what) {
            (Subject::Cpu(cpu), Change::Power(to)) => Some((cpu, to)),
            _ => None,
        }
    }

    /// What a program marked.
    #[must_use]
    pub fn mark(&self) -> Option<&Mark> {
        if let Change::Mark(mark) = &self.what { Some(mark) } else { None }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_event_is_less_than_a_cache_line() {
        assert!(size_of::<super::TimelineEvent>() <= 48, "{} bytes", size_of::<super::TimelineEvent>());
    }
}
