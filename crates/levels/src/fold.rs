//! Stretches at a width.

use crate::{Slice, Stretch};
use rustc_hash::FxHashMap;

/// Puts short stretches of each track together. Memory is bounded by the tracks that are open, and by the CPUs or threads
/// that share a width's time.
#[derive(Debug)]
pub struct Fold {
    width: i64,
    open: FxHashMap<u32, Open>,
}

/// Short stretches that followed one another so far.
#[derive(Debug, Default)]
struct Open {
    start: i64,
    end: i64,
    stretches: u32,
    /// Time by state, and by CPU or thread.
    sums: FxHashMap<(u8, i64), i64>,
}

impl Fold {
    /// At a width, ns; up to 1, every stretch stays what it is.
    #[must_use]
    pub fn new(width: i64) -> Self {
        Self { width, open: FxHashMap::default() }
    }

    /// Takes a stretch, those of a track in order of start. One without length is not drawn and left out.
    pub fn push(&mut self, s: &Stretch, out: &mut impl FnMut(Slice)) {
        if s.end <= s.start {
            return;
        }
        if self.width <= 1 {
            return out((*s).into());
        }
        let long = s.end.saturating_sub(s.start) >= self.width;
        if long && self.open.is_empty() {
            return out((*s).into());
        }
        let open = self.open.entry(s.track).or_default();
        if open.stretches > 0 && (long || open.end != s.start) {
            open.close(s.track, out);
        }
        if long {
            return out((*s).into());
        }
        open.add(s);
        if open.end.saturating_sub(open.start) >= self.width {
            open.close(s.track, out);
        }
    }

    /// Hands out what is open, and forgets the tracks.
    pub fn finish(&mut self, out: &mut impl FnMut(Slice)) {
        for (track, mut open) in self.open.drain() {
            if open.stretches > 0 {
                open.close(track, out);
            }
        }
    }
}

impl Open {
    fn add(&mut self, s: &Stretch) {
        if self.stretches == 0 {
            self.start = s.start;
        }
        self.end = s.end;
        self.stretches = self.stretches.saturating_add(1);
        let len = s.end.saturating_sub(s.start);
        let sum = self.sums.entry((s.state, s.what)).or_default();
        *sum = sum.saturating_add(len);
    }

    fn close(&mut self, track: u32, out: &mut impl FnMut(Slice)) {
        let mut states: FxHashMap<u8, i64> = FxHashMap::default();
        for ((state, _), ns) in &self.sums {
            let sum = states.entry(*state).or_default();
            *sum = sum.saturating_add(*ns);
        }
        // The longest, and of equally long ones the lower number.
        let most = |a: &(i64, i64), b: &(i64, i64)| a.1.cmp(&b.1).then(b.0.cmp(&a.0));
        let by_state = states.into_iter().map(|(state, ns)| (i64::from(state), ns));
        let (state, state_ns) = by_state.max_by(most).unwrap_or_default();
        let state = state as u8;
        let within = self.sums.drain().filter(|((of, _), _)| *of == state).map(|((_, what), ns)| (what, ns));
        let (what, what_ns) = within.max_by(most).unwrap_or((-1, 0));
        let stretches = self.stretches;
        out(Slice { track, start: self.start, end: self.end, state, state_ns, what, what_ns, stretches });
        self.stretches = 0;
    }
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
