//! The effect between two single runs, from the frames, periods or requests within them: a block bootstrap.
//!
//! Values that follow each other are alike, so a resample is made of blocks of them, on a circle (Politis & Romano 1992). The block length is
//! that of [`block_length`] for the influence of a value on the statistic, the longer of both sides. It is lengthened so that a run has at
//! most 2,000 blocks: more would only cost time. The interval is made of percentiles of the resampled effects, with levels expanded for the
//! number of blocks (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", 5.3): percentiles alone are too narrow with few blocks.

use crate::order::{place, quantile};
use crate::resample::{Mean, Quantile, Resample, draw};
use crate::shift::{LEVELS, Shift, bare, effect};
use crate::{Effect, Method, Scale, block_length};
use fastrand::Rng;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Resamples: so many that the percentiles are order statistics themselves.
const RESAMPLES: usize = 1_999;
/// The fewest values and blocks of a side with an interval.
const FEWEST_VALUES: usize = 20;
const FEWEST_BLOCKS: usize = 5;
/// The most blocks a side.
const MOST_BLOCKS: usize = 2_000;

/// What is compared of two series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Statistic {
    /// The mean. Of a series of 0 and 1, the share.
    Mean,
    /// The median.
    Median,
    /// A quantile, 0 to 1: 0.99 is the 99th percentile.
    Quantile(f64),
}

/// The change of a statistic from the series `a` to the series `b`, each the values of one run in order of time.
///
/// Always the same for the same series. The interval says nothing about variation between runs. Without an interval ([`Method::None`]) if a
/// side has fewer than 20 values or 5 blocks, if both are constant, or (for ratios) if a resample's statistic is not above 0.
/// The interval excludes "no change" exactly if p is at most 0.05. `None` if the statistic cannot be calculated, or has no place on the scale.
pub fn of_series(a: &[f64], b: &[f64], statistic: Statistic, scale: Scale) -> Option<Effect> {
    if a.iter().chain(b).any(|value| !value.is_finite()) {
        return None;
    }
    let estimate = scale.to_sum(statistic.of(b)?)? - scale.to_sum(statistic.of(a)?)?;
    Some(match shift(a, b, statistic, scale, estimate) {
        Some(shift) => effect(scale, Method::Blocks, shift),
        None => bare(scale, estimate),
    })
}

impl Statistic {
    /// The quantile that it is; `None`: the mean.
    fn q(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::Median => Some(0.5),
            Self::Quantile(q) => Some(q),
        }
    }

    fn of(self, values: &[f64]) -> Option<f64> {
        match self.q() {
            Some(q) => quantile(values, q),
            None => (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
        }
    }

    /// The block length of a series: that of what each value contributes to the statistic.
    fn block(self, values: &[f64]) -> Option<usize> {
        let length = match self.q() {
            None => block_length(values),
            Some(q) => {
                let at = quantile(values, q)?;
                block_length(&values.iter().map(|value| if *value > at { 1.0 } else { 0.0 }).collect::<Vec<f64>>())
            }
        };
        // A constant series needs no blocks.
        let length = length.unwrap_or(1.0).ceil().max(1.0) as usize;
        Some(length.max(values.len().div_ceil(MOST_BLOCKS)))
    }

    /// The statistic of each resample, on the scale on which effects add up.
    fn resampled(self, values: &[f64], block: usize, seed: u64, scale: Scale) -> Option<Vec<f64>> {
        let Some(q) = self.q() else {
            return all(&mut Mean::new(values), values.len(), block, seed).and_then(|found| scale.to_sums(&found));
        };
        // Eight standard deviations of a rank if blocks are independent and alike within; more if that does not suffice.
        let len = values.len();
        let deviation = (q * (1.0 - q) * len as f64 * block as f64).sqrt();
        let mut reach = (8.0 * deviation) as usize + 10;
        loop {
            if let Some(found) = all(&mut Quantile::new(values, q, reach), len, block, seed) {
                return scale.to_sums(&found);
            }
            if reach > len {
                return None;
            }
            reach *= 4;
        }
    }
}

/// All resamples of a series; `None` if one has no statistic.
fn all(of: &mut impl Resample, len: usize, block: usize, seed: u64) -> Option<Vec<f64>> {
    let mut random = Rng::with_seed(seed);
    (0..RESAMPLES).map(|_| draw(of, len, block, &mut random)).collect()
}

