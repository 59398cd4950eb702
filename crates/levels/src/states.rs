//! The detail of states: the states of a thread with its CPU, or of a CPU with its thread.

use crate::Detail;
use crate::detail::{Extent, unzigzag, zigzag};

/// The input of the writer: a thread or a CPU was in one state for a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// The number of the track.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// The state; the caller defines the numbers.
    pub state: u8,
    /// A thread's CPU, or a CPU's thread; −1 if there is none.
    pub what: i64,
}

/// A part of a track that is drawn as one: a stretch, or consecutive short stretches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The number of the track.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// The state with the most time; the lower number of equal ones.
    pub state: u8,
    /// The time in that state, ns.
    pub state_ns: i64,
    /// The CPU or thread with the most time in that state; the lower number of equal ones.
    pub what: i64,
    /// The time with that CPU or thread, ns.
    pub what_ns: i64,
    /// The number of stretches.
    pub stretches: u32,
}

impl From<Stretch> for Slice {
    fn from(s: Stretch) -> Self {
        let len = s.end.saturating_sub(s.start);
        Self {
            track: s.track,
            start: s.start,
            end: s.end,
            state: s.state,
            state_ns: len,
            what: s.what,
            what_ns: len,
            stretches: 1,
        }
    }
}

/// A state, and its CPU or thread.
type Key = (u8, i64);

/// The detail of states: the time by state and by CPU or thread.
#[derive(Debug)]
pub struct States(Sums);

#[derive(Debug)]
enum Sums {
    /// A single state and CPU or thread, by far the most common case.
    One(Key, i64),
    /// Sorted by key. There are usually few, and a sorted vector is then faster than a map.
    Many(Vec<(Key, i64)>),
}

impl Detail for States {
    type Input = Stretch;
    type Drawn = Slice;

    fn sums_of(s: &Stretch) -> (Extent, Self) {
        let len = s.end.saturating_sub(s.start);
        ((s.track, s.start, s.end), Self(Sums::One((s.state, s.what), len)))
    }

    fn add(&mut self, next: Self) {
        self.0.add(next.0);
    }

    fn drawn(&self, (track, start, end): Extent, stretches: u32) -> Slice {
        let (state, state_ns, what, what_ns) = match &self.0 {
            Sums::One((state, what), ns) => (*state, *ns, *what, *ns),
            Sums::Many(sums) => largest(sums),
        };
        Slice { track, start, end, state, state_ns, what, what_ns, stretches }
    }

    fn extent(s: &Slice) -> Extent {
        (s.track, s.start, s.end)
    }

    fn stretches(s: &Slice) -> u32 {
        s.stretches
    }

    fn to_input(s: &Slice) -> Stretch {
        let Slice { track, start, end, state, what, .. } = *s;
        Stretch { track, start, end, state, what }
    }

    /// Most slices are one stretch, so only the difference from that is stored.
    fn columns(s: &Slice) -> [u64; 5] {
        let len = s.end.wrapping_sub(s.start);
        [
            u64::from(s.state),
            zigzag(len.wrapping_sub(s.state_ns)),
            zigzag(s.what),
            zigzag(s.state_ns.wrapping_sub(s.what_ns)),
            u64::from(s.stretches.wrapping_sub(1)),
        ]
    }

    fn from_columns((track, start, end): Extent, columns: [u64; 5]) -> Option<Slice> {
        let [state, not_state, what, not_what, more] = columns;
        let state_ns = end.checked_sub(start)?.checked_sub(unzigzag(not_state))?;
        Some(Slice {
            track,
            start,
            end,
            state: u8::try_from(state).ok()?,
            state_ns,
            what: unzigzag(what),
            what_ns: state_ns.checked_sub(unzigzag(not_what))?,
            stretches: u32::try_from(more).ok()?.checked_add(1)?,
        })
    }
}

impl Sums {
    fn add(&mut self, next: Self) {
        match (&mut *self, next) {
            (Self::One(key, sum), Self::One(next, ns)) if *key == next => *sum = sum.saturating_add(ns),
            (Self::One(key, sum), Self::One(next, ns)) => {
                let (own, next) = ((*key, *sum), (next, ns));
                *self = Self::Many(if own < next { vec![own, next] } else { vec![next, own] });
            }
            (Self::One(key, sum), Self::Many(mut next)) => {
                put(&mut next, *key, *sum);
                *self = Self::Many(next);
            }
            (Self::Many(sums), Self::One(key, ns)) => put(sums, key, ns),
            (Self::Many(sums), Self::Many(next)) => *sums = merged(sums, &next),
        }
    }
}

/// Adds the time of one key.
fn put(sums: &mut Vec<(Key, i64)>, key: Key, ns: i64) {
    match sums.binary_search_by_key(&key, |sum| sum.0) {
        Ok(at) => sums[at].1 = sums[at].1.saturating_add(ns),
        Err(at) => sums.insert(at, (key, ns)),
    }
}

/// Merges two sorted lists.
fn merged(mut a: &[(Key, i64)], mut b: &[(Key, i64)]) -> Vec<(Key, i64)> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        if first.0 == other.0 {
            all.push((first.0, first.1.saturating_add(other.1)));
            (a, b) = (rest, others);
        } else if first.0 < other.0 {
            all.push(*first);
            a = rest;
        } else {
            all.push(*other);
            b = others;
        }
    }
    all.extend_from_slice(a);
    all.extend_from_slice(b);
    all
}

/// Returns the state with the most time, its time, the CPU or thread with the most of that, and its time. The lower number of equal
/// ones is chosen.
fn largest(sums: &[(Key, i64)]) -> (u8, i64, i64, i64) {
    let mut largest = (0, 0, -1, 0);
    for of_state in sums.chunk_by(|a, b| a.0.0 == b.0.0) {
        let state_ns = of_state.iter().fold(0i64, |sum, (_, ns)| sum.saturating_add(*ns));
        if state_ns > largest.1 {
            // `max_by_key` returns the last of equal ones: in reverse order, the one with the lowest number.
            let longest = of_state.iter().rev().max_by_key(|(_, ns)| *ns);
            largest = longest.map_or(largest, |((state, what), ns)| (*state, state_ns, *what, *ns));
        }
    }
    largest
}
