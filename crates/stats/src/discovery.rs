//! The false discovery rate.

/// Benjamini & Hochberg's (1995) adjusted p-values, in the order given: if all with q <= 0.05 are called changed, at most 5 % of those are
/// expected to be false, provided that the tests are independent or positively dependent. What is not a number counts as 1.
pub fn false_discovery(p: &[f64]) -> Vec<f64> {
    let of = |i: usize| if p[i].is_nan() { 1.0 } else { p[i] };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| of(i).total_cmp(&of(j)));
    let (mut q, mut least) = (vec![1.0; p.len()], 1.0f64);
    for (rank, &i) in order.iter().enumerate().rev() {
        least = least.min(of(i) * (p.len() as f64 / (rank + 1) as f64));
        q[i] = least;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_benjamini_and_hochberg() {
        // Their section 3.2: 15 p-values, of which four are discoveries at 5 %.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.000,
        ];
        let q = false_discovery(&p);
        assert_eq!(q.iter().filter(|&&q| q <= 0.05).count(), 4);
        assert!((q[3] - 0.0095 * 15.0 / 4.0).abs() < 1e-15);
    }

    #[test]
    fn order_is_kept_and_nothing_is_above_one() {
        assert_eq!(false_discovery(&[0.9, 0.01, f64::NAN]), vec![1.0, 0.03, 1.0]);
        assert!(false_discovery(&[]).is_empty());
    }
}