/// The shift with its intervals; `None` if there is too little.
fn shift(a: &[f64], b: &[f64], statistic: Statistic, scale: Scale, estimate: f64) -> Option<Shift> {
    let constant = |values: &[f64]| values.iter().all(|value| *value == values[0]);
    if a.len().min(b.len()) < FEWEST_VALUES || (constant(a) && constant(b)) {
        return None;
    }
    // An extreme quantile needs values on its outer side.
    if let Some(q) = statistic.q()
        && [a, b]
            .iter()
            .any(|side| (side.len() as f64 * q.min(1.0 - q)) < 1.0 || place(side.len(), q).0 + 1 >= side.len())
    {
        return None;
    }
    let block = statistic.block(a)?.max(statistic.block(b)?);
    let blocks = [a, b].map(|side| side.len() / block);
    if blocks.iter().any(|&blocks| blocks < FEWEST_BLOCKS) {
        return None;
    }
    let (of_a, of_b) = (statistic.resampled(a, block, 1, scale)?, statistic.resampled(b, block, 2, scale)?);
    let mut shifts: Vec<f64> = of_b.iter().zip(&of_a).map(|(b, a)| b - a).collect();
    shifts.sort_unstable_by(f64::total_cmp);
    let freedom = (blocks[0] + blocks[1] - 2) as f64;
    let levels =
        Levels { student: StudentsT::new(0.0, 1.0, freedom).ok()?, expand: ((freedom + 2.0) / freedom).sqrt() };
    let below = shifts.partition_point(|shift| *shift <= 0.0);
    let above = shifts.len() - shifts.partition_point(|shift| *shift < 0.0);
    let p = levels.p(below.min(above));
    let mut intervals = [[0.0; 2]; 2];
    for (interval, level) in intervals.iter_mut().zip(LEVELS) {
        let k = (0..shifts.len() / 2).take_while(|&outside| levels.p(outside) <= level).count();
        if k == 0 {
            return None;
        }
        // Resamples of a statistic that is not smooth can all be on one side of the estimate.
        *interval = [shifts[k - 1].min(estimate), shifts[shifts.len() - k].max(estimate)];
    }
    Some(Shift { estimate, intervals, p })
}

/// The p-value from the number of resamples on the other side of no change.
struct Levels {
    student: StudentsT,
    expand: f64,
}

impl Levels {
    fn p(&self, outside: usize) -> f64 {
        let part = ((outside + 1) as f64 / (RESAMPLES + 1) as f64).min(0.5);
        (2.0 * self.student.cdf(Normal::standard().inverse_cdf(part) / self.expand)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values with memory: each has a part of the last one.
    fn series(n: usize, part: f64, seed: u64) -> Vec<f64> {
        let mut random = Rng::with_seed(seed);
        let mut last = 0.0;
        (0..n)
            .map(|_| {
                let noise: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
                last = part * last + noise;
                100.0 + last
            })
            .collect()
    }

    fn width(effect: &Effect) -> f64 {
        let [low, high] = effect.interval.unwrap();
        high - low
    }

    #[test]
    fn an_independent_series_has_the_interval_of_its_standard_error() {
        let (a, b) = (series(2000, 0.0, 1), series(2000, 0.0, 2));
        let mean = of_series(&a, &b, Statistic::Mean, Scale::Difference).unwrap();
        // Noise of variance 1: 2 * 1.96 * sqrt(2 / 2000).
        assert!((width(&mean) / 0.12396 - 1.0).abs() < 0.08, "{mean:?}");
        // The median's error is sqrt(pi / 2) times as large.
        let median = of_series(&a, &b, Statistic::Median, Scale::Difference).unwrap();
        assert!((width(&median) / 0.15536 - 1.0).abs() < 0.2, "{median:?}");
        assert_eq!(mean.method, Method::Blocks);
    }

    #[test]
    fn a_dependent_series_has_the_wider_interval_of_its_long_run_variance() {
        let (a, b) = (series(20_000, 0.8, 1), series(20_000, 0.8, 2));
        let mean = of_series(&a, &b, Statistic::Mean, Scale::Difference).unwrap();
        // Long-run variance 1 / (1 - 0.8)^2 = 25.
        assert!((width(&mean) / (2.0 * 1.96 * (2.0 * 25.0 / 20_000f64).sqrt()) - 1.0).abs() < 0.12, "{mean:?}");
    }

    #[test]
    fn a_change_of_the_tail_is_found_in_the_tail_only() {
        let a = series(5000, 0.0, 3);
        let b: Vec<f64> =
            series(5000, 0.0, 4).into_iter().enumerate().map(|(i, x)| if i % 50 == 0 { x + 20.0 } else { x }).collect();
        let of = |statistic| of_series(&a, &b, statistic, Scale::Ratio).unwrap();
        assert!(of(Statistic::Quantile(0.99)).p.unwrap() < 0.01);
        assert!(of(Statistic::Median).p.unwrap() > 0.05);
    }

    #[test]
    fn too_little_has_no_interval() {
        let long = series(100, 0.0, 1);
        for short in [&long[..19], &[5.0; 1]] {
            let found = of_series(short, &long, Statistic::Mean, Scale::Ratio).unwrap();
            assert_eq!((found.method, found.interval, found.p), (Method::None, None, None));
        }
        assert_eq!(of_series(&long, &long, Statistic::Quantile(0.999), Scale::Ratio).unwrap().method, Method::None);
        assert_eq!(of_series(&[], &long, Statistic::Mean, Scale::Ratio), None);
        assert_eq!(of_series(&[0.0; 30], &long, Statistic::Mean, Scale::Ratio), None);
        // A line of 24 values would have blocks of 7.
        let line: Vec<f64> = (0..24).map(f64::from).collect();
        assert_eq!(of_series(&line, &long, Statistic::Mean, Scale::Difference).unwrap().method, Method::None);
    }

    #[test]
    fn equal_series_do_not_differ() {
        let a = series(1000, 0.5, 1);
        for statistic in [Statistic::Mean, Statistic::Median, Statistic::Quantile(0.95)] {
            let found = of_series(&a, &a, statistic, Scale::Ratio).unwrap();
            assert_eq!((found.estimate, found.p), (1.0, Some(1.0)));
        }
    }
}
