//! Kolmogorov & Smirnov's test of two samples: whether their distributions differ in any way.

/// Up to this n * m the p-value is exact; above, by the limiting distribution.
const EXACT: usize = 1_000_000;

/// The two-sided p-value: of all orders of the values as they are (with ties), the part whose largest distance of the empirical
/// distributions is as large or larger. Counted as paths on a lattice (Hodges 1958; with ties: Schröer & Trenkler 1995, as R's `psmirnov`).
pub(crate) fn p(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len(), b.len());
    let mut pooled: Vec<(f64, bool)> =
        a.iter().map(|&value| (value, false)).chain(b.iter().map(|&value| (value, true))).collect();
    pooled.sort_unstable_by(|first, second| first.0.total_cmp(&second.0));
    // Whether the distance counts after so many values: not within equal values.
    let counts: Vec<bool> = (0..=n + m).map(|at| at == 0 || at == n + m || pooled[at - 1].0 != pooled[at].0).collect();
    // The distance in parts of 1 / (n * m), so that it is an integer.
    let distance = |i: usize, j: usize| (i * m).abs_diff(j * n);
    let (mut i, mut j, mut largest) = (0, 0, 0);
    for (at, (_, of_b)) in pooled.iter().enumerate() {
        if *of_b {
            j += 1
        } else {
            i += 1
        }
        if counts[at + 1] {
            largest = largest.max(distance(i, j));
        }
    }
    if largest == 0 {
        return 1.0;
    }
    if n * m > EXACT {
        return limiting(largest as f64 / (n as f64 * m as f64).sqrt() / ((n + m) as f64).sqrt());
    }
    // reached[j]: the part of the paths to (i, j) that were as far away somewhere. A path's last step came from (i - 1, j) in i of i + j cases.
    let mut reached = vec![0.0; m + 1];
    for i in 0..=n {
        for j in 0..=m {
            let step = (i + j) as f64;
            reached[j] = if counts[i + j] && distance(i, j) >= largest {
                1.0
            } else if i + j == 0 {
                0.0
            } else {
                let from_i = if i > 0 { reached[j] * i as f64 } else { 0.0 };
                let from_j = if j > 0 { reached[j - 1] * j as f64 } else { 0.0 };
                (from_i + from_j) / step
            };
        }
    }
    reached[m].min(1.0)
}

/// Kolmogorov's limiting distribution: P(D sqrt(nm / (n + m)) >= x).
fn limiting(x: f64) -> f64 {
    let sum: f64 =
        (1..=100).map(|k| if k % 2 == 1 { 1.0 } else { -1.0 } * (-2.0 * (f64::from(k) * x).powi(2)).exp()).sum();
    if x < 0.2 { 1.0 } else { (2.0 * sum).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separated_samples_have_two_of_all_orders() {
        assert!((p(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]) - 2.0 / 70.0).abs() < 1e-15);
        assert_eq!(p(&[1.0; 4], &[1.0; 4]), 1.0);
        // scipy.stats.ks_2samp([1, 2, 3, 4], [2.5, 5, 6, 7], method="exact")
        assert!((p(&[1.0, 2.0, 3.0, 4.0], &[2.5, 5.0, 6.0, 7.0]) - 0.228_571_428_571).abs() < 1e-9);
    }

    #[test]
    fn ties_count_as_all_their_orders() {
        // 1 1 | 1 2: the distance counts after the three ones and after the two: 1/2. Of 4 places of the 2, all are as far.
        assert_eq!(p(&[1.0, 1.0], &[1.0, 2.0]), 1.0);
    }

    #[test]
    fn the_exact_distribution_joins_the_limit() {
        let a: Vec<f64> = (0..1000).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|a| a + 50.5).collect();
        // The largest distance is 51 of 1,000.
        let (exact, limit) = (p(&a, &b), limiting(0.051 * 500f64.sqrt()));
        assert!((exact / limit - 1.0).abs() < 0.01, "{exact} {limit}");
        let more: Vec<f64> = (0..1001).map(f64::from).collect();
        assert!((p(&more, &more[1..]) - 1.0).abs() < 1e-9);
    }
}
