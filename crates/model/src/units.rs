//! Quantities and identities as types, so that a nanosecond never meets a microsecond and a thread number never a
//! process number by accident.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// Nanoseconds: a point on the trace's clock (counted from the start of the recording once `ingest` has placed the
/// origin, on the source's own clock before) or a length of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Ns(pub i64);

impl Ns {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// Later than everything.
    pub const MAX: Self = Self(i64::MAX);
    /// Earlier than everything.
    pub const MIN: Self = Self(i64::MIN);
}

impl Add for Ns {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Ns {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for Ns {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// From `start` to `end`, the end not included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Span {
    /// First instant.
    pub start: Ns,
    /// First instant after it.
    pub end: Ns,
}

impl Span {
    /// A span; an end before the start is taken as the start.
    #[must_use]
    pub fn new(start: Ns, end: Ns) -> Self {
        Self { start, end: end.max(start) }
    }

    /// How long it is.
    #[must_use]
    pub fn len(self) -> Ns {
        self.end - self.start
    }

    /// Whether it has no length.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether an instant lies in it; its end does not.
    #[must_use]
    pub fn has(self, at: Ns) -> bool {
        self.start <= at && at < self.end
    }

    /// The part of it that lies in `other` too, if any.
    #[must_use]
    pub fn overlap(self, other: Self) -> Option<Self> {
        let both = Self { start: self.start.max(other.start), end: self.end.min(other.end) };
        (both.start < both.end).then_some(both)
    }
}

/// A logical processor, by the kernel's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CpuId(pub u32);

impl CpuId {
    /// The source does not say where (recordings of single threads often do not).
    pub const UNKNOWN: Self = Self(u32::MAX);
}

/// A thread's number in the recorder's namespace. Numbers are used again: [`ThreadKey`] is the identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Tid(pub i32);

impl Tid {
    /// The idle task of whichever CPU.
    pub const IDLE: Self = Self(0);
    /// A source that tells only one side of a switch says this of the other.
    pub const UNKNOWN: Self = Self(-1);
}

/// A process number (thread group) in the recorder's namespace; −1 where unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Pid(pub i32);

impl Pid {
    /// Not told by the source.
    pub const UNKNOWN: Self = Self(-1);
}

/// One life of one thread: 0 is idle, 1, 2, … by first appearance in the trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct ThreadKey(pub i64);

impl ThreadKey {
    /// The idle task; it is in no thread table.
    pub const IDLE: Self = Self(0);
    /// Nobody known: the thread of an unknown stretch of a CPU.
    pub const UNKNOWN: Self = Self(-1);
}

/// One process of the trace, by first appearance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ProcessKey(pub i64);
