//! What threads and CPUs did: finished stretches of time, each in one state.

use crate::{CpuId, Event, IrqKind, Mark, NameId, Ns, Span, ThreadKey, Tid, What};
use serde::{Deserialize, Serialize};

/// What a thread does. The definitions are those of ACCOUNTING.md.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum ThreadState {
    /// On a CPU.
    Running,
    /// Could run, but does not.
    Ready,
    /// Waits for something.
    Blocked,
    /// Nobody can say.
    Unknown,
    /// Its life is over.
    Exited,
}

impl ThreadState {
    /// All of them, in the order of the tables' columns.
    pub const ALL: [Self; 5] = [Self::Running, Self::Ready, Self::Blocked, Self::Unknown, Self::Exited];

    /// The word in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Blocked => "blocked",
            Self::Unknown => "unknown",
            Self::Exited => "exited",
        }
    }
}

/// What a CPU does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum CpuState {
    /// Runs a thread.
    Busy,
    /// Runs its idle task.
    Idle,
    /// Nobody can say.
    Unknown,
}

impl CpuState {
    /// All of them, in the order of the tables' columns.
    pub const ALL: [Self; 3] = [Self::Busy, Self::Idle, Self::Unknown];

    /// The word in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a stretch is what it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Reason {
    /// Nothing to add.
    None,
    /// Ready: the kernel took its CPU while it could still run.
    Preempted,
    /// Ready: it called `sched_yield`.
    Yielded,
    /// Ready: woken.
    Woken,
    /// Ready: woken for the first time of its life.
    New,
    /// Ready from its switch-out, since its waking was recorded just before it.
    WokenBefore,
    /// Blocked or exited: the letter of the kernel's state.
    State(u8),
    /// As seen in a snapshot.
    Snapshot,
    /// Unknown: before its first event.
    BeforeFirst,
    /// Unknown: a link of a CPU's chain is broken.
    Broken,
    /// Unknown: it was switched in, but its waking was never seen.
    NoWaking,
    /// Unknown: a new life began with this number, and the end of the former was not seen.
    LifeLost,
    /// Unknown: woken while it ran, then switched out blocked, and the recording ended before anything told which won.
    Undecided,
    /// Unknown: the source does not tell what the switch-out meant.
    Untold,
    /// Unknown: the source reports lost events here, and `--strict-loss` was asked for.
    Lossy,
    /// Running: no chain tells it, it was inferred, and `--inferred` was asked for.
    Inferred,
    /// Ready: it left its CPU while it could still run, and the source does not say why.
    LeftRunnable,
    /// Ready: it left its CPU since its cgroup's CPU quota is used up.
    Throttled,
    /// Ready: a kernel thread that gave way.
    GaveWay,
    /// Ready: it was woken on its way to sleep, and left its CPU without having slept.
    NeverSlept,
}

impl Reason {
    /// Those that are no letter of the kernel's, in the order of [`Self::number`].
    pub const NUMBERED: [Self; 19] = [
        Self::None,
        Self::Preempted,
        Self::Yielded,
        Self::Woken,
        Self::New,
        Self::WokenBefore,
        Self::Snapshot,
        Self::BeforeFirst,
        Self::Broken,
        Self::NoWaking,
        Self::LifeLost,
        Self::Undecided,
        Self::Untold,
        Self::Lossy,
        Self::Inferred,
        Self::LeftRunnable,
        Self::Throttled,
        Self::GaveWay,
        Self::NeverSlept,
    ];

    /// Its place in [`Self::NUMBERED`], for who keeps it in a byte beside the letters, which are larger.
    ///
    /// # Errors
    /// The letter of the kernel's state, where it is that.
    #[inline]
    pub fn number(self) -> Result<u8, u8> {
        Ok(match self {
            Self::State(letter) => return Err(letter),
            Self::None => 0,
            Self::Preempted => 1,
            Self::Yielded => 2,
            Self::Woken => 3,
            Self::New => 4,
            Self::WokenBefore => 5,
            Self::Snapshot => 6,
            Self::BeforeFirst => 7,
            Self::Broken => 8,
            Self::NoWaking => 9,
            Self::LifeLost => 10,
            Self::Undecided => 11,
            Self::Untold => 12,
            Self::Lossy => 13,
            Self::Inferred => 14,
            Self::LeftRunnable => 15,
            Self::Throttled => 16,
            Self::GaveWay => 17,
            Self::NeverSlept => 18,
        })
    }

