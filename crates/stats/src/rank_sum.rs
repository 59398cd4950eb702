//! Two independent samples: Hodges & Lehmann's shift, and Mann & Whitney's U.
//!
//! U is the number of pairs in which B is less than A; equal pairs count half. The shift is the median of all differences b - a
//! (Hodges & Lehmann 1963); its interval is from the k-th smallest to the k-th largest difference, where k is the largest number with
//! 2 P(U <= k - 1) <= level (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed., 4.3). The interval excludes 0 exactly
//! if the test rejects it.
//!
//! Equal values of a continuous quantity were rounded. If at most half of the values are distinct, the step is wider than their spread, and all
//! order statistics can be the same wrong value. Then the interval is widened by half a step each way (simulated: 91 % of intervals would contain
//! the true ratio, not 95 %; `examples/coverage.rs`, `coarse`).

use crate::order::{doubled_mid_ranks, median};
use crate::shift::{LEVELS, Shift};
use statrs::distribution::{ContinuousCDF, Normal};

/// Up to this n * m (50 runs a side), U's distribution without ties is exact; above, normal with continuity correction.
const EXACT: usize = 2_500;
/// Up to this n * m (20 runs a side), the distribution with ties is exact; above, normal with tie and continuity correction.
const EXACT_TIED: usize = 400;

/// The shift of two samples. `None` if they are too small for an interval at 5 %.
pub(crate) fn shift(a: &[f64], b: &[f64]) -> Option<Shift> {
    let mut differences: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let below = below(a.len(), b.len());
    let half_step = half_step(a, b);
    let mut intervals = [[0.0; 2]; 2];
    for (interval, level) in intervals.iter_mut().zip(LEVELS) {
        let [low, high] = order_statistics(&differences, &below, level)?;
        *interval = [low - half_step, high + half_step];
    }
    Some(Shift { estimate: median(&differences)?, intervals, p: p(a, b, &differences, &below) })
}

/// Half of the step to which the values are rounded, the smallest gap between distinct values, if at most half of the values are distinct; else 0.
fn half_step(a: &[f64], b: &[f64]) -> f64 {
    let mut pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    pooled.sort_unstable_by(f64::total_cmp);
    pooled.dedup();
    if 2 * pooled.len() > a.len() + b.len() {
        return 0.0;
    }
    pooled.windows(2).map(|pair| pair[1] - pair[0]).min_by(f64::total_cmp).map_or(0.0, |gap| gap / 2.0)
}

/// From the k-th smallest to the k-th largest of sorted values, for the largest k with 2 P(U <= k - 1) <= level, where `below[u]` is P(U <= u).
pub(crate) fn order_statistics(sorted: &[f64], below: &[f64], level: f64) -> Option<[f64; 2]> {
    let k = below.iter().take_while(|&&p| 2.0 * p <= level).count();
    (k > 0 && 2 * k <= sorted.len()).then(|| [sorted[k - 1], sorted[sorted.len() - k]])
}

/// The two-sided p-value of shift 0.
fn p(a: &[f64], b: &[f64], differences: &[f64], below: &[f64]) -> f64 {
    let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    let (ranks, tied) = doubled_mid_ranks(&pooled);
    if !tied {
        let u = differences.iter().filter(|&&difference| difference < 0.0).count();
        // Half of the distribution is enough: it is symmetric.
        let u = u.min(differences.len() - u);
        return below.get(u).map_or(1.0, |p| (2.0 * p).min(1.0));
    }
    let (n, m) = (a.len(), b.len());
    if n * m <= EXACT_TIED { exact_tied(&ranks, m) } else { normal_tied(&ranks, n, m) }
}

