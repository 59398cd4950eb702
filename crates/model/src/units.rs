//! Quantities and identities as types, so that different units and ids cannot be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Nanoseconds: a duration, or a point in time. Points in time count from the start of the recording once `ingest` has set the
/// origin; before that, they are on the source's own clock.
///
/// ```
/// use model::Ns;
///
/// assert_eq!([Ns(3), Ns(4)].into_iter().sum::<Ns>(), Ns(7));
/// assert_eq!(Ns(3) - Ns(4), Ns(-1));
/// // A damaged source may contain any time, so sums and differences stop at the limits.
/// assert_eq!(Ns::MAX + Ns(1), Ns::MAX);
/// assert_eq!((Ns(14) / 3, Ns(14) * 3, Ns(14).scaled(0.25), Ns::nearest(3.5)), (Ns(4), Ns(42), Ns(3), Ns(4)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Ns(pub i64);

impl Ns {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The latest time.
    pub const MAX: Self = Self(i64::MAX);
    /// The earliest time.
    pub const MIN: Self = Self(i64::MIN);

    /// Returns a calculated time, without its fraction.
    #[must_use]
    pub const fn whole(ns: f64) -> Self {
        Self(ns as i64)
    }

    /// Returns a calculated time, rounded.
    #[must_use]
    pub fn nearest(ns: f64) -> Self {
        Self(ns.round() as i64)
    }

    /// Returns the number, for calculations with fractions.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns the time multiplied by a factor, without its fraction.
    #[must_use]
    pub const fn scaled(self, factor: f64) -> Self {
        Self::whole(self.as_f64() * factor)
    }
}