    /// Of a ready thread: whether it is so since it left its CPU while it could still run.
    #[must_use]
    #[inline]
    pub fn left_runnable(self) -> bool {
        matches!(
            self,
            Self::Preempted | Self::Yielded | Self::LeftRunnable | Self::Throttled | Self::GaveWay | Self::NeverSlept
        )
    }

    /// The one of a number, or of a letter.
    #[inline]
    #[must_use]
    pub fn of_number(number: u8) -> Self {
        Self::NUMBERED.get(usize::from(number)).copied().unwrap_or(Self::State(number))
    }

    /// The word in tables: a letter for the kernel's states, else snake_case; `None` for nothing.
    #[must_use]
    pub fn word(self) -> Option<String> {
        Some(
            match self {
                Self::None => return None,
                Self::Preempted => "preempted",
                Self::Yielded => "yielded",
                Self::Woken => "woken",
                Self::New => "new",
                Self::WokenBefore => "woken_before",
                Self::State(letter) => return Some(char::from(letter).to_string()),
                Self::Snapshot => "snapshot",
                Self::BeforeFirst => "before_first_event",
                Self::Broken => "broken_chain",
                Self::NoWaking => "no_waking",
                Self::LifeLost => "life_lost",
                Self::Undecided => "undecided",
                Self::Untold => "untold",
                Self::Lossy => "lossy",
                Self::Inferred => "inferred",
                Self::LeftRunnable => "left_runnable",
                Self::Throttled => "throttled",
                Self::GaveWay => "gave_way",
                Self::NeverSlept => "woken_before_sleep",
            }
            .to_owned(),
        )
    }
}

/// A thread was in one state for a while.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ThreadStretch {
    /// When.
    pub span: Span,
    /// Who.
    pub thread: ThreadKey,
    /// Its number.
    pub tid: Tid,
    /// What it did.
    pub state: ThreadState,
    /// Why.
    pub reason: Reason,
    /// Running: where. Ready: on whose run queue it began ([`Move`] tells the next ones). Else: where it was last.
    pub cpu: Option<CpuId>,
    /// Ready: the thread that woke it, where it is known; [`ThreadKey::IDLE`]: an interrupt.
    pub waker_thread: ThreadKey,
    /// Running: what the kernel charged; [`Ns::MIN`] where unknown.
    pub exec: Ns,
    /// Its dynamic priority where the source told it last; `i16::MIN` where it never did.
    pub prio: i16,
}

/// A CPU was in one state for a while.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CpuStretch {
    /// When.
    pub span: Span,
    /// Which.
    pub cpu: CpuId,
    /// What it did.
    pub state: CpuState,
    /// Busy: the thread. Idle: [`ThreadKey::IDLE`]. Unknown: [`ThreadKey::UNKNOWN`].
    pub thread: ThreadKey,
}

/// A thread was moved to another run queue (`sched_migrate_task`), whatever it did then: whether it was ready its stretches say, of
/// which some are known later. The stretch of one that was ready goes on; its `cpu` is the queue on which it began.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Move {
    /// When.
    pub at: Ns,
    /// Who, by its number.
    pub tid: Tid,
    /// Whose run queue it is on from now on.
    pub to: CpuId,
}

/// A thread may use these CPUs from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Allowed {
    /// When.
    pub at: Ns,
    /// Who; of a number whose life is over, its next one.
    pub tid: Tid,
    /// As a kernel CPU list ("0-3,8"); none: nobody can say which.
    pub cpus: NameId,
}

/// A thread is throttled from now on, or no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Throttle {
    /// When.
    pub at: Ns,
    /// Who; [`Tid::IDLE`]: all threads, of which every change is told from here on.
    pub tid: Tid,
    /// Whether it begins here.
    pub begins: bool,
}

/// How a thread, or all threads of a cgroup, are set to be scheduled from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// When.
    pub at: Ns,
    /// Who; of a number whose life is over, its next one. [`Tid::UNKNOWN`]: a whole cgroup.
    pub tid: Tid,
    /// What is set.
    pub to: SetTo,
}