/// P(U <= u) without ties, for u up to half of n * m.
fn below(n: usize, m: usize) -> Vec<f64> {
    let half = n * m / 2;
    if n * m > EXACT {
        let (mean, variance) = ((n * m) as f64 / 2.0, (n * m * (n + m + 1)) as f64 / 12.0);
        return (0..=half).map(|u| Normal::standard().cdf((u as f64 + 0.5 - mean) / variance.sqrt())).collect();
    }
    // The numbers of arrangements are the coefficients of the Gaussian binomial, the product over i of (1 - q^(m+i)) / (1 - q^i)
    // (Mann & Whitney 1947). The sums of 100 choose 50 arrangements fit.
    let (n, m) = (n.min(m), n.max(m));
    let mut ways = vec![0i128; n * m + 1];
    ways[0] = 1;
    for i in 1..=n {
        for u in (m + i..ways.len()).rev() {
            ways[u] -= ways[u - m - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
    }
    let all = ways.iter().sum::<i128>() as f64;
    let mut sum = 0;
    ways[..=half]
        .iter()
        .map(|ways| {
            sum += ways;
            sum as f64 / all
        })
        .collect()
}

/// The two-sided p-value over all choices of `m` of the doubled mid-ranks, the last `m` of which are B's: twice the smaller tail.
fn exact_tied(ranks: &[usize], m: usize) -> f64 {
    let n = ranks.len() - m;
    // The smaller sample is chosen: its rank sum determines the other's.
    let (size, observed) = if m <= n { (m, &ranks[n..]) } else { (n, &ranks[..n]) };
    let observed: usize = observed.iter().sum();
    let total: usize = ranks.iter().sum();
    // ways[k][s]: the choices of k ranks with sum s.
    let mut ways = vec![vec![0f64; total + 1]; size + 1];
    ways[0][0] = 1.0;
    let mut reached = 0;
    for &rank in ranks {
        reached += rank;
        for k in (0..size).rev() {
            let (less, more) = ways.split_at_mut(k + 1);
            for sum in rank..=reached {
                more[0][sum] += less[k][sum - rank];
            }
        }
    }
    let all: f64 = ways[size].iter().sum();
    let low: f64 = ways[size][..=observed].iter().sum();
    let high: f64 = ways[size][observed..].iter().sum();
    (2.0 * low.min(high) / all).min(1.0)
}

/// The two-sided p-value by the normal approximation: the variance of the mid-ranks as they are, and a continuity correction of half a rank.
fn normal_tied(ranks: &[usize], n: usize, m: usize) -> f64 {
    let all = (n + m) as f64;
    let mean = all + 1.0;
    let variance = ranks.iter().map(|&rank| (rank as f64 - mean).powi(2)).sum::<f64>() / (all - 1.0);
    let observed: f64 = ranks[n..].iter().map(|&rank| rank as f64).sum();
    let sum_variance = variance * n as f64 * m as f64 / all;
    if sum_variance == 0.0 {
        return 1.0;
    }
    // Ranks are doubled, and so is half a rank.
    let distance = ((observed - mean * m as f64).abs() - 1.0).max(0.0);
    (2.0 * Normal::standard().cdf(-distance / sum_variance.sqrt())).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u_is_distributed_as_in_tables() {
        // Of 70 arrangements of 4 and 4, one has U = 0, one U = 1, two U = 2, three U = 3.
        let found = below(4, 4);
        for (u, ways) in [1.0, 2.0, 4.0, 7.0].into_iter().enumerate() {
            assert!((found[u] - ways / 70.0).abs() < 1e-15, "{u}");
        }
        // Critical values of U, two-sided 5 %, n = m = 10 and n = 5, m = 9 (Milton 1964): 23 and 7.
        for (n, m, critical) in [(10, 10, 23), (5, 9, 7)] {
            assert_eq!(below(n, m).iter().take_while(|&&p| 2.0 * p <= 0.05).count() - 1, critical, "{n} {m}");
        }
    }

    #[test]
    fn the_exact_distribution_joins_the_approximation() {
        // 50 and 50 are exact, 50 and 51 are not.
        let (exact, normal) = (below(50, 50), below(50, 51));
        let of = |below: &[f64]| below.iter().take_while(|&&p| 2.0 * p <= 0.05).count();
        assert_eq!((of(&exact), of(&normal)), (966, 986));
        assert!(exact.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn ties_count_as_all_their_orders() {
        // 1 1 2 | 2 3 3: of 20 choices of B, only {3, 3, 2} twice has a rank sum as large; mirrored, twice as small.
        let (ranks, tied) = doubled_mid_ranks(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        assert!(tied);
        assert!((exact_tied(&ranks, 3) - 2.0 * 2.0 / 20.0).abs() < 1e-15);
    }

    #[test]
    fn coarse_values_have_intervals_as_wide_as_a_step() {
        let found = shift(&[5.0; 6], &[6.0; 6]).unwrap();
        assert_eq!((found.estimate, found.intervals[0]), (1.0, [0.5, 1.5]));
        // More than half are distinct: order statistics only, the 3rd and the 23rd of 25.
        let fine = shift(&[1.0, 2.0, 3.0, 4.0, 4.0], &[11.0, 12.0, 13.0, 14.0, 15.0]).unwrap();
        assert_eq!(fine.intervals[0], [8.0, 13.0]);
    }

    #[test]
    fn the_example_of_hollander_and_wolfe_is_as_in_r() {
        // Hollander & Wolfe, example 4.1: permeability of the amnion, R's wilcox.test(x, y, conf.int = TRUE): shift of x from y.
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        let found = shift(&y, &x).unwrap();
        assert!((found.estimate - 0.305).abs() < 1e-12, "{found:?}");
        assert!((found.p - 0.2544).abs() < 5e-5, "{found:?}");
        assert!(
            (found.intervals[0][0] + 0.15).abs() < 1e-9 && (found.intervals[0][1] - 0.76).abs() < 1e-9,
            "{found:?}"
        );
    }
}
