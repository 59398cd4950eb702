//! Laws of effects, over drawn runs.

use proptest::prelude::*;
use stats::{Effect, Method, Scale, Statistic, at_most, false_discovery, of_runs, of_series, runs_needed};

/// Runs: of a continuous quantity, or rounded so coarsely that many are equal.
fn runs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, bool)> {
    let value = prop_oneof![(50.0..200.0f64).boxed(), (3..8u8).prop_map(f64::from).boxed()];
    let side = prop::collection::vec(value, 1..14);
    let pairs = (1..14usize).prop_flat_map(|n| {
        let value = || prop_oneof![50.0..200.0f64, (90..96u8).prop_map(f64::from)];
        (prop::collection::vec(value(), n), prop::collection::vec(value(), n))
    });
    prop_oneof![(side.clone(), side).prop_map(|(a, b)| (a, b, false)), pairs.prop_map(|(a, b)| (a, b, true))]
}

fn scale() -> impl Strategy<Value = Scale> {
    prop_oneof![Just(Scale::Ratio), Just(Scale::Difference)]
}

/// Whether an interval excludes no change.
fn excludes(scale: Scale, [low, high]: [f64; 2]) -> bool {
    let no_change = if scale == Scale::Ratio { 1.0 } else { 0.0 };
    no_change < low || high < no_change
}

fn consistent(effect: &Effect) -> Result<(), TestCaseError> {
    let (Some(interval), Some(narrow), Some(p)) = (effect.interval, effect.narrow, effect.p) else {
        prop_assert_eq!(effect.method, Method::None);
        prop_assert_eq!((effect.interval, effect.narrow, effect.p), (None, None, None));
        return Ok(());
    };
    prop_assert!((0.0..=1.0).contains(&p), "{effect:?}");
    prop_assert_eq!(excludes(effect.scale, interval), p <= 0.05, "{:?}", effect);
    prop_assert_eq!(excludes(effect.scale, narrow), p <= 0.10, "{:?}", effect);
    prop_assert!(interval[0] <= narrow[0] && narrow[0] <= narrow[1] && narrow[1] <= interval[1], "{effect:?}");
    prop_assert!(narrow[0] <= effect.estimate && effect.estimate <= narrow[1], "{effect:?}");
    Ok(())
}

/// Whether two numbers are equal but for rounding.
fn equal(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_interval_excludes_no_change_exactly_if_p_is_small((a, b, paired) in runs(), scale in scale()) {
        consistent(&of_runs(&a, &b, paired, scale).unwrap())?;
    }

    #[test]
    fn swapped_sides_have_the_inverse_effect((a, b, paired) in runs(), scale in scale()) {
        let (there, back) = (of_runs(&a, &b, paired, scale).unwrap(), of_runs(&b, &a, paired, scale).unwrap());
        let inverse = |x: f64| if scale == Scale::Ratio { 1.0 / x } else { -x };
        prop_assert!(equal(there.estimate, inverse(back.estimate)), "{there:?} {back:?}");
        prop_assert!(equal(there.p.unwrap_or(2.0), back.p.unwrap_or(2.0)), "{there:?} {back:?}");
        prop_assert!(equal(there.spread_p.unwrap_or(2.0), back.spread_p.unwrap_or(2.0)), "{there:?} {back:?}");
        for (there, back) in [(there.interval, back.interval), (there.narrow, back.narrow)] {
            let (Some(there), Some(back)) = (there, back) else { continue };
            prop_assert!(equal(there[0], inverse(back[1])) && equal(there[1], inverse(back[0])), "{there:?} {back:?}");
        }
    }

    #[test]
    fn a_shift_moves_the_estimate(
        a in prop::collection::vec(50.0..200.0f64, 2..12), b in prop::collection::vec(50.0..200.0f64, 2..12), shift in 0.5..2.0f64,
    ) {
        // Drawn from a range of real numbers, so none are equal.
        let ratio = |b: &[f64]| of_runs(&a, b, false, Scale::Ratio).unwrap();
        let moved: Vec<f64> = b.iter().map(|b| b * shift).collect();
        let (before, after) = (ratio(&b), ratio(&moved));
        prop_assert!(equal(before.estimate * shift, after.estimate), "{before:?} {after:?}");
        let difference = |b: &[f64]| of_runs(&a, b, false, Scale::Difference).unwrap();
        let moved: Vec<f64> = b.iter().map(|b| b + shift).collect();
        let (before, after) = (difference(&b), difference(&moved));
        prop_assert!(equal(before.estimate + shift, after.estimate), "{before:?} {after:?}");
        if let (Some(before), Some(after)) = (before.interval, after.interval) {
            prop_assert!(equal(before[0] + shift, after[0]) && equal(before[1] + shift, after[1]), "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_unit_changes_no_ratio((a, b, paired) in runs()) {
        let scaled = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value * 1024.0).collect() };
        let (before, after) =
            (of_runs(&a, &b, paired, Scale::Difference).unwrap(), of_runs(&scaled(&a), &scaled(&b), paired, Scale::Difference).unwrap());
        prop_assert_eq!((before.p, before.spread_p, before.method), (after.p, after.spread_p, after.method));
        prop_assert!(equal(before.estimate * 1024.0, after.estimate));
    }

    #[test]
    fn no_run_is_needed_exactly_if_the_question_is_settled((a, b, paired) in runs(), margin in 0.001..0.5f64) {
        let effect = of_runs(&a, &b, paired, Scale::Ratio).unwrap();
        let needed = runs_needed(&effect, &a, &b, paired, margin);
        let Some(interval) = effect.interval else {
            prop_assert_eq!(needed, None);
            return Ok(());
        };
        let settled = excludes(effect.scale, interval) || at_most(&effect).unwrap() <= margin;
        prop_assert_eq!(needed == Some(0), settled, "{:?} {:?}", effect, needed);
    }

    #[test]
    fn discoveries_keep_the_order_of_p(p in prop::collection::vec(0.0..1.0f64, 0..40)) {
        let q = false_discovery(&p);
        for i in 0..p.len() {
            prop_assert!(q[i] >= p[i] && q[i] <= 1.0);
            prop_assert!((0..p.len()).all(|j| p[i] > p[j] || q[i] <= q[j]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_interval_within_runs_is_consistent_too(
        a in prop::collection::vec(5.0..9.0f64, 15..120), b in prop::collection::vec((5..11u8).prop_map(f64::from), 15..120), scale in scale(),
    ) {
        for statistic in [Statistic::Mean, Statistic::Median, Statistic::Quantile(0.9)] {
            let effect = of_series(&a, &b, statistic, scale).unwrap();
            consistent(&effect)?;
            prop_assert_eq!(Some(effect), of_series(&a, &b, statistic, scale));
        }
    }
}