/// What is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SetTo {
    /// Policy and nice value, as in [`What::Priority`].
    Policy {
        /// `SCHED_*` number; −1 where not told.
        policy: i8,
        /// −20 to 19; `i8::MIN` where not told.
        nice: i8,
    },
    /// As in [`What::SchedAttr`].
    Attr {
        /// `i16::MIN` where not told.
        prio: i16,
        /// −1 where not told.
        uclamp_min: i16,
        /// −1 where not told.
        uclamp_max: i16,
    },
    /// The cgroup that it is in.
    Cgroup {
        /// Its id.
        id: u64,
        /// Its path, where told.
        path: NameId,
    },
    /// What a cgroup's share is beside its siblings.
    Weight {
        /// The cgroup's id.
        id: u64,
        /// Its path, where told.
        path: NameId,
        /// 100 by default; 0 where not told.
        weight: u16,
    },
    /// The CPU where it would best run; [`CpuId::UNKNOWN`]: none.
    IdealCpu(CpuId),
}

impl Setting {
    /// What an event tells of settings, if it does. What was told before the recording began holds from its begin.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        let (tid, to) = match event.what {
            What::Priority { policy: -1, nice: i8::MIN, .. } => return None,
            What::Priority { tid, policy, nice, .. } => (tid, SetTo::Policy { policy, nice }),
            What::SchedAttr { tid, prio, uclamp_min, uclamp_max } => {
                (tid, SetTo::Attr { prio, uclamp_min, uclamp_max })
            }
            What::Cgroup { tid, id, path } => (tid, SetTo::Cgroup { id, path }),
            What::CgroupLimits { id, path, weight, .. } => (Tid::UNKNOWN, SetTo::Weight { id, path, weight }),
            What::IdealCpu { tid, cpu } => (tid, SetTo::IdealCpu(cpu)),
            _ => return None,
        };
        let of_a_thread = tid.0 > 0 || matches!(to, SetTo::Weight { .. });
        of_a_thread.then_some(Self { at: event.at.max(Ns::ZERO), tid, to })
    }
}

/// What a program marked.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Marked {
    /// When.
    pub at: Ns,
    /// What.
    pub mark: Mark,
}

/// A CPU's idle state or frequency is this from now on, or whether it is parked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PowerChange {
    /// When.
    pub at: Ns,
    /// Whose.
    pub cpu: CpuId,
    /// What.
    pub to: Power,
}

/// What the power management tells of a CPU, and what takes it out of its idle state or away from its thread.
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

impl PowerChange {
    /// What an event tells of power, if it does. What was told before the recording began holds from its begin.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        let (cpu, to) = match event.what {
            What::Idle { state } => (event.cpu, u32::try_from(state).map_or(Power::Awake, Power::Idle)),
            What::Frequency { of, khz } => (of, Power::Frequency(khz)),
            What::Irq { kind, number, begins, name } => {
                let of = Interrupt { kind, number, name };
                (event.cpu, if begins { Power::Interrupt(of) } else { Power::Interrupted(of) })
            }
            What::Parking { of, parked } => (of, Power::Parked(parked)),
            _ => return None,
        };
        Some(Self { at: event.at.max(Ns::ZERO), cpu, to })
    }
}

/// What shows that somebody ran where no chain of switches tells it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum Basis {
    /// The CPU's first switch takes it out, and nothing shows another before.
    FirstSwitch,
    /// Events on that CPU name it as the task that was current.
    Named,
}

impl Basis {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::FirstSwitch, Self::Named];

    /// The word in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirstSwitch => "first_switch",
            Self::Named => "named",
        }
    }
}

/// Time that is unknown by the chains, for the CPU and for the thread, and in which the one nevertheless ran the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InferredStretch {
    /// When.
    pub span: Span,
    /// Where.
    pub cpu: CpuId,
    /// Who; [`ThreadKey::IDLE`]: the CPU's idle task.
    pub thread: ThreadKey,
    /// Its number.
    pub tid: Tid,
    /// What shows it.
    pub basis: Basis,
}
