//! Stretches: spans of time in which a thread or a CPU was in one state.

use crate::{CpuId, MaybeNs, Prio, Span, ThreadKey, Tid};
use serde::{Deserialize, Serialize};

/// The state of a thread, as defined in docs/accounting.md.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum ThreadState {
    /// On a CPU.
    Running,
    /// Runnable, but not running.
    Ready,
    /// Waiting for something other than a CPU.
    Blocked,
    /// Unknown.
    Unknown,
    /// Exited.
    Exited,
}

impl ThreadState {
    /// All states, in the order of the tables' columns.
    pub const ALL: [Self; 5] = [Self::Running, Self::Ready, Self::Blocked, Self::Unknown, Self::Exited];

    /// Returns the value in tables.
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

/// The state of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum CpuState {
    /// Running a thread.
    Busy,
    /// Running its idle task.
    Idle,
    /// Unknown.
    Unknown,
}

impl CpuState {
    /// All states, in the order of the tables' columns.
    pub const ALL: [Self; 3] = [Self::Busy, Self::Idle, Self::Unknown];

    /// Returns the value in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Idle => "idle",
            Self::Unknown => "unknown",
        }
    }
}

/// The cause of a thread's state.
///
/// ```
/// use model::Reason;
///
/// assert_eq!(Reason::Preempted.word().as_deref(), Some("preempted"));
/// assert_eq!(Reason::State(b'D').word().as_deref(), Some("D"));
/// assert_eq!(Reason::None.word(), None);
/// // A byte holds either kind of cause.
/// assert_eq!((Reason::from_number(3), Reason::from_number(b'D')), (Reason::Woken, Reason::State(b'D')));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Reason {
    /// No cause.
    None,
    /// Ready: the kernel took its CPU while it was runnable.
    Preempted,
    /// Ready: it called `sched_yield`.
    Yielded,
    /// Ready: woken.
    Woken,
    /// Ready: woken for the first time.
    New,
    /// Ready since its switch-out, because its wakeup was recorded just before.
    WokenBefore,
    /// Blocked or exited: the kernel's state letter.
    State(u8),
    /// From a snapshot.
    Snapshot,
    /// Unknown: before its first event.
    BeforeFirst,
    /// Unknown: an inconsistent switch in the chain of a CPU.
    InconsistentSwitch,
    /// Unknown: it was switched in without a recorded wakeup.
    NoWaking,
    /// Unknown: a new thread instance began with this TID, and the end of the previous one was not recorded.
    InstanceLost,
    /// Unknown: woken while it ran, then switched out as blocked, and the recording ended before an event showed which of
    /// the two took effect.
    Undecided,
    /// Unknown: the state at the switch-out was not recorded.
    NotRecorded,
    /// Unknown: the source reports lost events at this time, and `--strict-loss` is given.
    Lossy,
    /// Running: not from a chain of switches but inferred, and `--inferred` is given.
    Inferred,
    /// Ready: it left its CPU while it was runnable, and the cause was not recorded.
    LeftRunnable,
    /// Ready: it left its CPU because its cgroup's CPU quota was used up.
    Throttled,
    /// Ready: a kernel thread that gave way.
    GaveWay,
    /// Ready: it was woken on its way to sleep, and left its CPU without sleeping.
    NeverSlept,
    /// Unknown: it was woken for or moved to a CPU that was not recorded, where it may have run.
    CpuNotRecorded,
    /// Unknown: an event shows that it runs, and its switch-in was not recorded.
    NoSwitchIn,
    /// Unknown: before the snapshot that shows it.
    BeforeSnapshot,
}

impl Reason {
    /// All causes that are not a kernel state letter, in the order of [`Self::number`].
    pub const NUMBERED: [Self; 22] = [
        Self::None,
        Self::Preempted,
        Self::Yielded,
        Self::Woken,
        Self::New,
        Self::WokenBefore,
        Self::Snapshot,
        Self::BeforeFirst,
        Self::InconsistentSwitch,
        Self::NoWaking,
        Self::InstanceLost,
        Self::Undecided,
        Self::NotRecorded,
        Self::Lossy,
        Self::Inferred,
        Self::LeftRunnable,
        Self::Throttled,
        Self::GaveWay,
        Self::NeverSlept,
        Self::CpuNotRecorded,
        Self::NoSwitchIn,
        Self::BeforeSnapshot,
    ];

    /// Returns its index in [`Self::NUMBERED`]. Kernel state letters have greater values, so that either fits into one byte.
    ///
    /// # Errors
    /// The state letter, if it is one.
    #[inline]
    pub fn number(self) -> Result<u8, u8> {
        Ok(match self {
            Self::State(state_letter) => return Err(state_letter),
            Self::None => 0,
            Self::Preempted => 1,
            Self::Yielded => 2,
            Self::Woken => 3,
            Self::New => 4,
            Self::WokenBefore => 5,
            Self::Snapshot => 6,
            Self::BeforeFirst => 7,
            Self::InconsistentSwitch => 8,
            Self::NoWaking => 9,
            Self::InstanceLost => 10,
            Self::Undecided => 11,
            Self::NotRecorded => 12,
            Self::Lossy => 13,
            Self::Inferred => 14,
            Self::LeftRunnable => 15,
            Self::Throttled => 16,
            Self::GaveWay => 17,
            Self::NeverSlept => 18,
            Self::CpuNotRecorded => 19,
            Self::NoSwitchIn => 20,
            Self::BeforeSnapshot => 21,
        })
    }

