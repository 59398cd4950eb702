//! The figures that rules go by, as the user wants them.

use crate::rule::{Rule, Threshold, Unit};
use crate::rules::RULES;
use std::collections::BTreeMap;

/// From which part of the time looked at on a finding is more than low: that of the thread with most to gain.
pub const SEVERITY: &[&Threshold] = &[&MEDIUM_SHARE, &HIGH_SHARE];

pub(crate) const MEDIUM_SHARE: Threshold = Threshold {
    name: "medium_share",
    unit: Unit::Ratio,
    value: 0.01,
    reason: "a choice: less than a hundredth of a run is hard to tell from what two runs differ by anyway",
};

pub(crate) const HIGH_SHARE: Threshold = Threshold {
    name: "high_share",
    unit: Unit::Ratio,
    value: 0.05,
    reason: "a choice: a game that ran 8 % slower for such faults was worth a vendor's case study; a frame of 60 Hz loses 0.8 of 16.7 ms",
};

/// What of the thresholds was set otherwise.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings(BTreeMap<(String, String), f64>);

impl Settings {
    /// Takes `rule.threshold=value`, or `severity.high_share=value`.
    ///
    /// # Errors
    /// There is no such threshold, or it is no number: which there are is told.
    pub fn set(&mut self, words: &str) -> Result<(), String> {
        let parts = words.split_once('=').and_then(|(of, value)| Some((of.split_once('.')?, value)));
        let ((rule, name), value) = parts.ok_or_else(|| format!("{words}: not rule.threshold=value"))?;
        let known =
            thresholds(rule).ok_or_else(|| format!("there is no rule {rule}: `corewise explain` lists them"))?;
        if !known.iter().any(|t| t.name == name) {
            let names: Vec<&str> = known.iter().map(|t| t.name).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(format!("{rule} has no threshold {name}; there is {there}"));
        }
        let number: Option<f64> = value.trim().parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0);
        let number = number.ok_or_else(|| format!("{words}: {value} is no number that is 0 or more"))?;
        self.0.insert((rule.to_owned(), name.to_owned()), number);
        Ok(())
    }

    /// The value of a threshold of a rule.
    pub(crate) fn of(&self, rule: &str, threshold: &Threshold) -> f64 {
        self.0.get(&(rule.to_owned(), threshold.name.to_owned())).copied().unwrap_or(threshold.value)
    }
}

fn thresholds(rule: &str) -> Option<&'static [&'static Threshold]> {
    if rule == "severity" {
        return Some(SEVERITY);
    }
    RULES.iter().find(|r: &&&Rule| r.id == rule).map(|r| r.thresholds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn thresholds_of_a_rule_have_names_of_their_own() {
        for rule in RULES {
            let names: BTreeSet<&str> = rule.thresholds.iter().map(|t| t.name).collect();
            assert_eq!(names.len(), rule.thresholds.len(), "{}", rule.id);
        }
    }

    #[test]
    fn what_is_set_counts_and_what_is_not_there_is_told() {
        let mut settings = Settings::default();
        settings.set("severity.high_share=0.5").unwrap();
        assert_eq!(settings.of("severity", &HIGH_SHARE), 0.5);
        assert_eq!(settings.of("severity", &MEDIUM_SHARE), 0.01);
        for (bad, why) in [
            ("x", "not rule.threshold=value"),
            ("dance.x=1", "no rule dance"),
            ("severity.x=1", "medium_share, high_share"),
            ("severity.high_share=-1", "no number"),
            ("severity.high_share=nan", "no number"),
        ] {
            let told = settings.set(bad).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
    }
}
