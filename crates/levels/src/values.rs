//! The detail of values: measured values that stay the same for a time.

use crate::Detail;
use crate::detail::Extent;

/// The input of the writer: a track had one value for a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeldValue {
    /// The number of the track.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// The value; a finite number.
    pub value: f64,
}

/// A part of a track that is drawn as one: a value, or consecutive values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// The number of the track.
    pub track: u32,
    /// First instant, ns.
    pub start: i64,
    /// First instant after it, ns.
    pub end: i64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The mean, weighted by time.
    pub mean: f64,
    /// The number of values.
    pub stretches: u32,
}

/// The detail of values: the minimum, the maximum, and the sum of each value times its time in ns.
#[derive(Debug)]
pub struct Values {
    min: f64,
    max: f64,
    sum: f64,
}

impl Detail for Values {
    type Input = HeldValue;
    type Drawn = Step;

    fn sums_of(h: &HeldValue) -> (Extent, Self) {
        let len = h.end.saturating_sub(h.start) as f64;
        ((h.track, h.start, h.end), Self { min: h.value, max: h.value, sum: h.value * len })
    }

    fn add(&mut self, next: Self) {
        self.min = self.min.min(next.min);
        self.max = self.max.max(next.max);
        self.sum += next.sum;
    }

    fn drawn(&self, (track, start, end): Extent, stretches: u32) -> Step {
        let Self { min, max, sum } = *self;
        // The sum is rounded, so the mean is limited to the range of the values.
        let mean = (sum / end.saturating_sub(start) as f64).max(min).min(max);
        Step { track, start, end, min, max, mean, stretches }
    }

    fn extent(s: &Step) -> Extent {
        (s.track, s.start, s.end)
    }

    fn stretches(s: &Step) -> u32 {
        s.stretches
    }

    fn to_input(s: &Step) -> HeldValue {
        HeldValue { track: s.track, start: s.start, end: s.end, value: s.min }
    }

    /// Most steps are one value, for which only its bits are not zero.
    fn columns(s: &Step) -> [u64; 5] {
        let bits = s.min.to_bits();
        [bits, s.max.to_bits() ^ bits, s.mean.to_bits() ^ bits, u64::from(s.stretches.wrapping_sub(1)), 0]
    }

    fn from_columns((track, start, end): Extent, columns: [u64; 5]) -> Option<Step> {
        let [bits, max, mean, more, 0] = columns else { return None };
        let [min, max, mean] = [bits, max ^ bits, mean ^ bits].map(f64::from_bits);
        let stretches = u32::try_from(more).ok()?.checked_add(1)?;
        Some(Step { track, start, end, min, max, mean, stretches })
    }
}
