//! What a fix changed, from the runs without and with it.

use model::TrialVerdict as Verdict;
use serde::{Deserialize, Serialize};
use stats::{Effect, Scale};

/// A change of less than this share is no effect.
const MARGIN: f64 = 0.02;

/// What is measured in each run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The time to the end of the command.
    End,
    /// By how much periods, frames or requests were late, in all.
    Lateness,
    /// How long periods, frames or requests took, in all.
    Response,
    /// A number that the command prints, of which less is better.
    Number,
    /// A number that the command prints, of which more is better.
    Rate,
}

impl Measure {
    /// Whether it is a time, ns.
    #[must_use]
    pub fn is_time(self) -> bool {
        !matches!(self, Self::Number | Self::Rate)
    }
}

/// One run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// What is measured: for each command, or for each of `count`. Times in ns.
    pub value: f64,
    /// The number of periods, frames or requests; 1 for a command.
    pub count: i64,
    /// The number of those that were late.
    pub late: i64,
    /// Whether the finding was there; `None` if its rule could not be checked.
    pub has_finding: Option<bool>,
    /// The number of threads that the fix was for.
    pub threads: usize,
}

/// A saving of time and its range, ns.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Saving {
    /// The best estimate.
    pub ns: f64,
    /// The lower and the upper end; measured: of the 95 % interval.
    pub range: Option<[f64; 2]>,
}

/// What a fix changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// What it did.
    pub verdict: Verdict,
    /// What was measured.
    pub measure: Measure,
    /// The number of pairs.
    pub pairs: usize,
    /// The medians without and with it, as in [`Run`].
    pub medians: [f64; 2],
    /// The change as a share: −0.1 is 10 % less. `None` if there was nothing without the fix.
    pub change: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The medians of how many were late, and of how many there were, without and with it.
    pub late: [(i64, i64); 2],
    /// What the finding predicted.
    pub predicted: Saving,
    /// What was measured: time saved in each run; `None` if no time was measured.
    pub measured: Option<Saving>,
    /// In how many runs the finding was there, without and with the fix.
    pub found: [usize; 2],
    /// The median number of threads that the fix was for.
    pub threads: usize,
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    stats::median(&values.collect::<Vec<_>>()).unwrap_or_default()
}

impl Outcome {
    /// Compares runs, `without[i]` and `with[i]` being a pair. `is_applied`: whether the fix was applied in all runs with it.
    #[must_use]
    pub fn new(measure: Measure, without: &[Run], with: &[Run], predicted: Saving, is_applied: bool) -> Self {
        let each = |runs: &[Run]| runs.iter().map(|run| run.value).collect::<Vec<_>>();
        let (a, b) = (each(without), each(with));
        let medians = [median(a.iter().copied()), median(b.iter().copied())];
        let (change, interval) = relative(&a, &b, medians[0]);
        let verdict = match (is_applied, interval) {
            (false, _) => Verdict::NotApplied,
            (true, None) if medians == [0.0; 2] => Verdict::NoEffect,
            (true, None) => Verdict::TooFewPairs,
            (true, Some([low, high])) => {
                // Of a rate, more is better.
                let [low, high] = if measure == Measure::Rate { [-high, -low] } else { [low, high] };
                if high < -MARGIN {
                    Verdict::Helped
                } else if low > MARGIN {
                    Verdict::Harmed
                } else {
                    Verdict::NoEffect
                }
            }
        };
        // The predicted saving is that of a whole run.
        let in_all = |runs: &[Run]| runs.iter().map(|run| run.value * run.count as f64).collect::<Vec<_>>();
        let saved = stats::of_runs(&in_all(without), &in_all(with), true, Scale::Difference);
        let measured = saved
            .filter(|_| measure.is_time())
            .map(|of: Effect| Saving { ns: -of.estimate, range: of.interval.map(|[low, high]| [-high, -low]) });
        let late = |runs: &[Run]| {
            let of = |value: fn(&Run) -> i64| median(runs.iter().map(|run| value(run) as f64)) as i64;
            (of(|run| run.late), of(|run| run.count))
        };
        let found = |runs: &[Run]| runs.iter().filter(|run| run.has_finding == Some(true)).count();
        Self {
            verdict,
            measure,
            pairs: without.len().min(with.len()),
            medians,
            change,
            interval,
            late: [late(without), late(with)],
            predicted,
            measured,
            found: [found(without), found(with)],
            threads: median(with.iter().map(|run| run.threads as f64)) as usize,
        }
    }

