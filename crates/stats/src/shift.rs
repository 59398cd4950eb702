//! From a shift of values, or of their logarithms, to an effect.

use crate::{Effect, Method, Scale};

/// The levels of an effect's intervals: 1 - 0.95 and 1 - 0.90.
pub(crate) const LEVELS: [f64; 2] = [0.05, 0.10];

/// A shift of B from A on the scale on which effects add up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Shift {
    pub(crate) estimate: f64,
    /// The intervals at [`LEVELS`].
    pub(crate) intervals: [[f64; 2]; 2],
    /// The two-sided p-value of shift 0.
    pub(crate) p: f64,
}

impl Scale {
    /// The value of no change.
    pub(crate) fn no_change(self) -> f64 {
        match self {
            Scale::Ratio => 1.0,
            Scale::Difference => 0.0,
        }
    }

    /// The values on the scale on which effects add up; `None` if one has no place there.
    pub(crate) fn to_sums(self, values: &[f64]) -> Option<Vec<f64>> {
        values.iter().map(|&value| self.to_sum(value)).collect()
    }

    /// A value on the scale on which effects add up: its logarithm for ratios.
    pub(crate) fn to_sum(self, value: f64) -> Option<f64> {
        match self {
            Scale::Ratio => (value > 0.0 && value.is_finite()).then(|| value.ln()),
            Scale::Difference => value.is_finite().then_some(value),
        }
    }

    /// From the scale on which effects add up to that of the effect.
    pub(crate) fn of_sum(self, shift: f64) -> f64 {
        match self {
            Scale::Ratio => shift.exp(),
            Scale::Difference => shift,
        }
    }
}

/// An effect without an interval.
pub(crate) fn bare(scale: Scale, shift: f64) -> Effect {
    Effect {
        scale,
        method: Method::None,
        estimate: scale.of_sum(shift),
        interval: None,
        narrow: None,
        p: None,
        spread_p: None,
    }
}

/// The effect of a shift. Its intervals and its p-value agree: each interval excludes "no change" exactly if p is at most its level.
///
/// Without ties they agree by themselves. With ties the p-value is that of the tied values, while the interval is made of order statistics.
/// Where they disagree about "no change", the test decides: its value is cut off the interval (an open end), or added to it.
/// Neither makes the interval miss more often than 5 %: what is cut off, the test rejects. An estimate of no change is never a change: p is 1.
pub(crate) fn effect(scale: Scale, method: Method, shift: Shift) -> Effect {
    let no_change = scale.no_change();
    let estimate = scale.of_sum(shift.estimate);
    let p = if shift.estimate == 0.0 { 1.0 } else { shift.p.min(1.0) };
    let agreed = |at: usize| {
        let [mut low, mut high] = shift.intervals[at].map(|end| scale.of_sum(end));
        if p > LEVELS[at] {
            (low, high) = (low.min(no_change), high.max(no_change));
        } else if shift.estimate > 0.0 {
            low = low.max(no_change.next_up());
            high = high.max(low);
        } else {
            high = high.min(no_change.next_down());
            low = low.min(high);
        }
        [low, high]
    };
    Effect { scale, method, estimate, interval: Some(agreed(0)), narrow: Some(agreed(1)), p: Some(p), spread_p: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(estimate: f64, interval: [f64; 2], p: f64) -> Effect {
        effect(Scale::Difference, Method::RankSum, Shift { estimate, intervals: [interval; 2], p })
    }

    #[test]
    fn the_test_decides_about_no_change() {
        assert_eq!(of(2.0, [-1.0, 3.0], 0.01).interval, Some([0f64.next_up(), 3.0]));
        assert_eq!(of(-2.0, [-3.0, 0.0], 0.01).interval, Some([-3.0, 0f64.next_down()]));
        assert_eq!(of(2.0, [1.0, 3.0], 0.06).interval, Some([0.0, 3.0]));
        assert_eq!(of(2.0, [1.0, 3.0], 0.06).narrow, Some([1.0, 3.0]));
        assert_eq!(of(0.0, [0.0, 3.0], 0.01).p, Some(1.0));
    }

    #[test]
    fn a_ratio_so_small_that_it_rounds_to_one_is_still_excluded() {
        let tiny = Shift { estimate: 1e-20, intervals: [[1e-21, 1e-19]; 2], p: 0.01 };
        let effect = effect(Scale::Ratio, Method::Student, tiny);
        assert!(effect.interval.unwrap()[0] > 1.0);
    }
}
