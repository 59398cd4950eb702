//! The timeline: stretches of threads, stretches of CPUs, and all other events, in order of time.
//!
//! A new kind of event that analyses follow needs a variant of [`Change`] and a line in [`TimelineEvent::from_event`].
//! Everything in between (accounting, temporary files, folders, the threads of a pass) forwards [`TimelineEvent`]s unchanged.

use crate::{
    BlockRequest, CoreType, CpuId, CpuStretch, EnergyDomain, EnergyUse, Event, EventKind, FutexWait, InheritedPriority,
    IrqKind, Mark, MaybeNs, NameId, Ns, ObjectWait, Prio, StackId, SwitchOut, Temperature, ThreadStretch, Tid,
    WaitKind, WakeKind,
};
use serde::{Deserialize, Serialize};

/// A part of the timeline: everything that began up to the same time. Stretches that begin at an instant are never in a later
/// part than events at that instant. At one instant, analyses receive the stretches of CPUs first, then those of threads, then
/// the events in the order of [`TimelineEvent::order`].
///
/// ```
/// use model::{CpuId, CpuState, CpuStretch, Ns, Span, ThreadKey, Timeline};
///
/// let span = Span::new(Ns(0), Ns(5));
/// let busy = CpuStretch { span, cpu: CpuId(0), state: CpuState::Busy, thread: ThreadKey(1) };
/// let part = Timeline { cpus: &[busy], ..Timeline::default() };
/// let time: Ns = part.cpus.iter().filter(|s| s.state == CpuState::Busy).map(|s| s.span.len()).sum();
/// assert_eq!(time, Ns(5));
/// ```
#[derive(Clone, Copy, Default)]
pub struct Timeline<'a> {
    /// Stretches of threads.
    pub threads: &'a [ThreadStretch],
    /// Stretches of CPUs.
    pub cpus: &'a [CpuStretch],
    /// All other events.
    pub events: &'a [TimelineEvent],
}

/// An event that is not part of a stretch.
///
/// ```
/// use model::{CpuId, Event, EventKind, Ns, Power, Tid, TimelineEvent};
///
/// let from = |what| {
///     TimelineEvent::from_event(&Event { at: Ns(-5), offset: 0, cpu: CpuId(0), current: Tid::UNKNOWN, what })
/// };
/// let set = from(EventKind::Frequency { of: CpuId(1), khz: 800_000 }).expect("analyses follow frequencies");
/// assert_eq!(set.power(), Some((CpuId(1), Power::Frequency(800_000))));
/// assert_eq!(set.at, Ns(0), "the frequency was set before the recording began");
/// assert_eq!(from(EventKind::Sample), None);
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimelineEvent {
    /// The time. Settings from before the recording are reported at its begin.
    pub at: Ns,
    /// The thread or CPU that it is about.
    pub who: Subject,
    /// What changed.
    pub what: Change,
}

/// Which threads or CPUs an event is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Subject {
    /// The thread with this TID. If no thread instance with this TID is alive, some kinds are about the next one.
    Thread(Tid),
    /// A CPU.
    Cpu(CpuId),
    /// All threads: from now on, every change of this kind is reported.
    AllThreads,
    /// A process, a cgroup, a device or the machine; the change itself says which.
    Other,
}

