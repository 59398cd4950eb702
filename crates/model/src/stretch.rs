//! What threads and CPUs did: finished stretches of time, each in one state.

use crate::{CpuId, MaybeNs, Prio, Span, ThreadKey, Tid};
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
    /// Running: where. Ready: on whose run queue it began ([`crate::Change::Queue`] shows the next ones). Else: where it was last.
    pub cpu: Option<CpuId>,
    /// Ready: the thread that woke it, where it is known; [`ThreadKey::IDLE`]: an interrupt.
    pub waker_thread: ThreadKey,
    /// Running: what the kernel charged, where known.
    pub exec: MaybeNs,
    /// Its dynamic priority, where the source told it last.
    pub prio: Prio,
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
