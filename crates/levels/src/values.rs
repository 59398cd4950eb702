//! What is measured: a value that holds for a while.

use crate::Detail;
use crate::detail::Place;

/// What the writer is told: a track's value was this for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Held {
    /// Whose.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// How much; a number, not infinite.
    pub value: f64,
}

/// A part of a track that is drawn as one: a value, or values that followed one another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Whose.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// The least of them.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// The mean, each weighted by its time.
    pub mean: f64,
    /// Of how many.
    pub stretches: u32,
}

/// The detail of values: the least, the most, and the sum of values times their time, ns.
#[derive(Debug)]
pub struct Values {
    least: f64,
    most: f64,
    sum: f64,
}

impl Detail for Values {
    type Told = Held;
    type Drawn = Step;

    fn of(h: &Held) -> (Place, Self) {
        let len = h.end.saturating_sub(h.start) as f64;
        ((h.track, h.start, h.end), Self { least: h.value, most: h.value, sum: h.value * len })
    }

    fn add(&mut self, next: Self) {
        self.least = self.least.min(next.least);
        self.most = self.most.max(next.most);
        self.sum += next.sum;
    }

    fn drawn(&self, (track, start, end): Place, stretches: u32) -> Step {
        let Self { least, most, sum } = *self;
        // The sum is rounded: a mean beyond what it is the mean of would be none.
        let mean = (sum / end.saturating_sub(start) as f64).max(least).min(most);
        Step { track, start, end, least, most, mean, stretches }
    }

    fn place(s: &Step) -> Place {
        (s.track, s.start, s.end)
    }

    fn stretches(s: &Step) -> u32 {
        s.stretches
    }

    fn again(s: &Step) -> Held {
        Held { track: s.track, start: s.start, end: s.end, value: s.least }
    }

    /// Most steps are one value, of which only the bits are kept.
    fn columns(s: &Step) -> [u64; 5] {
        let bits = s.least.to_bits();
        [bits, s.most.to_bits() ^ bits, s.mean.to_bits() ^ bits, u64::from(s.stretches.wrapping_sub(1)), 0]
    }

    fn from_columns((track, start, end): Place, columns: [u64; 5]) -> Option<Step> {
        let [bits, most, mean, more, 0] = columns else { return None };
        let [least, most, mean] = [bits, most ^ bits, mean ^ bits].map(f64::from_bits);
        let stretches = u32::try_from(more).ok()?.checked_add(1)?;
        Some(Step { track, start, end, least, most, mean, stretches })
    }
}