/// What changed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Change {
    /// The thread is on the run queue of another CPU (`sched_migrate_task`), in any state: its stretches, some of which are known
    /// only later, show whether it was ready. The stretch of a ready thread continues; its `cpu` is the run queue on which it
    /// began.
    Queue(CpuId),
    /// An interrupt woke the thread, and this CPU handled it. Only where the source records the waking itself (`sched_waking`), which
    /// shows the CPU on which it happened.
    WokenByInterrupt(CpuId),
    /// A program marked something.
    Mark(Mark),
    /// The CPU's idle state, frequency or parking, or an interrupt on it.
    Power(Power),
    /// The thread may use these CPUs from now on, as a kernel CPU list ("0-3,8"); none: unknown.
    Affinity(NameId),
    /// The thread is throttled from now on, or no longer.
    Throttled(bool),
    /// The thread left its CPU to wait, and its callchain was recorded.
    BlockedAt(StackId),
    /// The thread left its CPU to wait in a futex call.
    FutexWait(FutexWait),
    /// The thread calls `futex()` with these arguments (the memory is not read), or returns from it.
    FutexCall(Option<FutexWait>),
    /// The thread left its CPU to wait for this, in another call or for a lock of the kernel.
    ObjectWait(ObjectWait),
    /// Of the epoll set for which the thread waits, the descriptor of this object became ready.
    ObjectReady(WaitKind, u64, NameId),
    /// The thread, which waited in a futex call, is woken by a thread that does not wake the futex at that address, but is in this call
    /// ([`NameId::NONE`]: in none), whose first argument this is.
    WokenByCall(NameId, u64),
    /// The thread ran on this CPU, or, if the CPU was not recorded, on a core of this type; it had this name, and was at the innermost frame
    /// of this callchain.
    Sampled(CpuId, CoreType, NameId, StackId),
    /// What an event of this CPU counted while the thread (TID 0: none; [`Subject::Other`]: several) ran there until now.
    Counted(CpuId, Counted),
    /// What an event of this CPU has counted up to a mark of the thread. A part of the [`Change::Counted`] that follows.
    CountedAtMark(CpuId, Counted),
    /// A scheduling setting of the thread or of a cgroup from now on.
    Setting(SetTo),
    /// The thread issued a request to a block device, or ([`Subject::Other`]) a request was completed.
    Block(BlockRequest),
    /// The thread's priority is inherited from now on, or no longer.
    Inherited(InheritedPriority),
    /// What is known of a source of energy from now on.
    EnergyDomain(EnergyDomain),
    /// What a domain used in the time before, since its last reading. It may have begun before the recording.
    Energy(EnergyUse),
    /// A sensor of temperature was read.
    Temperature(Temperature),
}

/// A count of an event, as in [`EventKind::Count`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counted {
    /// The event.
    pub event: NameId,
    /// The time since the reading before.
    pub length: Ns,
    /// The count.
    pub count: i64,
    /// How long the event counted.
    pub running: Ns,
}

/// A power-management event of a CPU, or an interrupt, which ends its idle state or interrupts its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Power {
    /// The CPU left its idle state.
    Awake,
    /// The CPU entered the idle state with this number.
    Idle(u32),
    /// The frequency of the CPU, in kHz.
    Frequency(u32),
    /// The CPU is parked ([`EventKind::Parking`]), or no longer.
    Parked(bool),
    /// An interrupt handler began.
    InterruptBegin(Interrupt),
    /// An interrupt handler ended.
    InterruptEnd(Interrupt),
}

/// An interrupt, by its kind, number and name as in [`EventKind::Irq`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Interrupt {
    /// The kind.
    pub kind: IrqKind,
    /// The interrupt number or softirq vector.
    pub number: i32,
    /// The name.
    pub name: NameId,
}

/// A scheduling setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SetTo {
    /// Policy and nice value, as in [`EventKind::Priority`].
    Policy {
        /// The `SCHED_*` number, if recorded.
        policy: Option<i8>,
        /// −20 to 19, if recorded.
        nice: Option<i8>,
    },
    /// As in [`EventKind::SchedAttr`].
    Attr {
        /// Its own priority, if recorded.
        prio: Prio,
        /// The minimum utilisation clamp, if recorded.
        uclamp_min: Option<u16>,
        /// The maximum utilisation clamp, if recorded.
        uclamp_max: Option<u16>,
    },
    /// The cgroup that the thread is in.
    Cgroup {
        /// Its id.
        id: u64,
        /// Its path, if known.
        path: NameId,
    },
    /// The settings of a cgroup's CPU controller, as in [`EventKind::CgroupLimits`].
    Limits {
        /// The cgroup's id.
        id: u64,
        /// Its path, if known.
        path: NameId,
        /// Its weight relative to its siblings, 100 by default; if recorded.
        weight: Option<u16>,
        /// The CPU time that its threads may use in a period, if limited.
        quota: MaybeNs,
        /// The length of a period in ns.
        period: u32,
    },
    /// The thread's TID in its own PID namespace, which is not the recorder's.
    Inner(Tid),
    /// The CPU where the thread would best run, if any.
    IdealCpu(Option<CpuId>),
}

