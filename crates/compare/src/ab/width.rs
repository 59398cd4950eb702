//! The width of the interval of the change, by which `corewise ab --until` ends. It does not show where the interval lies.

use stats::{Effect, Scale};

/// Returns the half-width of the 95 % interval of B divided by A, as a share of the estimate; `None` if the runs do not suffice.
#[must_use]
pub fn half_width(a: &[f64], b: &[f64], paired: bool) -> Option<f64> {
    relative_half_width(&stats::of_runs(a, b, paired, Scale::Ratio)?)
}

/// Returns the half-width of an effect's 95 % interval, as a share: of ratios the root of the upper by the lower end, less 1 (the interval is
/// the estimate times or divided by 1 plus this share, as in `stats::width_reached`), of differences the share of the estimate.
#[must_use]
pub fn relative_half_width(of: &Effect) -> Option<f64> {
    let [low, high] = of.interval?;
    let width = match of.scale {
        Scale::Ratio if low > 0.0 => (high / low).sqrt() - 1.0,
        Scale::Ratio => return None,
        Scale::Difference => (high - low) / 2.0 / of.estimate.abs(),
    };
    width.is_finite().then_some(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Method;

    fn effect(scale: Scale, estimate: f64, interval: Option<[f64; 2]>) -> Effect {
        Effect { scale, method: Method::SignedRank, estimate, interval, narrow: None, p: None, spread_p: None }
    }

    #[test]
    fn the_half_width_is_a_share() {
        let is = |of: Effect, wanted: f64| relative_half_width(&of).is_some_and(|is| (is - wanted).abs() < 1e-12);
        // 2 times or divided by 1.05.
        assert!(is(effect(Scale::Ratio, 2.0, Some([2.0 / 1.05, 2.0 * 1.05])), 0.05));
        assert!(is(effect(Scale::Difference, -4.0, Some([-5.0, -3.0])), 0.25));
        assert_eq!(relative_half_width(&effect(Scale::Ratio, 2.0, None)), None);
        assert_eq!(relative_half_width(&effect(Scale::Ratio, 2.0, Some([0.0, 4.0]))), None);
        assert_eq!(relative_half_width(&effect(Scale::Difference, 0.0, Some([0.0, 0.0]))), None);
    }

    #[test]
    fn runs_that_vary_less_have_a_narrower_interval() {
        let a = [1.0; 6];
        let narrow = half_width(&a, &[1.50, 1.51, 1.49, 1.50, 1.51, 1.49], true).unwrap();
        let wide = half_width(&a, &[1.5, 1.7, 1.3, 1.5, 1.7, 1.3], true).unwrap();
        assert!(narrow < 0.02 && wide > 5.0 * narrow, "{narrow} {wide}");
        assert_eq!(half_width(&a[..1], &[1.0], true), None);
    }
}
