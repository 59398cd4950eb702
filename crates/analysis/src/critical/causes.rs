//! The pieces of the path, cause by cause.

use super::Piece;
use model::{CoreType, CpuState, Ns, ThreadKey, ThreadState};
use std::collections::BTreeMap;

/// Why time passed on the path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// A thread ran on a core of this type, beside no sibling that is known to have been busy.
    Running(Option<CoreType>),
    /// A thread ran beside a busy sibling.
    BesideBusy(Option<CoreType>),
    /// A thread was ready behind this one; [`ThreadKey::UNKNOWN`]: nobody can say behind what.
    Ready(ThreadKey),
    /// A thread was ready while the CPU of its run queue was idle.
    WakeupLatency,
    /// A thread's cgroup's CPU quota held it.
    Throttled,
    /// A thread waited for something.
    Blocked,
    /// The thread had exited.
    Exited,
    /// Nobody can say what it did.
    Unknown,
}

impl Cause {
    /// Of a piece.
    #[must_use]
    pub fn of(piece: &Piece) -> Self {
        match piece.state {
            ThreadState::Running if piece.sibling == Some(CpuState::Busy) => Self::BesideBusy(piece.core_type),
            ThreadState::Running => Self::Running(piece.core_type),
            ThreadState::Ready if piece.throttled => Self::Throttled,
            ThreadState::Ready if piece.is_latency() => Self::WakeupLatency,
            ThreadState::Ready => Self::Ready(piece.behind()),
            ThreadState::Blocked => Self::Blocked,
            ThreadState::Exited => Self::Exited,
            ThreadState::Unknown => Self::Unknown,
        }
    }

    /// The word in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::BesideBusy(_) => "running_beside_busy",
            Self::Ready(_) => "ready",
            Self::WakeupLatency => "wakeup_latency",
            Self::Throttled => "throttled",
            Self::Blocked => "blocked",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }

    /// On which type of core a thread ran.
    #[must_use]
    pub fn core_type(self) -> Option<CoreType> {
        match self {
            Self::Running(of) | Self::BesideBusy(of) => of,
            _ => None,
        }
    }

    /// Behind which thread another was ready, where that is known.
    #[must_use]
    pub fn behind(self) -> Option<ThreadKey> {
        match self {
            Self::Ready(behind) if behind != ThreadKey::UNKNOWN => Some(behind),
            _ => None,
        }
    }
}

/// A fold over the pieces of a window, which the times of all causes tile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Causes(BTreeMap<Cause, Ns>);

impl Causes {
    /// The next piece.
    pub fn push(&mut self, piece: &Piece) {
        self.add(Cause::of(piece), piece.span.len());
    }

    /// More time of a cause.
    pub fn add(&mut self, cause: Cause, time: Ns) {
        let sum = self.0.entry(cause).or_default();
        *sum = *sum + time;
    }

    /// For how long; nothing, where it did not occur.
    #[must_use]
    pub fn time(&self, of: Cause) -> Ns {
        self.0.get(&of).copied().unwrap_or_default()
    }

    /// Those that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Ns)> + '_ {
        self.0.iter().map(|(cause, time)| (*cause, *time))
    }

    /// All of them.
    #[must_use]
    pub fn sum(&self) -> Ns {
        self.0.values().copied().sum()
    }
}