impl Change {
    /// Whether it is something that happened, which counts even at the very end of a recording. Everything else begins a state, which has
    /// no time there.
    #[must_use]
    pub fn is_moment(&self) -> bool {
        matches!(
            self,
            Self::Mark(_)
                | Self::Sampled(..)
                | Self::Counted(..)
                | Self::CountedAtMark(..)
                | Self::Block(_)
                | Self::Energy(_)
                | Self::Temperature(_)
        )
    }
}

impl TimelineEvent {
    /// Returns the timeline event of a source's event, if analyses follow its kind.
    #[inline]
    #[must_use]
    pub fn from_event(event: &Event) -> Option<Self> {
        use Subject::{AllThreads, Cpu, Other, Thread};
        let thread = |tid: Tid| (tid.0 > 0).then_some(Thread(tid));
        let (who, what) = match event.what {
            // Most events are of these kinds.
            EventKind::Wake(wake) => {
                // A `sched_wakeup` is an event of the CPU that queues the thread.
                let shows = wake.waker == Tid::IDLE && wake.kind == WakeKind::Waking && event.cpu != CpuId::UNKNOWN;
                if !shows || event.at < Ns::ZERO {
                    return None;
                }
                (thread(wake.tid)?, Change::WokenByInterrupt(event.cpu))
            }
            EventKind::Charge { .. } | EventKind::Name { .. } => return None,
            EventKind::Switch(switch) => {
                let blocked = switch.out == SwitchOut::Blocked && switch.stack != StackId::NONE;
                if !blocked || event.at < Ns::ZERO {
                    return None;
                }
                (thread(switch.prev)?, Change::BlockedAt(switch.stack))
            }
            EventKind::FutexCall { tid, address, operation, value } if event.at >= Ns::ZERO => {
                let call = FutexWait::of_call(tid, address, operation, value);
                (thread(tid)?, Change::FutexCall(Some(call)))
            }
            EventKind::FutexReturn { tid } if event.at >= Ns::ZERO => (thread(tid)?, Change::FutexCall(None)),
            EventKind::FutexWait(wait) if event.at >= Ns::ZERO => (thread(wait.tid)?, Change::FutexWait(wait)),
            EventKind::ObjectWait(wait) if event.at >= Ns::ZERO => (thread(wait.tid)?, Change::ObjectWait(wait)),
            EventKind::ObjectReady { tid, kind, id, name } if event.at >= Ns::ZERO => {
                (thread(tid)?, Change::ObjectReady(kind, id, name))
            }
            EventKind::WokenByCall { tid, call, argument } if event.at >= Ns::ZERO => {
                (thread(tid)?, Change::WokenByCall(call, argument))
            }
            EventKind::Inner { tid, inner_tid, .. } => (thread(tid)?, Change::Setting(SetTo::Inner(inner_tid))),
            EventKind::Migrate { tid, to, .. } => (thread(tid)?, Change::Queue(to)),
            EventKind::Mark(mark) if event.at >= Ns::ZERO => (Thread(mark.tid), Change::Mark(mark)),
            EventKind::Idle { state } => {
                (Cpu(event.cpu), Change::Power(u32::try_from(state).map_or(Power::Awake, Power::Idle)))
            }
            EventKind::Frequency { of, khz } => (Cpu(of), Change::Power(Power::Frequency(khz))),
            EventKind::Parking { of, parked } => (Cpu(of), Change::Power(Power::Parked(parked))),
            EventKind::Irq { kind, number, begins, name } => {
                let of = Interrupt { kind, number, name };
                (
                    Cpu(event.cpu),
                    Change::Power(if begins { Power::InterruptBegin(of) } else { Power::InterruptEnd(of) }),
                )
            }
            EventKind::Block { tid, request } => (thread(tid).unwrap_or(Other), Change::Block(request)),
            EventKind::CpuSample { tid, stack, name, core } if event.at >= Ns::ZERO => {
                (thread(tid)?, Change::Sampled(event.cpu, core, name, stack))
            }
            EventKind::Count { tid, event: of, length, count, running } if event.at >= Ns::ZERO => {
                let counted = Counted { event: of, length, count, running };
                (if tid == Tid::UNKNOWN { Other } else { Thread(tid) }, Change::Counted(event.cpu, counted))
            }
            EventKind::CountAtMark { tid, event: of, length, count, running } if event.at >= Ns::ZERO => {
                (thread(tid)?, Change::CountedAtMark(event.cpu, Counted { event: of, length, count, running }))
            }
            EventKind::Inherit { tid, priority } => (thread(tid)?, Change::Inherited(priority)),
            EventKind::EnergyDomain(of) => (Other, Change::EnergyDomain(of)),
            EventKind::Energy(used) if event.at >= Ns::ZERO => (Other, Change::Energy(used)),
            EventKind::Temperature(read) if event.at >= Ns::ZERO => (Other, Change::Temperature(read)),
            EventKind::Affinity { tid, cpus } => (thread(tid)?, Change::Affinity(cpus)),
            EventKind::Throttle { tid: None, begins } => (AllThreads, Change::Throttled(begins)),
            EventKind::Throttle { tid: Some(tid), begins } => (Thread(tid), Change::Throttled(begins)),
            EventKind::Priority { policy: None, nice: None, .. } => return None,
            EventKind::Priority { tid, policy, nice, .. } => {
                (thread(tid)?, Change::Setting(SetTo::Policy { policy, nice }))
            }
            EventKind::SchedAttr { tid, prio, uclamp_min, uclamp_max } => {
                (thread(tid)?, Change::Setting(SetTo::Attr { prio, uclamp_min, uclamp_max }))
            }
            EventKind::Cgroup { tid, id, path } => (thread(tid)?, Change::Setting(SetTo::Cgroup { id, path })),
            EventKind::CgroupLimits { id, path, weight, quota, period, .. } => {
                (Other, Change::Setting(SetTo::Limits { id, path, weight, quota, period }))
            }
            EventKind::IdealCpu { tid, cpu } => (thread(tid)?, Change::Setting(SetTo::IdealCpu(cpu))),
            _ => return None,
        };
        Some(Self { at: event.at.max(Ns::ZERO), who, what })
    }

