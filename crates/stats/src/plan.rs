//! How many runs are still needed, when to stop, and how large a change can still be.

use crate::{Effect, Method, Scale};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The most runs that are recommended.
const MOST: usize = 1_000;

/// An estimate of how many more runs a side would settle the question: until the 95 % interval excludes no change, or the 90 % interval lies
/// within the margin. The margin is a share for ratios (1 / (1 + margin) to 1 + margin), and in the unit of the values for differences.
///
/// Assumes that the estimate stays and that intervals shrink with the root of the number of runs, by Student's t for few runs. 0 if settled.
/// `None` if that takes more than 1,000, or if the effect has no interval, or one within a single run only.
pub fn runs_needed(effect: &Effect, a: &[f64], b: &[f64], paired: bool, margin: f64) -> Option<usize> {
    if effect.method == Method::Blocks || margin.is_nan() {
        return None;
    }
    let [low, high] = effect.interval?.map(|end| effect.scale.to_sum(end));
    let ([low, high], estimate) = ([low?, high?], effect.scale.to_sum(effect.estimate)?.abs());
    let within = match effect.scale {
        Scale::Ratio => margin.ln_1p(),
        Scale::Difference => margin,
    };
    let (excludes, fits) = settled(effect, within)?;
    if excludes || fits {
        return Some(0);
    }
    let paired = paired && effect.method == Method::SignedRank;
    // The error of one run a side, from the half-width at present.
    let (n, m) = (a.len(), b.len());
    let at_present = if paired { Design::pairs(n) } else { Design::sides(n, m) };
    let error = (high - low) / 2.0 / at_present.half_width(0.975)?;
    (1..=MOST).find(|more| {
        let design = if paired { Design::pairs(n + more) } else { Design::sides(n + more, m + more) };
        let half = |at| design.half_width(at).map(|width| error * width);
        // Rank tests need 4 runs a side.
        let excludes = n.min(m) + more >= 4 && half(0.975).is_some_and(|half| half < estimate);
        excludes || half(0.95).is_some_and(|half| half + estimate <= within)
    })
}

/// Whether the 95 % interval excludes no change, and whether the 90 % interval lies within the margin, on the scale on which effects add up.
fn settled(effect: &Effect, within: f64) -> Option<(bool, bool)> {
    let [low, high] = effect.interval?;
    let no_change = effect.scale.no_change();
    let [narrow_low, narrow_high] = effect.narrow?.map(|end| effect.scale.to_sum(end));
    Some((no_change < low || high < no_change, -within <= narrow_low? && narrow_high? <= within))
}

/// Numbers of runs, as far as the width of an interval depends on them.
struct Design {
    freedom: f64,
    /// The variance of the shift in units of that of a run.
    variance: f64,
}

impl Design {
    fn sides(n: usize, m: usize) -> Self {
        Self { freedom: (n + m) as f64 - 2.0, variance: 1.0 / n as f64 + 1.0 / m as f64 }
    }

    fn pairs(n: usize) -> Self {
        Self { freedom: n as f64 - 1.0, variance: 1.0 / n as f64 }
    }

    /// The half-width of an interval whose upper end is at this quantile, in standard deviations of a run.
    fn half_width(&self, at: f64) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        Some(student.inverse_cdf(at) * self.variance.sqrt())
    }
}

/// Whether the 95 % interval is as narrow as requested: its half-width is at most this share of the value (0.01: 1 %). For ratios the value is
/// 1, so that the half-width is the root of the upper by the lower end, less 1; for differences it is the estimate.
pub fn width_reached(effect: &Effect, share: f64) -> bool {
    let Some([low, high]) = effect.interval else { return false };
    match effect.scale {
        Scale::Ratio => low > 0.0 && (high / low).sqrt() - 1.0 <= share,
        Scale::Difference => (high - low) / 2.0 <= share * effect.estimate.abs(),
    }
}