impl Add for Ns {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Ns {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Ns {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Ns {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<i64> for Ns {
    type Output = Self;
    fn mul(self, count: i64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

/// Divides a sum by a count; by 0 as by 1.
impl Div<i64> for Ns {
    type Output = Self;
    fn div(self, count: i64) -> Self {
        Self(self.0.checked_div(count).unwrap_or(self.0))
    }
}

impl std::iter::Sum for Ns {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl<'a> std::iter::Sum<&'a Self> for Ns {
    fn sum<I: Iterator<Item = &'a Self>>(iter: I) -> Self {
        iter.copied().sum()
    }
}

/// A time or a count: two of the same unit can be added up, and one be a share of the other.
pub trait Amount: Copy + Default {
    /// Returns the number.
    fn number(self) -> i64;

    /// Returns the sum, which stops at the limits.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

impl Amount for Ns {
    fn number(self) -> i64 {
        self.0
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Amount for i64 {
    fn number(self) -> i64 {
        self
    }

    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

/// An optional time in the size of [`Ns`], for the many events and stretches.
///
/// ```
/// use model::{MaybeNs, Ns};
///
/// assert_eq!(MaybeNs::from(Some(Ns(5))).get(), Some(Ns(5)));
/// assert_eq!(MaybeNs::NONE.get(), None);
/// assert_eq!(size_of::<MaybeNs>(), size_of::<Ns>());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MaybeNs(i64);

impl MaybeNs {
    /// Not recorded, or there is none.
    pub const NONE: Self = Self(i64::MIN);

    /// Returns a known time; [`Ns::MIN`], which no source has, stands for none.
    #[inline]
    #[must_use]
    pub const fn new(time: Ns) -> Self {
        Self(time.0)
    }

    /// Returns the time, if known.
    #[inline]
    #[must_use]
    pub const fn get(self) -> Option<Ns> {
        if self.0 == Self::NONE.0 { None } else { Some(Ns(self.0)) }
    }

    /// Returns it as a single number, for rows of fixed size.
    #[inline]
    #[must_use]
    pub const fn to_word(self) -> i64 {
        self.0
    }

    /// Returns the value of a result of [`Self::to_word`].
    #[inline]
    #[must_use]
    pub const fn from_word(word: i64) -> Self {
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

/// An optional count in the size of a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MaybeCount(i64);

impl MaybeCount {
    /// Not counted.
    pub const UNKNOWN: Self = Self(-1);

    /// Returns a known count; a negative number stands for none.
    #[inline]
    #[must_use]
    pub const fn new(count: i64) -> Self {
        Self(if count < 0 { Self::UNKNOWN.0 } else { count })
    }

    /// Returns the count, if known; it is not negative.
    #[inline]
    #[must_use]
    pub const fn get(self) -> Option<i64> {
        if self.0 == Self::UNKNOWN.0 { None } else { Some(self.0) }
    }

    /// Returns it as a single number, for rows of fixed size. [`Self::new`] is the inverse.
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

/// An optional dynamic priority on the kernel's scale: 0–99 real time, 100–139 fair (120 = nice 0), −1 deadline.
///
/// ```
/// use model::Prio;
///
/// let (nice_0, unknown) = (Prio::new(120), Prio::UNKNOWN);
/// assert_eq!((nice_0.get(), unknown.get()), (Some(120), None));
/// assert_eq!(unknown.or(nice_0), nice_0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Prio(i16);

impl Prio {
    /// Not recorded.
    pub const UNKNOWN: Self = Self(i16::MIN);

    /// Returns a known priority; `i16::MIN`, which the kernel does not have, stands for none.
    #[inline]
    #[must_use]
    pub const fn new(number: i16) -> Self {
        Self(number)
    }

    /// Returns the number, if known. A smaller number is a higher priority.
    #[inline]
    #[must_use]
    pub const fn get(self) -> Option<i16> {
        if self.0 == Self::UNKNOWN.0 { None } else { Some(self.0) }
    }

    /// Returns this priority if it is known, otherwise the other one.
    #[inline]
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        if self.0 == Self::UNKNOWN.0 { other } else { self }
    }

    /// Returns it as a single number, for rows of fixed size.
    #[inline]
    #[must_use]
    pub const fn to_word(self) -> i16 {
        self.0
    }

    /// Returns the value of a result of [`Self::to_word`].
    #[inline]
    #[must_use]
    pub const fn from_word(word: i16) -> Self {
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

/// A time span from `start` to `end`, excluding the end.
///
/// ```
/// use model::{Ns, Span};
///
/// let span = Span::new(Ns(10), Ns(30));
/// assert_eq!(span.len(), Ns(20));
/// assert!(span.has(Ns(10)) && !span.has(Ns(30)));
/// assert_eq!(span.overlap(Span::new(Ns(20), Ns(90))), Some(Span::new(Ns(20), Ns(30))));
/// assert_eq!(span.overlap(Span::new(Ns(30), Ns(90))), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Span {
    /// The start.
    pub start: Ns,
    /// The end, the first instant after the span.
    pub end: Ns,
}

impl Span {
    /// Returns a span. If the end is before the start, the span is empty.
    #[must_use]
    pub fn new(start: Ns, end: Ns) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Returns its duration.
    #[must_use]
    pub fn len(self) -> Ns {
        self.end - self.start
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether it contains an instant.
    #[must_use]
    pub fn has(self, at: Ns) -> bool {
        self.start <= at && at < self.end
    }

    /// Returns the intersection with `other`, if it is not empty.
    #[must_use]
    pub fn overlap(self, other: Self) -> Option<Self> {
        let both = Self { start: self.start.max(other.start), end: self.end.min(other.end) };
        (both.start < both.end).then_some(both)
    }

    /// Returns the spans in order, without empty ones, and those that overlap or touch as one.
    ///
    /// ```
    /// use model::{Ns, Span};
    ///
    /// let span = |start, end| Span::new(Ns(start), Ns(end));
    /// assert_eq!(Span::merged(vec![span(5, 9), span(0, 2), span(1, 4), span(7, 7)]), [span(0, 4), span(5, 9)]);
    /// ```
    #[must_use]
    pub fn merged(mut spans: Vec<Self>) -> Vec<Self> {
        spans.retain(|s| !s.is_empty());
        spans.sort_unstable_by_key(|s| (s.start, s.end));
        let mut out: Vec<Self> = Vec::with_capacity(spans.len());
        for span in spans {
            match out.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => out.push(span),
            }
        }
        out
    }
}

/// A CPU (logical processor), by its number in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CpuId(pub u32);

impl CpuId {
    /// The CPU was not recorded (as in many recordings of single threads).
    pub const UNKNOWN: Self = Self(u32::MAX);
}

/// A thread ID in the recorder's PID namespace. TIDs are reused: [`ThreadKey`] identifies a thread instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Tid(pub i32);

impl Tid {
    /// The idle task of any CPU.
    pub const IDLE: Self = Self(0);
    /// Not recorded, as for the other thread of a switch if the source records only one.
    pub const UNKNOWN: Self = Self(-1);
}

impl Display for Tid {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(to)
    }
}

/// A process ID (thread group) in the recorder's PID namespace; −1 if unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Pid(pub i32);

impl Pid {
    /// Not recorded.
    pub const UNKNOWN: Self = Self(-1);
}

/// A thread instance: 0 is the idle task; 1, 2, … by first appearance in the trace.
///
/// ```
/// use model::{ThreadKey, Tid};
/// use std::collections::BTreeMap;
///
/// // After a thread has exited, the kernel may give its TID to a new one, which has a key of its own.
/// let instances = [(ThreadKey(1), Tid(700)), (ThreadKey(2), Tid(700))];
/// assert_eq!(BTreeMap::from(instances).len(), 2);
/// // Keys of threads are greater than 0.
/// assert!(ThreadKey::UNKNOWN < ThreadKey::IDLE && ThreadKey::IDLE < ThreadKey(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct ThreadKey(pub i64);

impl ThreadKey {
    /// The idle task, which is in no thread table.
    pub const IDLE: Self = Self(0);
    /// Unknown, as for the thread of an unknown stretch of a CPU.
    pub const UNKNOWN: Self = Self(-1);
}

/// A process, numbered by first appearance in the trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ProcessKey(pub i64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_values_have_the_size_of_their_numbers() {
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
    fn unknown_counts_have_no_number() {
        let all = [-1, -7, 0, 1, i64::MAX].map(MaybeCount::new);
        assert_eq!(all.map(MaybeCount::get), [None, None, Some(0), Some(1), Some(i64::MAX)]);
        assert_eq!(all.map(|count| MaybeCount::new(count.to_word())), all);
        let counts = [None, Some(0), Some(u64::MAX)].map(MaybeCount::from);
        assert_eq!(counts.map(MaybeCount::get), [None, Some(0), Some(i64::MAX)]);
    }

    #[test]
    fn words_round_trip() {
        for time in [MaybeNs::NONE, MaybeNs::new(Ns(7))] {
            assert_eq!(MaybeNs::from_word(time.to_word()), time);
        }
        for prio in [Prio::UNKNOWN, Prio::new(-1)] {
            assert_eq!(Prio::from_word(prio.to_word()), prio);
        }
    }

    #[test]
    fn a_known_priority_replaces_an_earlier_one() {
        let (old, new) = (Prio::new(120), Prio::new(100));
        assert_eq!([new.or(old), Prio::UNKNOWN.or(old), new.or(Prio::UNKNOWN)], [new, old, new]);
        assert_eq!(format!("{old:?} {:?}", MaybeNs::NONE), "Some(120) None");
    }
}