    /// Returns the sort key: by time, and at one instant by kind, so that the order in which the CPUs' buffers were read makes no
    /// difference. A mark comes before changes of CPUs. Kinds that are not named here come last, in the order of the recording.
    #[must_use]
    pub fn order(&self) -> (Ns, u8) {
        let kind = match self.what {
            Change::Queue(_) => 0,
            Change::Mark(_) => 1,
            Change::Power(_) => 2,
            Change::WokenByInterrupt(_) => 3,
            Change::Affinity(_) => 4,
            Change::Throttled(_) => 5,
            Change::BlockedAt(_) => 6,
            Change::Setting(_) => 7,
            _ => 8,
        };
        (self.at, kind)
    }

    /// Returns the TID of the thread that it is about.
    #[must_use]
    pub fn tid(&self) -> Option<Tid> {
        if let Subject::Thread(tid) = self.who { Some(tid) } else { None }
    }

    /// Returns the CPU and the power event, if it is one.
    #[must_use]
    pub fn power(&self) -> Option<(CpuId, Power)> {
        match (self.who, self.what) {
            (Subject::Cpu(cpu), Change::Power(to)) => Some((cpu, to)),
            _ => None,
        }
    }

    /// Returns the mark, if it is one.
    #[must_use]
    pub fn mark(&self) -> Option<&Mark> {
        if let Change::Mark(mark) = &self.what { Some(mark) } else { None }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_event_is_smaller_than_a_cache_line() {
        assert!(size_of::<super::TimelineEvent>() <= 56, "{} bytes", size_of::<super::TimelineEvent>());
    }
}
