//! Frame times of which any quantile can be had, in bounded memory.

use model::Ns;
use std::collections::BTreeMap;

/// How often each time occurred, in steps that widen where there are too many different ones.
#[derive(Debug, Default)]
pub(crate) struct Times {
    counts: BTreeMap<i64, u64>,
    /// A step is so many doublings of a nanosecond.
    widened: u32,
    pub(crate) count: u64,
}

impl Times {
    pub(crate) fn add(&mut self, time: Ns) {
        *self.counts.entry(time.0 >> self.widened).or_default() += 1;
        self.count += 1;
    }

    /// Different ones that are told apart.
    pub(crate) fn different(&self) -> usize {
        self.counts.len()
    }

    /// Tells half as many apart.
    pub(crate) fn widen(&mut self) {
        let most = self.counts.len() / 2;
        while self.counts.len() > most.max(1) && self.widened < 62 {
            self.widened += 1;
            let mut wider = BTreeMap::new();
            for (step, count) in std::mem::take(&mut self.counts) {
                *wider.entry(step >> 1).or_default() += count;
            }
            self.counts = wider;
        }
    }

    /// By how much a quantile may be less than it is told.
    pub(crate) fn precision(&self) -> Ns {
        Ns((1 << self.widened) - 1)
    }

    /// Times that are more than this; of a step, only where all of it is.
    pub(crate) fn more_than(&self, time: Ns) -> u64 {
        self.counts.range((time.0 >> self.widened) + 1..).map(|(_, count)| count).sum()
    }

    /// What one of them might take: what was said, unsaid their median.
    pub(crate) fn budget(&self, said: Option<Ns>) -> Option<Ns> {
        self.quantile(500).map(|median| said.unwrap_or(median))
    }

    /// The least time that so many of a thousand do not exceed (the nearest rank); of a step, its upper end.
    pub(crate) fn quantile(&self, of_thousand: u64) -> Option<Ns> {
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
        let got = [500, 501, 750, 990, 999, 1000].map(|q| times.quantile(q).map(|t| t.0));
        assert_eq!(got, [Some(20), Some(30), Some(30), Some(40), Some(40), Some(40)]);
        assert_eq!([9, 10, 39, 40].map(|t| times.more_than(Ns(t))), [4, 3, 1, 0]);
        assert_eq!(of([]).quantile(500), None);
        assert_eq!(of(1..=1000).quantile(999), Some(Ns(999)));
    }

    #[test]
    fn where_steps_widen_the_truth_lies_within() {
        let mut times = of((0..1000).map(|n| n * n));
        let exact = of((0..1000).map(|n| n * n));
        while times.different() > 60 {
            times.widen();
        }
        assert!(times.precision().0 > 0);
        for q in [1, 500, 990, 999] {
            let (told, truth) = (times.quantile(q).map_or(-1, |t| t.0), exact.quantile(q).map_or(-1, |t| t.0));
            assert!(told >= truth && told - truth <= times.precision().0, "{q}: {told}, not {truth}");
        }
    }

    #[test]
    fn times_far_apart_and_below_nothing_are_joined_too() {
        let mut times = of([i64::MIN, -1, 0, i64::MAX]);
        for _ in 0..4 {
            times.widen();
        }
        assert_eq!(times.different(), 4, "a step of each quarter");
        assert_eq!(times.quantile(1000).map(|t| t.0), Some(i64::MAX));
    }
}
