//! Threshold values set by the user.

use crate::rule::{Rule, Threshold, Unit};
use crate::rules::RULES;
use engine::did_you_mean;
use std::collections::BTreeMap;

/// The shares of the analysed range from which a finding is medium or high, by the potential saving of one thread.
pub const SEVERITY: &[&Threshold] = &[&MEDIUM_SHARE, &HIGH_SHARE];

pub(crate) const MEDIUM_SHARE: Threshold = Threshold {
    name: "medium_share",
    unit: Unit::Ratio,
    value: 0.02,
    reason: "heuristic: less than a fiftieth of a run is hard to distinguish from the variation between runs",
};

pub(crate) const HIGH_SHARE: Threshold = Threshold {
    name: "high_share",
    unit: Unit::Ratio,
    value: 0.05,
    reason: "heuristic: a game that ran 8 % slower due to such faults was worth a vendor's case study; a frame at 60 Hz loses 0.8 of 16.7 ms",
};

/// How names of thresholds began until version 0.1.0, and how they begin now.
const FORMER_PREFIXES: &[(&str, &str)] = &[("least_", "min_"), ("most_", "max_")];

/// The thresholds that differ from their defaults.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings(BTreeMap<(String, String), f64>);

impl Settings {
    /// Sets `rule.threshold=value`, or `severity.high_share=value`. Former names of thresholds are accepted.
    ///
    /// # Errors
    /// The rule, threshold or number is invalid; the message lists the valid names.
    pub fn set(&mut self, words: &str) -> Result<(), String> {
        let parts = words.split_once('=').and_then(|(of, value)| Some((of.split_once('.')?, value)));
        let ((rule, name), value) = parts.ok_or_else(|| format!("{words}: expected RULE.THRESHOLD=VALUE"))?;
        let known = thresholds(rule).ok_or_else(|| {
            let meant = did_you_mean(rule, RULES.iter().map(|r| r.id).chain(["severity"]));
            format!("there is no rule {rule}{meant} `corewise explain` lists them")
        })?;
        let Some(threshold) = find(known, name) else {
            let names: Vec<&str> = known.iter().map(|t| t.name).collect();
            let valid = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let meant = did_you_mean(name, names.iter().copied());
            return Err(format!("{rule} has no threshold {name}{meant} Its thresholds: {valid}"));
        };
        let number: Option<f64> = value.trim().parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0);
        let number = number.ok_or_else(|| format!("{words}: {value} is not a number of 0 or more"))?;
        self.0.insert((rule.to_owned(), threshold.name.to_owned()), number);
        Ok(())
    }

    /// The value of a threshold of a rule.
    pub(crate) fn of(&self, rule: &str, threshold: &Threshold) -> f64 {
        self.chosen(rule, threshold).unwrap_or(threshold.value)
    }

    /// The value that the user set; `None`: none.
    pub(crate) fn chosen(&self, rule: &str, threshold: &Threshold) -> Option<f64> {
        self.0.get(&(rule.to_owned(), threshold.name.to_owned())).copied()
    }
}

fn thresholds(rule: &str) -> Option<&'static [&'static Threshold]> {
    if rule == "severity" {
        return Some(SEVERITY);
    }
    RULES.iter().find(|r: &&&Rule| r.id == rule).map(|r| r.thresholds)
}

/// Finds a threshold by its name or its former name.
fn find(known: &[&'static Threshold], name: &str) -> Option<&'static Threshold> {
    let is_former = |current: &str| {
        FORMER_PREFIXES.iter().any(|(former, prefix)| {
            name.strip_prefix(former).is_some_and(|rest| current.strip_prefix(prefix) == Some(rest))
        })
    };
    known.iter().copied().find(|t| t.name == name || is_former(t.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn threshold_names_of_a_rule_are_unique() {
        for rule in RULES {
            let names: BTreeSet<&str> = rule.thresholds.iter().map(|t| t.name).collect();
            assert_eq!(names.len(), rule.thresholds.len(), "{}", rule.id);
        }
    }

    #[test]
    fn values_are_set_and_invalid_settings_are_rejected() {
        let mut settings = Settings::default();
        settings.set("severity.high_share=0.5").unwrap();
        assert_eq!(settings.of("severity", &HIGH_SHARE), 0.5);
        assert_eq!(settings.of("severity", &MEDIUM_SHARE), 0.02);
        for (bad, why) in [
            ("x", "expected RULE.THRESHOLD=VALUE"),
            ("dance.x=1", "there is no rule dance"),
            ("severty.high_share=1", "did you mean severity?"),
            ("severity.high_shar=1", "did you mean high_share?"),
            ("severity.x=1", "medium_share, high_share"),
            ("severity.high_share=-1", "not a number"),
            ("severity.high_share=nan", "not a number"),
        ] {
            let error = settings.set(bad).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn former_names_are_accepted() {
        let mut settings = Settings::default();
        settings.set("lock-convoy.least_threads=4").unwrap();
        settings.set("lock-convoy.most_busy=2").unwrap();
        let mut current = Settings::default();
        current.set("lock-convoy.min_threads=4").unwrap();
        current.set("lock-convoy.max_busy=2").unwrap();
        assert_eq!(settings, current);
        for bad in ["lock-convoy.least_busy_ns=1", "lock-convoy.most_threads=1", "severity.least_share=1"] {
            assert!(settings.set(bad).unwrap_err().contains("has no threshold"), "{bad}");
        }
    }
}
