//! Pairs: the median of Walsh averages, and Wilcoxon's signed rank.
//!
//! The Walsh averages are the means of all pairs of differences, each with itself too; W is the number of those above 0. Their median is the
//! shift, and its interval is from the k-th smallest to the k-th largest, where k is the largest number with 2 P(W <= k - 1) <= level
//! (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed., 3.1 to 3.3).
//!
//! With equal absolute differences, or differences of 0, the p-value is over all signs of the mid-ranks as they are. A difference of 0 keeps
//! its rank but has no sign (Pratt 1959): dropping it would make the others more significant, the more pairs show no difference.

use crate::order::{doubled_mid_ranks, median};
use crate::rank_sum::order_statistics;
use crate::shift::{LEVELS, Shift};
use statrs::distribution::{ContinuousCDF, Normal};

/// Up to this many pairs, W's distribution is exact; above, normal with tie and continuity correction.
const EXACT: usize = 200;

/// The shift of pairs with these differences. `None` if they are too few for an interval at 5 %: 6 are needed.
pub(crate) fn shift(differences: &[f64]) -> Option<Shift> {
    let mut averages = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (i, first) in differences.iter().enumerate() {
        averages.extend(differences[i..].iter().map(|second| first / 2.0 + second / 2.0));
    }
    averages.sort_unstable_by(f64::total_cmp);
    // Without ties the doubled ranks are 2, 4, …
    let untied: Vec<usize> = (1..=differences.len()).map(|rank| 2 * rank).collect();
    let below: Vec<f64> = below(&untied).into_iter().step_by(2).collect();
    let mut intervals = [[0.0; 2]; 2];
    for (interval, level) in intervals.iter_mut().zip(LEVELS) {
        *interval = order_statistics(&averages, &below, level)?;
    }
    Some(Shift { estimate: median(&averages)?, intervals, p: p(differences) })
}

/// The two-sided p-value of shift 0.
fn p(differences: &[f64]) -> f64 {
    let absolute: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let ranks = doubled_mid_ranks(&absolute).0;
    let signed = |keep: fn(f64) -> bool| -> Vec<usize> {
        ranks.iter().zip(differences).filter(|(_, difference)| keep(**difference)).map(|(rank, _)| *rank).collect()
    };
    let positive: usize = signed(|difference| difference > 0.0).iter().sum();
    let ranks = signed(|difference| difference != 0.0);
    let total: usize = ranks.iter().sum();
    // Symmetric: the smaller sum is in the lower half.
    below(&ranks).get(positive.min(total - positive)).map_or(1.0, |p| (2.0 * p).min(1.0))
}

/// P(sum <= s) of the doubled ranks with a positive sign, for s up to half of their sum: each sign is as likely as the other.
fn below(ranks: &[usize]) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let half = total / 2;
    if ranks.len() > EXACT {
        let deviation = ranks.iter().map(|&rank| (rank as f64).powi(2)).sum::<f64>().sqrt() / 2.0;
        // Ranks are doubled, and so is the continuity correction of one half.
        let cdf = |sum: usize| Normal::standard().cdf((sum as f64 + 1.0 - total as f64 / 2.0) / deviation);
        return (0..=half).map(cdf).collect();
    }
    let mut part = vec![0f64; half + 1];
    part[0] = 1.0;
    for &rank in ranks {
        for sum in (0..=half).rev() {
            let without = if sum >= rank { part[sum - rank] } else { 0.0 };
            part[sum] = (part[sum] + without) / 2.0;
        }
    }
    let mut sum = 0.0;
    part.iter()
        .map(|part| {
            sum += part;
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w_is_distributed_as_in_tables() {
        // n = 6: one of 64 signs has W = 0, one each 1 and 2, two 3.
        let found: Vec<f64> = below(&[2, 4, 6, 8, 10, 12]).into_iter().step_by(2).collect();
        for (w, ways) in [1.0, 2.0, 3.0, 5.0].into_iter().enumerate() {
            assert_eq!(found[w], ways / 64.0, "{w}");
        }
        // Critical values of W, two-sided 5 %: 0 for n = 6, 8 for n = 10, 52 for n = 20 (Wilcoxon & Wilcox 1964).
        for (n, critical) in [(6, 0), (10, 8), (20, 52)] {
            let ranks: Vec<usize> = (1..=n).map(|rank| 2 * rank).collect();
            let found = below(&ranks).into_iter().step_by(2).take_while(|&p| 2.0 * p <= 0.05).count() - 1;
            assert_eq!(found, critical, "{n}");
        }
    }

    #[test]
    fn six_pairs_that_all_grow_are_just_enough() {
        let found = shift(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!((found.p, found.intervals[0], found.estimate), (2.0 / 64.0, [1.0, 6.0], 3.5));
        assert!(shift(&[1.0, 2.0, 3.0, 4.0, 5.0]).is_none());
    }

    #[test]
    #[allow(clippy::approx_constant, reason = "a measured value, not pi")]
    fn hamiltons_scale_is_as_in_r() {
        // Hollander & Wolfe, example 3.1 (depression scale): R's wilcox.test(x, y, paired = TRUE): V = 40, p = 0.03906.
        let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
        assert!((shift(&differences).unwrap().p - 0.03906).abs() < 5e-6);
    }

    #[test]
    fn differences_of_zero_keep_their_rank() {
        // Ranks of the five others are 3 to 7; all positive: 2 of 32 signs.
        assert_eq!(p(&[0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 32.0);
        assert_eq!(p(&[0.0; 6]), 1.0);
        // Equal sizes: 5 of 6 positive: 2 * (1 + 6) / 64.
        assert_eq!(p(&[1.0, 1.0, 1.0, 1.0, 1.0, -1.0]), 14.0 / 64.0);
    }

    #[test]
    fn the_exact_distribution_joins_the_approximation() {
        let of = |n: usize| {
            let ranks: Vec<usize> = (1..=n).map(|rank| 2 * rank).collect();
            below(&ranks).into_iter().step_by(2).take_while(|&p| 2.0 * p <= 0.05).count() as f64 / (n * n) as f64
        };
        assert!((of(200) - of(201)).abs() < 2e-4, "{} {}", of(200), of(201));
    }
}
