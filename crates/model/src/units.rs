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

/// A time, where there is one and its source tells it, in the room of [`Ns`]: events and stretches pass by the million.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MaybeNs(i64);

impl MaybeNs {
    /// Not told, or there is none.
    pub const NONE: Self = Self(i64::MIN);

    /// A time that is told; [`Ns::MIN`], which no source tells, is none.
    #[inline]
    #[must_use]
    pub const fn new(time: Ns) -> Self {
        Self(time.0)
    }

    /// The time, where it is told.
    #[inline]
    #[must_use]
    pub const fn get(self) -> Option<Ns> {
        if self.0 == Self::NONE.0 { None } else { Some(Ns(self.0)) }
    }

    /// As one number, for rows of fixed size.
    #[inline]
    #[must_use]
    pub const fn to_word(self) -> i64 {
        self.0
    }

    /// What [`Self::to_word`] gave.
    #[inline]
    #[must_use]
    pub const fn of_word(word: i64) -> Self {
        Self(word)
    }
}

impl From<Option<Ns>> for MaybeNs {
    #[inline]
    fn from(time: Option<Ns>) -> Self {
        time.map_or(Self::NONE, Self::new)
    }
}

impl std::fmt::Debug for MaybeNs {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(to)
    }
}

/// How many, where that was counted, in the room of a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MaybeCount(i64);

impl MaybeCount {
    /// Not counted.
    pub const UNKNOWN: Self = Self(-1);

    /// A number that was counted; below 0, none was.
    #[inline]
    #[must_use]
    pub const fn new(count: i64) -> Self {
        Self(if count < 0 { Self::UNKNOWN.0 } else { count })
    }

    /// The number, where it was counted; it is not below 0.
    #[inline]
    #[must_use]
    pub const fn get(self) -> Option<i64> {
        if self.0 == Self::UNKNOWN.0 { None } else { Some(self.0) }
    }

    /// As one number, for rows of fixed size. [`Self::new`] takes it back.
    #[inline]
    #[must_use]
    pub const fn to_word(self) -> i64 {
        self.0
    }
}

impl From<Option<u64>> for MaybeCount {
    fn from(count: Option<u64>) -> Self {
        count.map_or(Self::UNKNOWN, |count| Self(i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

impl std::fmt::Debug for MaybeCount {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(to)
    }
}

/// A dynamic priority on the kernel's scale, where its source tells it: 0–99 real time, 100–139 fair (120 = nice 0), −1 deadline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Prio(i16);

impl Prio {
    /// Not told.
    pub const UNKNOWN: Self = Self(i16::MIN);

    /// A priority that is told; `i16::MIN`, which the kernel does not have, is none.
    #[inline]
    #[must_use]
    pub const fn new(number: i16) -> Self {
        Self(number)
    }

    /// Its number, where it is told. The smaller number goes first.
    #[inline]
    #[must_use]
    pub const fn get(self) -> Option<i16> {
        if self.0 == Self::UNKNOWN.0 { None } else { Some(self.0) }
    }

    /// This one, or where it is not told the other.
    #[inline]
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        if self.0 == Self::UNKNOWN.0 { other } else { self }
    }

    /// As one number, for rows of fixed size.
    #[inline]
    #[must_use]
    pub const fn to_word(self) -> i16 {
        self.0
    }

    /// What [`Self::to_word`] gave.
    #[inline]
    #[must_use]
    pub const fn of_word(word: i16) -> Self {
        Self(word)
    }
}

impl From<Option<i16>> for Prio {
    #[inline]
    fn from(number: Option<i16>) -> Self {
        number.map_or(Self::UNKNOWN, Self::new)
    }
}

impl std::fmt::Debug for Prio {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(to)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_untold_has_no_number_and_takes_no_room() {
        assert_eq!((MaybeNs::NONE.get(), Prio::UNKNOWN.get()), (None, None));
        for time in [Ns(i64::MIN + 1), Ns(-1), Ns::ZERO, Ns::MAX] {
            assert_eq!(MaybeNs::new(time).get(), Some(time));
            assert_eq!(MaybeNs::from(Some(time)), MaybeNs::new(time));
        }
        for number in [i16::MIN + 1, -1, 0, 120, i16::MAX] {
            assert_eq!(Prio::new(number).get(), Some(number));
            assert_eq!(Prio::from(Some(number)), Prio::new(number));
        }
        assert_eq!((MaybeNs::from(None), Prio::from(None)), (MaybeNs::NONE, Prio::UNKNOWN));
        assert_eq!((size_of::<MaybeNs>(), size_of::<Prio>()), (size_of::<Ns>(), size_of::<i16>()));
    }

    #[test]
    fn what_was_not_counted_is_no_number() {
        let all = [-1, -7, 0, 1, i64::MAX].map(MaybeCount::new);
        assert_eq!(all.map(MaybeCount::get), [None, None, Some(0), Some(1), Some(i64::MAX)]);
        assert_eq!(all.map(|count| MaybeCount::new(count.to_word())), all);
        let told = [None, Some(0), Some(u64::MAX)].map(MaybeCount::from);
        assert_eq!(told.map(MaybeCount::get), [None, Some(0), Some(i64::MAX)]);
    }

    #[test]
    fn words_come_back() {
        for time in [MaybeNs::NONE, MaybeNs::new(Ns(7))] {
            assert_eq!(MaybeNs::of_word(time.to_word()), time);
        }
        for prio in [Prio::UNKNOWN, Prio::new(-1)] {
            assert_eq!(Prio::of_word(prio.to_word()), prio);
        }
    }

    #[test]
    fn a_priority_that_is_told_goes_before_an_earlier_one() {
        let (old, new) = (Prio::new(120), Prio::new(100));
        assert_eq!([new.or(old), Prio::UNKNOWN.or(old), new.or(Prio::UNKNOWN)], [new, old, new]);
        assert_eq!(format!("{old:?} {:?}", MaybeNs::NONE), "Some(120) None");
    }
}
