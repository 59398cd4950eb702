//! Medians with intervals, without an assumption about the distribution.

use topology::Estimate;

/// Returns the median of values and its interval of at least 95 % from order statistics: the interval between the k-th smallest and the k-th
/// largest value holds the median of the population with the probability that a fair coin, thrown n times, shows k to n - k heads
/// (Conover 1999, "Practical Nonparametric Statistics", 3.2). `None` with fewer than 6 values: no pair of them has 95 %.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let skipped = skipped(sorted.len())?;
    let (low, high) = (*sorted.get(skipped)?, *sorted.get(sorted.len() - 1 - skipped)?);
    Some(Estimate { value: median(&sorted), low, high })
}

/// The number of values outside the interval on each side.
fn skipped(n: usize) -> Option<usize> {
    // The logarithm of n! / (k! (n-k)! 2^n), summed: n may be thousands.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = log_term.exp();
    if 2.0 * tail > 0.05 {
        return None;
    }
    let mut k = 0;
    loop {
        log_term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
        tail += log_term.exp();
        if 2.0 * tail > 0.05 {
            return Some(k);
        }
        k += 1;
    }
}

/// The median of sorted values; 0 of none.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle), sorted.get(middle.wrapping_sub(1))) {
        (1, Some(value), _) => *value,
        (0, Some(a), Some(b)) => f64::midpoint(*a, *b),
        _ => 0.0,
    }
}

/// Returns the interval in which a further value lies with a probability of 90 %: of n values, each of the n + 1 gaps between them is equally
/// likely. With fewer than 19 values it is the range of all, whose probability is (n - 1) / (n + 1). `None` with fewer than 10.
#[must_use]
pub fn next_interval(values: &[f64]) -> Option<[f64; 2]> {
    if values.len() < 10 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let outside = ((sorted.len() + 1) as f64 * 0.05).floor().max(1.0) as usize - 1;
    Some([*sorted.get(outside)?, *sorted.get(sorted.len() - 1 - outside)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_are_those_of_the_binomial_distribution() {
        // scipy.stats.binom.ppf(0.025, n, 0.5) is the first k with a tail above 2.5 %.
        for (n, k) in [(6, 0), (9, 1), (10, 1), (20, 5), (30, 9), (100, 39), (1000, 468)] {
            let expected = if n == 1000 { 468 } else { k };
            assert_eq!(skipped(n).unwrap(), expected, "{n}");
        }
        assert_eq!(skipped(5), None);
    }

    #[test]
    fn intervals_hold_the_median_as_often_as_they_should() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut held, mut next_held, rounds) = (0, 0, 4000);
        for _ in 0..rounds {
            let values: Vec<f64> = (0..25).map(|_| -random.f64().max(1e-12).ln()).collect();
            held += u32::from(median_interval(&values).unwrap().holds(std::f64::consts::LN_2));
            let [low, high] = next_interval(&values).unwrap();
            next_held += u32::from((low..=high).contains(&-random.f64().max(1e-12).ln()));
        }
        assert!((0.945..0.975).contains(&(f64::from(held) / f64::from(rounds))), "{held}");
        assert!((0.88..0.94).contains(&(f64::from(next_held) / f64::from(rounds))), "{next_held}");
    }
}
