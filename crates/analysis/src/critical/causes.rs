//! The pieces of the path, by cause.

use super::Piece;
use model::{CoreType, CpuState, Ns, ThreadKey, ThreadState};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Why time passed on the path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// A thread ran on a core of this type, with no SMT sibling known to be busy.
    Running(Option<CoreType>),
    /// A thread ran while its SMT sibling was busy.
    SiblingBusy(Option<CoreType>),
    /// A thread was ready while this one ran instead; [`ThreadKey::UNKNOWN`] if unknown.
    Ready(ThreadKey),
    /// A thread was ready while the CPU of its run queue was idle.
    WakeupLatency,
    /// A thread was throttled by its cgroup's CPU quota.
    Throttled,
    /// A thread waited for something.
    Blocked,
    /// The thread had exited.
    Exited,
    /// The state is unknown.
    Unknown,
}

impl Cause {
    /// Returns the cause of a piece.
    #[must_use]
    pub fn of(piece: &Piece) -> Self {
        match piece.state {
            ThreadState::Running if piece.sibling == Some(CpuState::Busy) => Self::SiblingBusy(piece.core_type),
            ThreadState::Running => Self::Running(piece.core_type),
            ThreadState::Ready if piece.throttled => Self::Throttled,
            ThreadState::Ready if piece.is_latency() => Self::WakeupLatency,
            ThreadState::Ready => Self::Ready(piece.ran_instead()),
            ThreadState::Blocked => Self::Blocked,
            ThreadState::Exited => Self::Exited,
            ThreadState::Unknown => Self::Unknown,
        }
    }

    /// Returns the name in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::SiblingBusy(_) => "running_sibling_busy",
            Self::Ready(_) => "ready",
            Self::WakeupLatency => "wakeup_latency",
            Self::Throttled => "throttled",
            Self::Blocked => "blocked",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the type of core on which a thread ran.
    #[must_use]
    pub fn core_type(self) -> Option<CoreType> {
        match self {
            Self::Running(of) | Self::SiblingBusy(of) => of,
            _ => None,
        }
    }

    /// Returns the thread that ran instead of a ready one, if it is known.
    #[must_use]
    pub fn ran_instead(self) -> Option<ThreadKey> {
        match self {
            Self::Ready(thread) if thread != ThreadKey::UNKNOWN => Some(thread),
            _ => None,
        }
    }
}

impl From<&Piece> for Cause {
    fn from(piece: &Piece) -> Self {
        Self::of(piece)
    }
}

/// A cause, and the thread on the path whose time this is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ThreadCause {
    /// The cause.
    pub cause: Cause,
    /// The thread.
    pub thread: ThreadKey,
}

impl From<&Piece> for ThreadCause {
    fn from(piece: &Piece) -> Self {
        Self { cause: Cause::of(piece), thread: piece.thread }
    }
}

/// The time of each cause. A fold over the pieces of a window; the times tile the window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Causes<C = Cause>(BTreeMap<C, Ns>);

impl<C> Default for Causes<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<C: Ord + Copy> Causes<C> {
    /// Adds the next piece.
    pub fn push(&mut self, piece: &Piece)
    where
        C: for<'p> From<&'p Piece>,
    {
        self.add(C::from(piece), piece.span.len());
    }

    /// Adds time to a cause.
    pub fn add(&mut self, cause: C, time: Ns) {
        let sum = self.0.entry(cause).or_default();
        *sum += time;
    }

    /// Returns the time of a cause; zero if it did not occur.
    #[must_use]
    pub fn time(&self, of: C) -> Ns {
        self.0.get(&of).copied().unwrap_or_default()
    }

    /// Iterates over the causes that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (C, Ns)> + '_ {
        self.0.iter().map(|(cause, time)| (*cause, *time))
    }

    /// Returns the mean of several windows, of which these are the sums. Rounding is done on sums, so that the causes still add up to the
    /// mean time in whole nanoseconds.
    #[must_use]
    pub fn mean(&self, windows: i64) -> Self {
        let (mut mean, mut sum, mut rounded) = (Self::default(), 0, 0);
        for (cause, time) in self.iter() {
            sum += time.0;
            mean.add(cause, Ns(sum / windows.max(1) - rounded));
            rounded = sum / windows.max(1);
        }
        mean
    }

    /// Returns by how much each cause took longer than in a typical window, the largest first.
    #[must_use]
    pub fn longer_than(&self, typical: &Self) -> Vec<(Ns, C)> {
        let all: BTreeSet<C> = self.iter().chain(typical.iter()).map(|(cause, _)| cause).collect();
        let mut longer: Vec<(Ns, C)> =
            all.into_iter().map(|cause| (self.time(cause) - typical.time(cause), cause)).collect();
        longer.sort_by_key(|(more, cause)| (Reverse(*more), *cause));
        longer
    }

    /// Returns the sum of all causes.
    #[must_use]
    pub fn sum(&self) -> Ns {
        self.0.values().copied().sum()
    }
}
