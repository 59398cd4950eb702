//! The effect of several runs a side.

use crate::shift::{bare, effect};
use crate::{Effect, Method, Scale, order, rank_sum, signed_rank, smirnov, student};

/// The fewest runs a side of the rank-sum test: with 3 a side no order is rarer than 1 in 10.
const RANK_SUM: usize = 4;
/// The fewest pairs of the signed-rank test: with 5 pairs no signs are rarer than 1 in 16.
const SIGNED_RANK: usize = 6;

/// The change from the runs `a` to the runs `b`; if `paired`, `a[i]` and `b[i]` are one pair. For ratios, everything is calculated on logarithms.
///
/// | runs | method |
/// | --- | --- |
/// | 6 or more pairs | [`Method::SignedRank`] |
/// | 4 or more a side, or fewer pairs | [`Method::RankSum`] |
/// | 2 or 3 on a side | [`Method::Student`], if the values are not rounded to steps as wide as their spread |
/// | 1 on a side, or all values equal | [`Method::None`]: the estimate only |
///
/// The interval excludes "no change" exactly if p is at most 0.05, and `narrow` exactly if p is at most 0.10. `None` if a side has no runs
/// or a value that is not finite or, for ratios, not above 0.
pub fn of_runs(a: &[f64], b: &[f64], paired: bool, scale: Scale) -> Option<Effect> {
    let (a, b) = (scale.to_sums(a)?, scale.to_sums(b)?);
    let fewest = a.len().min(b.len());
    if fewest == 0 {
        return None;
    }
    let all_equal = a.iter().chain(&b).all(|value| *value == a[0]);
    let found = if all_equal || fewest == 1 {
        None
    } else if paired && a.len() == b.len() && fewest >= SIGNED_RANK {
        let differences: Vec<f64> = b.iter().zip(&a).map(|(b, a)| b - a).collect();
        Some(Method::SignedRank).zip(signed_rank::shift(&differences))
    } else if fewest >= RANK_SUM {
        Some(Method::RankSum).zip(rank_sum::shift(&a, &b))
    } else {
        Some(Method::Student).zip(student::shift(&a, &b))
    };
    let mut found = match found {
        Some((method, shift)) => effect(scale, method, shift),
        None => {
            let differences: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
            bare(scale, order::median(&differences)?)
        }
    };
    found.spread_p = (fewest >= RANK_SUM).then(|| smirnov::p(&a, &b));
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(a: &[f64], b: &[f64], paired: bool) -> Method {
        of_runs(a, b, paired, Scale::Ratio).unwrap().method
    }

    #[test]
    fn the_number_of_runs_chooses_the_method() {
        let values = [1.0, 1.1, 1.3, 1.6, 2.0, 2.5];
        assert_eq!(method(&values, &values, true), Method::SignedRank);
        assert_eq!(method(&values, &values, false), Method::RankSum);
        assert_eq!(method(&values[..5], &values[1..], true), Method::RankSum);
        assert_eq!(method(&values[..3], &values, false), Method::Student);
        assert_eq!(method(&values[..1], &values, false), Method::None);
        assert_eq!(method(&[2.0; 5], &[2.0; 5], false), Method::None);
        assert_eq!(method(&[2.0; 2], &[3.0; 2], false), Method::None);
    }

    #[test]
    fn values_without_a_place_on_the_scale_have_no_effect() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(of_runs(&[1.0, 2.0], &[wrong, 2.0], false, Scale::Ratio), None, "{wrong}");
        }
        assert_eq!(of_runs(&[], &[1.0], false, Scale::Difference), None);
        assert!(of_runs(&[0.0, -1.0], &[3.0, 4.0], false, Scale::Difference).is_some());
    }

    #[test]
    fn one_run_a_side_is_a_plain_ratio() {
        let found = of_runs(&[2.0], &[3.0], true, Scale::Ratio).unwrap();
        assert!((found.estimate - 1.5).abs() < 1e-15);
        assert_eq!((found.interval, found.narrow, found.p, found.spread_p), (None, None, None, None));
    }

    #[test]
    fn twice_as_much_is_found_exactly() {
        let a = [1.0, 1.5, 2.25, 3.375, 5.0];
        let b: Vec<f64> = a.iter().map(|a| 2.0 * a).collect();
        assert!((of_runs(&a, &b, false, Scale::Ratio).unwrap().estimate - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_wider_spread_is_no_shift_but_a_change_of_distribution() {
        let a: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i) / 10.0).collect();
        let b: Vec<f64> = (0..20).map(|i| 100.95 + (f64::from(i) - 9.5) * 5.0).collect();
        let found = of_runs(&a, &b, false, Scale::Difference).unwrap();
        assert!(found.p.unwrap() > 0.5 && found.spread_p.unwrap() < 0.05, "{found:?}");
    }
}
