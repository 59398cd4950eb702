//! Stretches at a width.

use crate::{Slice, Stretch};
use rustc_hash::FxHashMap;

/// Puts short stretches of each track together. Memory is bounded by the tracks that are open, and by the CPUs or threads
/// that share a width's time.
#[derive(Debug)]
pub struct Fold {
    width: i64,
    open: FxHashMap<u32, Piece>,
}

/// A stretch, or short ones that followed one another, with all their sums: what a narrower fold closes, a wider one goes on with.
#[derive(Debug)]
pub(crate) struct Piece {
    start: i64,
    end: i64,
    stretches: u32,
    sums: Sums,
}

/// Time by state, and by CPU or thread.
#[derive(Debug)]
enum Sums {
    /// Of one stretch, the most common case by far.
    One((u8, i64), i64),
    Many(FxHashMap<(u8, i64), i64>),
}

impl Fold {
    /// At a width, ns; up to 1, every stretch stays what it is.
    #[must_use]
    pub fn new(width: i64) -> Self {
        Self { width, open: FxHashMap::default() }
    }

    /// Takes a stretch, those of a track in order of start. One without length is not drawn and left out.
    pub fn push(&mut self, s: &Stretch, out: &mut impl FnMut(Slice)) {
        if s.end > s.start {
            self.add(s.track, s.into(), &mut |track, piece| out(piece.slice(track)));
        }
    }

    /// Hands out what is open, and forgets the tracks.
    pub fn finish(&mut self, out: &mut impl FnMut(Slice)) {
        self.close(&mut |track, piece| out(piece.slice(track)));
    }

    /// Takes what a narrower fold closed.
    pub(crate) fn add(&mut self, track: u32, piece: Piece, out: &mut dyn FnMut(u32, Piece)) {
        if self.width <= 1 {
            return out(track, piece);
        }
        let long = piece.len() >= self.width;
        let open = match self.open.remove(&track) {
            Some(open) if long || open.end != piece.start => {
                out(track, open);
                None
            }
            open => open,
        };
        let piece = match open {
            Some(open) => open.and(piece),
            None => piece,
        };
        if piece.len() >= self.width {
            out(track, piece);
        } else {
            self.open.insert(track, piece);
        }
    }

    /// [`Self::finish`], with all sums.
    pub(crate) fn close(&mut self, out: &mut dyn FnMut(u32, Piece)) {
        self.open.drain().for_each(|(track, piece)| out(track, piece));
    }
}

impl From<&Stretch> for Piece {
    fn from(s: &Stretch) -> Self {
        let len = s.end.saturating_sub(s.start);
        Self { start: s.start, end: s.end, stretches: 1, sums: Sums::One((s.state, s.what), len) }
    }
}

impl Piece {
    fn len(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// With the one that follows it.
    fn and(self, next: Self) -> Self {
        let mut sums = match self.sums {
            Sums::Many(sums) => sums,
            Sums::One(of, ns) => std::iter::once((of, ns)).collect(),
        };
        let mut add = |of, ns| {
            let sum: &mut i64 = sums.entry(of).or_default();
            *sum = sum.saturating_add(ns);
        };
        match next.sums {
            Sums::One(of, ns) => add(of, ns),
            Sums::Many(next) => next.into_iter().for_each(|(of, ns)| add(of, ns)),
        }
        let stretches = self.stretches.saturating_add(next.stretches);
        Self { start: self.start, end: next.end, stretches, sums: Sums::Many(sums) }
    }

    /// What is drawn of it.
    pub(crate) fn slice(&self, track: u32) -> Slice {
        let (state, state_ns, what, what_ns) = match &self.sums {
            Sums::One((state, what), ns) => (*state, *ns, *what, *ns),
            Sums::Many(sums) => most(sums),
        };
        let Self { start, end, stretches, .. } = *self;
        Slice { track, start, end, state, state_ns, what, what_ns, stretches }
    }
}

/// The state that takes most and for how long, and the CPU or thread that takes most of it; of equal ones the lower number.
fn most(sums: &FxHashMap<(u8, i64), i64>) -> (u8, i64, i64, i64) {
    let mut states: [i64; 256] = [0; 256];
    for ((state, _), ns) in sums {
        states[usize::from(*state)] = states[usize::from(*state)].saturating_add(*ns);
    }
    let longer = |a: &(i64, i64), b: &(i64, i64)| a.1.cmp(&b.1).then(b.0.cmp(&a.0));
    let (state, state_ns) = (0..).zip(states).max_by(longer).unwrap_or_default();
    let state = state as u8;
    let within = sums.iter().filter(|((of, _), _)| *of == state).map(|((_, what), ns)| (*what, *ns));
    let (what, what_ns) = within.max_by(longer).unwrap_or((-1, 0));
    (state, state_ns, what, what_ns)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn folded(width: i64, stretches: &[Stretch]) -> Vec<Slice> {
        let (mut fold, mut out) = (Fold::new(width), Vec::new());
        stretches.iter().for_each(|s| fold.push(s, &mut |slice| out.push(slice)));
        fold.finish(&mut |slice| out.push(slice));
        out.sort_by_key(|s| (s.track, s.start));
        out
    }

    fn track(lengths: &[(i64, u8, i64)]) -> Vec<Stretch> {
        let mut at = 0;
        let mut one = |(len, state, what): &(i64, u8, i64)| {
            at += len;
            Stretch { track: 3, start: at - len, end: at, state: *state, what: *what }
        };
        lengths.iter().map(&mut one).collect()
    }

    #[test]
    fn short_stretches_are_told_together_by_what_took_most_of_their_own_time() {
        // At a width of 10: the first is long enough; then 4 + 3 + 4 = 11 reach the width, of which state 1 has 4 + 4 = 8, all
        // of it on CPU 7; the last 2 are cut off by the long one after them.
        let all = track(&[(20, 0, 5), (4, 1, 7), (3, 0, 5), (4, 1, 7), (2, 2, -1), (30, 1, 6)]);
        let slice = |start, end, state, state_ns, what, what_ns, stretches| Slice {
            track: 3,
            start,
            end,
            state,
            state_ns,
            what,
            what_ns,
            stretches,
        };
        let expected = [
            slice(0, 20, 0, 20, 5, 20, 1),
            slice(20, 31, 1, 8, 7, 8, 3),
            slice(31, 33, 2, 2, -1, 2, 1),
            slice(33, 63, 1, 30, 6, 30, 1),
        ];
        assert_eq!(folded(10, &all), expected);
    }

    #[test]
    fn of_the_state_that_takes_most_the_thread_that_takes_most_is_told() {
        // State 0 has 3 + 3 = 6 of 10 by two threads, which have less each than the 4 of state 1: the state counts first.
        let all = track(&[(3, 0, 11), (4, 1, 0), (3, 0, 10)]);
        let one = folded(10, &all)[0];
        assert_eq!((one.state, one.state_ns, one.what, one.what_ns, one.stretches), (0, 6, 10, 3, 3));
    }

    #[test]
    fn at_no_width_every_stretch_stays_and_at_any_a_gap_is_never_filled() {
        let mut all = track(&[(1, 0, 1), (1, 1, 1), (1, 0, 1)]);
        assert_eq!(folded(1, &all), all.iter().map(|s| Slice::from(*s)).collect::<Vec<_>>());
        all.remove(1);
        let spans: Vec<_> = folded(100, &all).iter().map(|s| (s.start, s.end)).collect();
        assert_eq!(spans, [(0, 1), (2, 3)]);
    }
}
