//! Quantiles of frame times in bounded memory.

use model::Ns;
use std::collections::BTreeMap;

/// A histogram of times. Its steps widen when there are too many different times.
#[derive(Debug, Default)]
pub struct Times {
    counts: BTreeMap<i64, u64>,
    /// The binary logarithm of the step in nanoseconds.
    widened: u32,
    pub(crate) count: u64,
}

impl Times {
    /// Adds a time.
    pub fn add(&mut self, time: Ns) {
        *self.counts.entry(time.0 >> self.widened).or_default() += 1;
        self.count += 1;
    }

    /// Returns the number of different times.
    #[must_use]
    pub fn different(&self) -> usize {
        self.counts.len()
    }

    /// Widens the steps until at most half as many times are distinct.
    pub fn widen(&mut self) {
        let max = self.counts.len() / 2;
        while self.counts.len() > max.max(1) && self.widened < 62 {
            self.widened += 1;
            let mut wider = BTreeMap::new();
            for (step, count) in std::mem::take(&mut self.counts) {
                *wider.entry(step >> 1).or_default() += count;
            }
            self.counts = wider;
        }
    }

    /// Returns the number of times.
    #[must_use]
    pub fn count(&self) -> i64 {
        self.count.cast_signed()
    }

    /// Returns how much a quantile may exceed the exact value.
    #[must_use]
    pub fn precision(&self) -> Ns {
        Ns((1 << self.widened) - 1)
    }

    /// Returns the number of times greater than this. A step counts only if all of it is greater.
    #[must_use]
    pub fn more_than(&self, time: Ns) -> u64 {
        self.counts.range((time.0 >> self.widened) + 1..).map(|(_, count)| count).sum()
    }

    /// Returns the frame budget: the specified one, or else the median.
    #[must_use]
    pub fn budget(&self, said: Option<Ns>) -> Option<Ns> {
        self.quantile(500).map(|median| said.unwrap_or(median))
    }

    /// Returns the smallest time that at least this many of a thousand do not exceed (nearest rank); for a step, its
    /// upper end.
    #[must_use]
    pub fn quantile(&self, of_thousand: u64) -> Option<Ns> {
        let rank = (u128::from(self.count) * u128::from(of_thousand)).div_ceil(1000).max(1);
        let mut seen = 0;
        for (step, count) in &self.counts {
            seen += u128::from(*count);
            if seen >= rank {
                return Some(Ns((step << self.widened) + self.precision().0));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = i64>) -> Times {
        let mut all = Times::default();
        times.into_iter().for_each(|t| all.add(Ns(t)));
        all
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let times = of([30, 10, 20, 40]);
        let actual = [500, 501, 750, 990, 999, 1000].map(|q| times.quantile(q).map(|t| t.0));
        assert_eq!(actual, [Some(20), Some(30), Some(30), Some(40), Some(40), Some(40)]);
        assert_eq!([9, 10, 39, 40].map(|t| times.more_than(Ns(t))), [4, 3, 1, 0]);
        assert_eq!(of([]).quantile(500), None);
        assert_eq!(of(1..=1000).quantile(999), Some(Ns(999)));
    }

    #[test]
    fn the_exact_quantile_lies_within_a_widened_step() {
        let mut times = of((0..1000).map(|n| n * n));
        let exact = of((0..1000).map(|n| n * n));
        while times.different() > 60 {
            times.widen();
        }
        assert!(times.precision().0 > 0);
        for q in [1, 500, 990, 999] {
            let (estimate, truth) = (times.quantile(q).map_or(-1, |t| t.0), exact.quantile(q).map_or(-1, |t| t.0));
            assert!(estimate >= truth && estimate - truth <= times.precision().0, "{q}: {estimate}, not {truth}");
        }
    }

    #[test]
    fn distant_and_negative_times_are_merged_too() {
        let mut times = of([i64::MIN, -1, 0, i64::MAX]);
        for _ in 0..4 {
            times.widen();
        }
        assert_eq!(times.different(), 4, "a step of each quarter");
        assert_eq!(times.quantile(1000).map(|t| t.0), Some(i64::MAX));
    }
}