    /// Whether a thread is ready because it left its CPU while it was runnable.
    #[must_use]
    #[inline]
    pub fn left_runnable(self) -> bool {
        matches!(
            self,
            Self::Preempted | Self::Yielded | Self::LeftRunnable | Self::Throttled | Self::GaveWay | Self::NeverSlept
        )
    }

    /// Returns the cause of an index or a state letter.
    #[inline]
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        Self::NUMBERED.get(usize::from(number)).copied().unwrap_or(Self::State(number))
    }

    /// Returns the value in tables: the state letter, otherwise a word in snake_case; `None` for no cause.
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
                Self::State(state_letter) => return Some(char::from(state_letter).to_string()),
                Self::Snapshot => "snapshot",
                Self::BeforeFirst => "before_first_event",
                Self::InconsistentSwitch => "inconsistent_switch",
                Self::NoWaking => "no_waking",
                Self::InstanceLost => "instance_lost",
                Self::Undecided => "undecided",
                Self::NotRecorded => "not_recorded",
                Self::Lossy => "lossy",
                Self::Inferred => "inferred",
                Self::LeftRunnable => "left_runnable",
                Self::Throttled => "throttled",
                Self::GaveWay => "gave_way",
                Self::NeverSlept => "woken_before_sleep",
                Self::CpuNotRecorded => "cpu_not_recorded",
                Self::NoSwitchIn => "no_switch_in",
                Self::BeforeSnapshot => "before_snapshot",
            }
            .to_owned(),
        )
    }
}

/// A span of time in which a thread was in one state.
///
/// ```
/// use model::{CpuId, MaybeNs, Ns, Prio, Reason, Span, ThreadKey, ThreadState, ThreadStretch, Tid};
///
/// // An interrupt woke the thread at 10 ns. It was ready until 15 ns.
/// let ready = ThreadStretch {
///     span: Span::new(Ns(10), Ns(15)), thread: ThreadKey(1), tid: Tid(700),
///     state: ThreadState::Ready, reason: Reason::Woken, waker_thread: ThreadKey::IDLE,
///     cpu: Some(CpuId(0)), exec: MaybeNs::NONE, prio: Prio::new(120),
/// };
/// assert_eq!((ready.span.len(), ready.state.as_str()), (Ns(5), "ready"));
/// assert!(!ready.reason.left_runnable());
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ThreadStretch {
    /// The time.
    pub span: Span,
    /// The thread instance.
    pub thread: ThreadKey,
    /// Its TID.
    pub tid: Tid,
    /// Its state.
    pub state: ThreadState,
    /// The cause of its state.
    pub reason: Reason,
    /// Running: the CPU it ran on. Ready: the CPU of the run queue on which it began ([`crate::Change::Queue`] shows the next
    /// ones). Otherwise: the CPU it ran on last.
    pub cpu: Option<CpuId>,
    /// Ready: the thread that woke it, if known; [`ThreadKey::IDLE`]: an interrupt.
    pub waker_thread: ThreadKey,
    /// Running: the CPU time that the kernel charged, if known.
    pub exec: MaybeNs,
    /// Its last recorded dynamic priority.
    pub prio: Prio,
}

/// A span of time in which a CPU was in one state.
///
/// ```
/// use model::{CpuId, CpuState, CpuStretch, Ns, Span, ThreadKey};
///
/// let (cpu, span) = (CpuId(0), Span::new(Ns(0), Ns(5)));
/// let idle = CpuStretch { span, cpu, state: CpuState::Idle, thread: ThreadKey::IDLE };
/// // What ran here is not known, so it is neither busy nor idle time.
/// let span = Span::new(Ns(5), Ns(9));
/// let unknown = CpuStretch { span, cpu, state: CpuState::Unknown, thread: ThreadKey::UNKNOWN };
/// assert_eq!([idle, unknown].map(|s| (s.state.as_str(), s.span.len())), [("idle", Ns(5)), ("unknown", Ns(4))]);
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CpuStretch {
    /// The time.
    pub span: Span,
    /// The CPU.
    pub cpu: CpuId,
    /// Its state.
    pub state: CpuState,
    /// Busy: the thread. Idle: [`ThreadKey::IDLE`]. Unknown: [`ThreadKey::UNKNOWN`].
    pub thread: ThreadKey,
}

/// The evidence that a thread ran in time that no chain of switches covers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum Basis {
    /// The CPU's first switch switches it out, and no event shows another thread before.
    FirstSwitch,
    /// Events on that CPU name it as the current task.
    Named,
}

impl Basis {
    /// All kinds of evidence.
    pub const ALL: [Self; 2] = [Self::FirstSwitch, Self::Named];

    /// Returns the value in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirstSwitch => "first_switch",
            Self::Named => "named",
        }
    }
}

/// A span of time that is unknown from the chains of switches, and in which the CPU is inferred to have run the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InferredStretch {
    /// The time.
    pub span: Span,
    /// The CPU.
    pub cpu: CpuId,
    /// The thread instance; [`ThreadKey::IDLE`]: the CPU's idle task.
    pub thread: ThreadKey,
    /// Its TID.
    pub tid: Tid,
    /// The evidence.
    pub basis: Basis,
}
