//! The width of the interval of the change, by which `corewise ab --until` ends. It does not show where the interval lies.

use stats::{Effect, Scale};

/// Returns the half-width of the 95 % interval of B divided by A, as a share of the estimate; `None` if the runs do not suffice.
#[must_use]
pub fn half_width(a: &[f64], b: &[f64], paired: bool) -> Option<f64> {
    relative_half_width(&stats::of_runs(a, b, paired, Scale::Ratio)?)
}

/// Returns the half-width of an effect's 95 % interval, as a share of its estimate.
#[must_use]
pub fn relative_half_width(of: &Effect) -> Option<f64> {
    let [low, high] = of.interval?;
    let width = (high - low) / 2.0 / of.estimate;
    width.is_finite().then_some(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Method;

    fn effect(estimate: f64, interval: Option<[f64; 2]>) -> Effect {
        let (scale, method) = (Scale::Ratio, Method::SignedRank);
        Effect { scale, method, estimate, interval, narrow: None, p: None, spread_p: None }
    }

    #[test]
    fn the_half_width_is_relative_to_the_estimate() {
        let width = relative_half_width(&effect(2.0, Some([1.9, 2.1]))).unwrap();
        assert!((width - 0.05).abs() < 1e-12, "{width}");
        assert_eq!(relative_half_width(&effect(2.0, None)), None);
        assert_eq!(relative_half_width(&effect(0.0, Some([0.0, 0.0]))), None);
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
