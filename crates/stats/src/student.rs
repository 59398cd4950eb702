//! Two or three runs a side: Student's t with pooled variance. Assumes normally distributed runs.

use crate::shift::{LEVELS, Shift};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The shift of the mean. `None` if the values do not allow an interval (see [`measurable`]).
pub(crate) fn shift(a: &[f64], b: &[f64]) -> Option<Shift> {
    if !measurable(a, b) {
        return None;
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let freedom = n + m - 2.0;
    let estimate = mean(b) - mean(a);
    let error = ((squares(a) + squares(b)) / freedom * (1.0 / n + 1.0 / m)).sqrt();
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    if !(error > 0.0 && error.is_finite()) {
        return None;
    }
    let intervals = LEVELS.map(|level| {
        let half = error * student.inverse_cdf(1.0 - level / 2.0);
        [estimate - half, estimate + half]
    });
    Some(Shift { estimate, intervals, p: 2.0 * student.cdf(-(estimate / error).abs()) })
}

/// Whether the spread of the values is that of the runs, rather than of rounding.
///
/// Values of a continuous quantity are equal only if they were rounded to steps as wide as their spread. Then the spread of two or three
/// values is mostly chance: it can be 0 although runs differ. So more than half of the values of each side must be distinct, and three or more of all.
fn measurable(a: &[f64], b: &[f64]) -> bool {
    let both: Vec<f64> = a.iter().chain(b).copied().collect();
    [a, b].iter().all(|side| 2 * distinct(side) > side.len()) && distinct(&both) >= 3
}

/// How many values are distinct.
pub(crate) fn distinct(values: &[f64]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    sorted.len()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_and_two_by_hand() {
        // Means 2 and 5, pooled variance 2, error sqrt(2 * (1/2 + 1/2)), 2 degrees of freedom: t(0.975) = 4.302653.
        let found = shift(&[1.0, 3.0], &[4.0, 6.0]).unwrap();
        assert_eq!(found.estimate, 3.0);
        assert!((found.intervals[0][1] - (3.0 + 4.302_652_73 * 2f64.sqrt())).abs() < 1e-7, "{found:?}");
        assert!((found.intervals[1][1] - (3.0 + 2.919_985_58 * 2f64.sqrt())).abs() < 1e-7, "{found:?}");
        // P(|t| >= x) with 2 degrees of freedom is 1 - x / sqrt(2 + x^2).
        let t = 3.0 / 2f64.sqrt();
        assert!((found.p - (1.0 - t / (2.0 + t * t).sqrt())).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn rounded_values_have_no_interval() {
        assert!(shift(&[1.0, 1.0], &[2.0, 3.0]).is_none());
        assert!(shift(&[1.0, 2.0], &[2.0, 1.0]).is_none());
        assert!(shift(&[1.0, 1.0, 2.0], &[2.0, 3.0]).is_some());
    }
}
