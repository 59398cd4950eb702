//! What a thread or a CPU did: states, and the CPU or thread beside them.

use crate::Detail;
use crate::detail::{Place, folded, unfolded};

/// What the writer is told: a thread or a CPU was in one state for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// Whose.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// Which state; the numbers are the caller's.
    pub state: u8,
    /// A thread's CPU, a CPU's thread; −1 where there is none.
    pub what: i64,
}

/// A part of a track that is drawn as one: a stretch, or short stretches that follow one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Whose.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// The state that takes most of it; of equal ones the lower number.
    pub state: u8,
    /// For how long, ns.
    pub state_ns: i64,
    /// The CPU, or the thread, that takes most of that state's time; of equal ones the lower number.
    pub what: i64,
    /// For how long, ns.
    pub what_ns: i64,
    /// Of how many stretches.
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

/// A state, and the CPU or thread beside it.
type Of = (u8, i64);

/// The detail of states: time by state, and by CPU or thread.
#[derive(Debug)]
pub struct States(Sums);

#[derive(Debug)]
enum Sums {
    /// Of one state and CPU or thread, the most common case by far.
    One(Of, i64),
    /// In order, each once. Mostly few: a sorted vector is quicker to add to than a map, and to look through.
    Many(Vec<(Of, i64)>),
}

impl Detail for States {
    type Told = Stretch;
    type Drawn = Slice;

    fn of(s: &Stretch) -> (Place, Self) {
        let len = s.end.saturating_sub(s.start);
        ((s.track, s.start, s.end), Self(Sums::One((s.state, s.what), len)))
    }

    fn add(&mut self, next: Self) {
        self.0.add(next.0);
    }

    fn drawn(&self, (track, start, end): Place, stretches: u32) -> Slice {
        let (state, state_ns, what, what_ns) = match &self.0 {
            Sums::One((state, what), ns) => (*state, *ns, *what, *ns),
            Sums::Many(sums) => most(sums),
        };
        Slice { track, start, end, state, state_ns, what, what_ns, stretches }
    }

    fn place(s: &Slice) -> Place {
        (s.track, s.start, s.end)
    }

    fn stretches(s: &Slice) -> u32 {
        s.stretches
    }

    fn again(s: &Slice) -> Stretch {
        let Slice { track, start, end, state, what, .. } = *s;
        Stretch { track, start, end, state, what }
    }

    /// Most slices are one stretch: what differs from that is kept.
    fn columns(s: &Slice) -> [u64; 5] {
        let len = s.end.wrapping_sub(s.start);
        [
            u64::from(s.state),
            folded(len.wrapping_sub(s.state_ns)),
            folded(s.what),
            folded(s.state_ns.wrapping_sub(s.what_ns)),
            u64::from(s.stretches.wrapping_sub(1)),
        ]
    }

    fn from_columns((track, start, end): Place, columns: [u64; 5]) -> Option<Slice> {
        let [state, not_state, what, not_what, more] = columns;
        let state_ns = end.checked_sub(start)?.checked_sub(unfolded(not_state))?;
        Some(Slice {
            track,
            start,
            end,
            state: u8::try_from(state).ok()?,
            state_ns,
            what: unfolded(what),
            what_ns: state_ns.checked_sub(unfolded(not_what))?,
            stretches: u32::try_from(more).ok()?.checked_add(1)?,
        })
    }
}

impl Sums {
    fn add(&mut self, next: Self) {
        match (&mut *self, next) {
            (Self::One(of, sum), Self::One(next, ns)) if *of == next => *sum = sum.saturating_add(ns),
            (Self::One(of, sum), Self::One(next, ns)) => {
                let (own, next) = ((*of, *sum), (next, ns));
                *self = Self::Many(if own < next { vec![own, next] } else { vec![next, own] });
            }
            (Self::One(of, sum), Self::Many(mut next)) => {
                put(&mut next, *of, *sum);
                *self = Self::Many(next);
            }
            (Self::Many(sums), Self::One(of, ns)) => put(sums, of, ns),
            (Self::Many(sums), Self::Many(next)) => *sums = merged(sums, &next),
        }
    }
}

/// Adds one.
fn put(sums: &mut Vec<(Of, i64)>, of: Of, ns: i64) {
    match sums.binary_search_by_key(&of, |sum| sum.0) {
        Ok(at) => sums[at].1 = sums[at].1.saturating_add(ns),
        Err(at) => sums.insert(at, (of, ns)),
    }
}

/// Two in order, as one in order.
fn merged(mut a: &[(Of, i64)], mut b: &[(Of, i64)]) -> Vec<(Of, i64)> {
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

/// The state that takes most and for how long, and the CPU or thread that takes most of it; of equal ones the lower number.
fn most(sums: &[(Of, i64)]) -> (u8, i64, i64, i64) {
    let mut most = (0, 0, -1, 0);
    for of_state in sums.chunk_by(|a, b| a.0.0 == b.0.0) {
        let state_ns = of_state.iter().fold(0i64, |sum, (_, ns)| sum.saturating_add(*ns));
        if state_ns > most.1 {
            // From the end, and the last of equal ones: the one of the lowest number.
            let longest = of_state.iter().rev().max_by_key(|(_, ns)| *ns);
            most = longest.map_or(most, |((state, what), ns)| (*state, state_ns, *what, *ns));
        }
    }
    most
}
