//! Quantiles and mid-ranks.

/// The median; `None` of no values. The mean of the two middle values if their number is even.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile at `q`, 0 to 1: linear between the order statistics (type 7 of Hyndman & Fan 1996, as numpy and R by default).
/// `None` of no values, of values that are not numbers, or of a `q` outside 0 to 1.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&q) || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, part) = place(sorted.len(), q);
    Some(between(sorted[low], sorted[(low + 1).min(sorted.len() - 1)], part))
}

/// Where the quantile at `q` of `len` sorted values is: the index of the order statistic below it, and the part of the way to the next.
pub(crate) fn place(len: usize, q: f64) -> (usize, f64) {
    let at = (len - 1) as f64 * q;
    let low = at.floor();
    (low as usize, at - low)
}

/// The value a part of the way from one to the next. Symmetric at one half, so that negated values give the negated median.
pub(crate) fn between(low: f64, high: f64, part: f64) -> f64 {
    if part == 0.0 || low == high {
        low
    } else if part == 0.5 {
        low / 2.0 + high / 2.0
    } else {
        low + (high - low) * part
    }
}

/// Twice the mid-ranks of the values, in their order (integers: equal values share the mean of their ranks), and whether any are equal.
pub(crate) fn doubled_mid_ranks(values: &[f64]) -> (Vec<usize>, bool) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let (mut ranks, mut tied) = (vec![0; values.len()], false);
    let mut first = 0;
    while first < order.len() {
        let equal = order[first..].iter().take_while(|&&i| values[i] == values[order[first]]).count();
        for &i in &order[first..first + equal] {
            // The mean of the ranks first + 1 to first + equal, twice.
            ranks[i] = 2 * first + equal + 1;
        }
        tied |= equal > 1;
        first += equal;
    }
    (ranks, tied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [7.0, 1.0, 4.0, 2.0];
        // numpy.quantile([7, 1, 4, 2], [0, 0.1, 0.5, 0.99, 1])
        for (q, expected) in [(0.0, 1.0), (0.1, 1.3), (0.5, 3.0), (0.99, 6.91), (1.0, 7.0)] {
            let found = quantile(&values, q).unwrap();
            assert!((found - expected).abs() < 1e-12, "{q}: {found}");
        }
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
        assert_eq!(quantile(&values, 1.1), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(doubled_mid_ranks(&[5.0, 3.0, 5.0, 1.0]), (vec![7, 4, 7, 2], true));
        assert_eq!(doubled_mid_ranks(&[2.0, 1.0]), (vec![4, 2], false));
    }
}