    /// Whether the measured saving lies in the predicted range; `None` if that has no range, or no time was measured.
    #[must_use]
    pub fn holds(&self) -> Option<bool> {
        let ([low, high], measured) = self.predicted.range.zip(self.measured)?;
        Some((low..=high).contains(&measured.ns))
    }
}

/// The change from `a` to `b` as a share of `a`, and its 95 % interval.
fn relative(a: &[f64], b: &[f64], of: f64) -> (Option<f64>, Option<[f64; 2]>) {
    if let Some(ratio) = stats::of_runs(a, b, true, Scale::Ratio) {
        return (Some(ratio.estimate - 1.0), ratio.interval.map(|ends| ends.map(|end| end - 1.0)));
    }
    // Where some are 0, as lateness can be, a ratio is not defined.
    let difference = stats::of_runs(a, b, true, Scale::Difference).filter(|_| of > 0.0);
    let Some(difference) = difference else { return (None, None) };
    (Some(difference.estimate / of), difference.interval.map(|ends| ends.map(|end| end / of)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64]) -> Vec<Run> {
        values
            .iter()
            .map(|value| Run { value: *value, count: 10, late: 3, has_finding: Some(*value > 50.0), threads: 2 })
            .collect()
    }

    fn outcome(a: &[f64], b: &[f64]) -> Outcome {
        let predicted = Saving { ns: 400.0, range: Some([300.0, 500.0]) };
        Outcome::new(Measure::Lateness, &runs(a), &runs(b), predicted, true)
    }

    const A: [f64; 8] = [100.0, 101.0, 99.0, 102.0, 98.0, 100.5, 99.5, 100.0];

    #[test]
    fn a_change_beyond_the_margin_counts() {
        let less = outcome(&A, &A.map(|ns| ns * 0.6));
        assert_eq!((less.verdict, less.found, less.threads), (Verdict::Helped, [8, 8], 2));
        assert_eq!(less.holds(), Some(true), "{less:?}");
        assert_eq!(outcome(&A, &A.map(|ns| ns * 1.5)).verdict, Verdict::Harmed);
        assert_eq!(outcome(&A, &A.map(|ns| ns * 0.99)).verdict, Verdict::NoEffect);
        assert_eq!(outcome(&A[..1], &[50.0]).verdict, Verdict::TooFewPairs);
    }

    #[test]
    fn more_of_a_rate_is_better() {
        let predicted = Saving { ns: 400.0, range: Some([300.0, 500.0]) };
        let of = |a: &[f64], b: &[f64]| Outcome::new(Measure::Rate, &runs(a), &runs(b), predicted, true);
        let more = of(&A, &A.map(|rate| rate * 1.5));
        assert_eq!((more.verdict, more.measured, more.holds()), (Verdict::Helped, None, None));
        assert_eq!(of(&A, &A.map(|rate| rate * 0.9)).verdict, Verdict::Harmed);
    }

    #[test]
    fn no_lateness_left_is_a_difference() {
        let none = outcome(&A, &[0.0; 8]);
        assert_eq!((none.verdict, none.change), (Verdict::Helped, Some(-1.0)));
        assert_eq!(outcome(&[0.0; 8], &[0.0; 8]).verdict, Verdict::NoEffect);
    }

    #[test]
    fn a_fix_that_was_not_applied_has_no_other_verdict() {
        let predicted = Saving { ns: 0.0, range: None };
        let of = Outcome::new(Measure::End, &runs(&A), &runs(&A.map(|ns| ns / 2.0)), predicted, false);
        assert_eq!((of.verdict, of.holds()), (Verdict::NotApplied, None));
    }
}
