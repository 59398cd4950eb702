//! Merges short stretches at one width.

use crate::Detail;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Merges the short stretches of each track. Memory is bounded by the number of open tracks, and by the CPUs or threads that share
/// the time of one width.
#[derive(Debug)]
pub struct Fold<D: Detail> {
    width: i64,
    /// Nothing is merged across multiples of this, ns.
    part: i64,
    open: FxHashMap<u32, Piece<D>>,
}

/// A stretch, or consecutive short ones, with all their sums. The output of a narrower fold is the input of a wider one.
#[derive(Debug)]
pub(crate) struct Piece<D> {
    start: i64,
    end: i64,
    stretches: u32,
    sums: D,
}

impl<D: Detail> Fold<D> {
    /// Merges at a width, ns. Up to 1, no stretches are merged.
    #[must_use]
    pub fn new(width: i64) -> Self {
        Self { width, part: i64::MAX, open: FxHashMap::default() }
    }

    /// Merges at a width, in parts of `widths` widths each. A stretch that crosses the end of a part is kept, and nothing is merged
    /// across it, so that a part looks the same whichever other parts are requested with it.
    #[must_use]
    pub fn in_parts(width: i64, widths: i64) -> Self {
        Self { part: width.saturating_mul(widths).max(1), ..Self::new(width) }
    }

    /// Adds a stretch; those of a track must come in order of start. A stretch without length is left out.
    pub fn push(&mut self, input: &D::Input, out: &mut impl FnMut(D::Drawn)) {
        let (track, piece) = Piece::<D>::of(input);
        if piece.end > piece.start {
            self.add(track, piece, &mut |track, piece| out(piece.drawn(track)));
        }
    }

    /// Emits what is open.
    pub fn finish(&mut self, out: &mut impl FnMut(D::Drawn)) {
        self.close(&mut |track, piece| out(piece.drawn(track)));
    }

    /// Adds the output of a narrower fold.
    pub(crate) fn add(&mut self, track: u32, piece: Piece<D>, out: &mut dyn FnMut(u32, Piece<D>)) {
        if self.width <= 1 {
            return out(track, piece);
        }
        let part = |at: i64| at.div_euclid(self.part);
        let long = piece.len() >= self.width || part(piece.start) != part(piece.end.saturating_sub(1));
        match self.open.entry(track) {
            Entry::Vacant(_) if long => out(track, piece),
            Entry::Vacant(place) => {
                place.insert(piece);
            }
            Entry::Occupied(open) if long => {
                out(track, open.remove());
                out(track, piece);
            }
            Entry::Occupied(mut open)
                if open.get().end != piece.start || part(open.get().start) != part(piece.start) =>
            {
                out(track, open.insert(piece));
            }
            Entry::Occupied(mut open) => {
                open.get_mut().add(piece);
                if open.get().len() >= self.width {
                    out(track, open.remove());
                }
            }
        }
    }

    /// Like [`Self::finish`], but emits pieces with all sums.
    pub(crate) fn close(&mut self, out: &mut dyn FnMut(u32, Piece<D>)) {
        self.open.drain().for_each(|(track, piece)| out(track, piece));
    }
}

impl<D: Detail> Piece<D> {
    pub(crate) fn of(input: &D::Input) -> (u32, Self) {
        let ((track, start, end), sums) = D::sums_of(input);
        (track, Self { start, end, stretches: 1, sums })
    }

    fn len(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// Merges the next piece into this one.
    fn add(&mut self, next: Self) {
        self.end = next.end;
        self.stretches = self.stretches.saturating_add(next.stretches);
        self.sums.add(next.sums);
    }

    /// Returns what is drawn.
    pub(crate) fn drawn(&self, track: u32) -> D::Drawn {
        self.sums.drawn((track, self.start, self.end), self.stretches)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Slice, States, Stretch};

    fn folded(width: i64, stretches: &[Stretch]) -> Vec<Slice> {
        let (mut fold, mut out) = (Fold::<States>::new(width), Vec::new());
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
    fn short_stretches_are_merged_under_the_state_with_the_most_time() {
        // At a width of 10: the first is long enough. Then 4 + 3 + 4 = 11 reach the width; state 1 has 4 + 4 = 8 of it, all on CPU
        // 7. The last 2 end at the long one after them.
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
    fn the_thread_with_the_most_time_in_the_main_state_is_chosen() {
        // State 0 has 3 + 3 = 6 of 10 by two threads. Each has less than the 4 of state 1, but the state is chosen first.
        let all = track(&[(3, 0, 11), (4, 1, 0), (3, 0, 10)]);
        let one = folded(10, &all)[0];
        assert_eq!((one.state, one.state_ns, one.what, one.what_ns, one.stretches), (0, 6, 10, 3, 3));
    }

    #[test]
    fn a_part_looks_the_same_with_and_without_the_one_before_it() {
        // Parts of 2 widths of 10: 6 + 6 = 12 are merged; 6 and the 6 that crosses 20 are kept; in the next part 6 + 6 are merged.
        let all = track(&[(6, 0, 1), (6, 1, 1), (6, 0, 1), (6, 1, 1), (6, 0, 1), (6, 1, 1)]);
        let spans = |stretches: &[Stretch]| {
            let (mut fold, mut out) = (Fold::<States>::in_parts(10, 2), Vec::new());
            stretches.iter().for_each(|s| fold.push(s, &mut |slice| out.push((slice.start, slice.end))));
            fold.finish(&mut |slice| out.push((slice.start, slice.end)));
            out.sort_unstable();
            out
        };
        assert_eq!(spans(&all), [(0, 12), (12, 18), (18, 24), (24, 36)]);
        // From 20 on, the first that overlaps is the one that crosses 20.
        assert_eq!(spans(&all[3..]), [(18, 24), (24, 36)]);
    }

    #[test]
    fn without_a_width_nothing_is_merged_and_gaps_are_never_filled() {
        let mut all = track(&[(1, 0, 1), (1, 1, 1), (1, 0, 1)]);
        assert_eq!(folded(1, &all), all.iter().map(|s| Slice::from(*s)).collect::<Vec<_>>());
        all.remove(1);
        let spans: Vec<_> = folded(100, &all).iter().map(|s| (s.start, s.end)).collect();
        assert_eq!(spans, [(0, 1), (2, 3)]);
    }
}
