//! Conditions for scripts: `frame.p99 > +3%`.

use crate::{Comparison, Metric, Outcome, Verdict};
use stats::Scale;
use std::str::FromStr;

/// A condition under which a script should fail.
#[derive(Clone, PartialEq, Debug)]
pub struct FailOn {
    /// The text as given.
    text: String,
    metric: String,
    role: Option<String>,
    is_above: bool,
    limit: Limit,
}

/// How large a change may be.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Limit {
    /// As a share: 0.03 is 3 %.
    Share(f64),
    /// As a difference, in the unit of the metric (ns for times).
    Difference(f64),
}

/// What a condition found.
#[derive(Clone, PartialEq, Debug)]
pub enum Checked {
    /// The metric changed by more than the limit: a sentence.
    Failed(String),
    /// It did not.
    Passed,
    /// The runs do not suffice to say, or the metric does not exist on both sides: a sentence.
    Unknown(String),
}

impl FromStr for FailOn {
    type Err = String;

    /// Parses `METRIC > +3%`, `ROLE/METRIC > +2ms`, `fps.average < -5%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text}: expected METRIC > +LIMIT or METRIC < -LIMIT with a limit in % or a time (ns, us, ms, s), such as 'elapsed > +3%', \
                 'frame.p99 > +2ms' or 'Worker/ready > +10%'"
            )
        };
        let at = text.find(['>', '<']).ok_or_else(wrong)?;
        let (name, limit) = (text[..at].trim(), text[at + 1..].trim());
        let (role, metric) =
            name.rsplit_once('/').map_or((None, name), |(role, metric)| (Some(role.to_owned()), metric));
        let digits = limit.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(limit.len());
        let number: f64 = limit[..digits].parse().map_err(|_| wrong())?;
        let limit = match limit[digits..].trim() {
            "%" => Limit::Share(number / 100.0),
            "" => Limit::Difference(number),
            "ns" => Limit::Difference(number),
            "us" => Limit::Difference(number * 1e3),
            "ms" => Limit::Difference(number * 1e6),
            "s" => Limit::Difference(number * 1e9),
            _ => return Err(wrong()),
        };
        if metric.is_empty() || !number.is_finite() {
            return Err(wrong());
        }
        Ok(Self {
            text: text.to_owned(),
            metric: metric.to_owned(),
            role,
            is_above: text.as_bytes()[at] == b'>',
            limit,
        })
    }
}

impl FailOn {
    /// Checks a comparison: it fails only if the change is significant and its estimate is beyond the limit.
    #[must_use]
    pub fn check(&self, comparison: &Comparison) -> Checked {
        let all = std::iter::once(&comparison.objective).chain(&comparison.metrics);
        let Some(outcome) = all.into_iter().find(|outcome| self.names(&outcome.metric)) else {
            let known =
                std::iter::once(&comparison.objective).chain(&comparison.metrics).map(|of| of.metric.id.as_str());
            let meant = engine::did_you_mean(&self.metric, known);
            return Checked::Unknown(format!("{}: the two sides do not have this metric in common{meant}", self.text));
        };
        let Some((estimate, low, high)) = self.change(outcome) else {
            return Checked::Unknown(format!("{}: the change of this metric cannot be calculated", self.text));
        };
        let limit = match self.limit {
            Limit::Share(limit) | Limit::Difference(limit) => limit,
        };
        let beyond = |value: f64| if self.is_above { value > limit } else { value < limit };
        let words = || format!("{}: {}", self.text, crate::show::words::change_words(outcome));
        match (outcome.verdict, low.zip(high)) {
            (Verdict::Changed, _) if beyond(estimate) => Checked::Failed(words()),
            // All values that the runs leave possible are within the limit.
            (_, Some((low, high))) if !beyond(low) && !beyond(high) => Checked::Passed,
            (Verdict::Changed | Verdict::Same, _) => Checked::Passed,
            _ => Checked::Unknown(words()),
        }
    }

    fn names(&self, metric: &Metric) -> bool {
        let is_it = |id: &str| id == self.metric || id.strip_suffix("_ns") == Some(&self.metric);
        is_it(&metric.id)
            && match (&self.role, &metric.role) {
                (None, None) => true,
                (Some(wanted), Some(role)) => role == wanted || role.rsplit('/').next() == Some(wanted),
                _ => false,
            }
    }

    /// The change and its interval on the scale of the limit.
    fn change(&self, outcome: &Outcome) -> Option<(f64, Option<f64>, Option<f64>)> {
        let effect = outcome.effect?;
        let of_a = outcome.middle[0]?;
        let convert = |value: f64| match (effect.scale, self.limit) {
            (Scale::Ratio, Limit::Share(_)) => value - 1.0,
            (Scale::Ratio, Limit::Difference(_)) => (value - 1.0) * of_a,
            (Scale::Difference, Limit::Share(_)) => value / of_a.abs(),
            (Scale::Difference, Limit::Difference(_)) => value,
        };
        let bound = |at: usize| effect.interval.map(|of| convert(of[at]));
        Some((convert(effect.estimate), bound(0), bound(1))).filter(|(estimate, ..)| estimate.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_parsed_and_others_are_refused() {
        let of = |text: &str| text.parse::<FailOn>().unwrap();
        assert_eq!(of("frame.p99 > +3%").limit, Limit::Share(0.03));
        assert_eq!(of("fps.average < -5%").limit, Limit::Share(-0.05));
        assert_eq!(of("game/Worker/ready > +2ms").limit, Limit::Difference(2e6));
        assert_eq!(of("game/Worker/ready > +2ms").role.as_deref(), Some("game/Worker"));
        for wrong in ["", "elapsed", "> 3%", "elapsed > x", "elapsed > 3 parsecs"] {
            assert!(wrong.parse::<FailOn>().unwrap_err().contains("expected METRIC"), "{wrong}");
        }
    }
}