/// The largest change that the 90 % interval leaves possible, as a share: 0.012 if it lies within 1 / 1.012 to 1.012. So it is at most a margin
/// exactly if the sides are equivalent within it, with 95 % confidence. `None` of differences, and without an interval.
pub fn at_most(effect: &Effect) -> Option<f64> {
    let [low, high] = effect.narrow?;
    (effect.scale == Scale::Ratio && low > 0.0).then(|| high.max(1.0 / low) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::of_runs;

    fn normal(n: usize, shift: f64, seed: u64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..n).map(|_| 100.0 + shift + (0..12).map(|_| random.f64()).sum::<f64>() - 6.0).collect()
    }

    #[test]
    fn a_settled_question_needs_no_run() {
        let (a, b) = (normal(8, 0.0, 1), normal(8, 10.0, 2));
        let changed = of_runs(&a, &b, false, Scale::Ratio).unwrap();
        assert_eq!(runs_needed(&changed, &a, &b, false, 0.01), Some(0));
        let same = of_runs(&a, &normal(8, 0.0, 3), false, Scale::Ratio).unwrap();
        assert_eq!(runs_needed(&same, &a, &a, false, 0.5), Some(0));
    }

    #[test]
    fn the_estimate_of_runs_is_near_the_textbook() {
        // A shift of half a deviation: t * sqrt(2 / n) < 0.5 from n = 32 on (power is no part of the question).
        let effect = Effect {
            scale: Scale::Difference,
            method: Method::RankSum,
            estimate: 0.5,
            // The interval of 8 a side with deviation 1: t(0.975, 14) / 2.
            interval: Some([0.5 - 1.0724, 0.5 + 1.0724]),
            narrow: Some([0.5 - 0.8807, 0.5 + 0.8807]),
            p: Some(0.33),
            spread_p: None,
        };
        assert_eq!(runs_needed(&effect, &[0.0; 8], &[0.0; 8], false, 0.0), Some(24));
        // A margin of 1.5 is reached first: 0.5 + t(0.95) * sqrt(2 / n) <= 1.5 holds now.
        assert_eq!(runs_needed(&effect, &[0.0; 8], &[0.0; 8], false, 1.5), Some(0));
        assert_eq!(runs_needed(&Effect { estimate: 0.0, ..effect }, &[0.0; 8], &[0.0; 8], false, 0.01), None);
    }

    #[test]
    fn two_runs_a_side_need_four() {
        let effect = of_runs(&[100.0, 101.0], &[103.0, 104.0], false, Scale::Ratio).unwrap();
        assert_eq!(runs_needed(&effect, &[100.0, 101.0], &[103.0, 104.0], false, 0.001), Some(2));
    }

    #[test]
    fn without_a_spread_there_is_no_estimate() {
        let one = of_runs(&[1.0], &[2.0], false, Scale::Ratio).unwrap();
        assert_eq!(runs_needed(&one, &[1.0], &[2.0], false, 0.01), None);
        assert!(!width_reached(&one, 1.0));
        assert_eq!(at_most(&one), None);
    }

    #[test]
    fn the_largest_change_is_that_of_the_margin() {
        let of = |scale, interval| Effect {
            scale,
            method: Method::RankSum,
            estimate: 1.0,
            interval: Some(interval),
            narrow: Some(interval),
            p: Some(0.5),
            spread_p: None,
        };
        assert!((at_most(&of(Scale::Ratio, [1.0 / 1.02, 1.01])).unwrap() - 0.02).abs() < 1e-12);
        assert_eq!(at_most(&of(Scale::Difference, [0.0, 1.0])), None);
        assert!(width_reached(&of(Scale::Ratio, [0.99, 1.01]), 0.0101));
        assert!(!width_reached(&of(Scale::Ratio, [0.99, 1.01]), 0.0099));
        assert!(width_reached(&of(Scale::Difference, [0.9, 1.1]), 0.11));
    }
}
