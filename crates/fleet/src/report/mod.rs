//! What a catalogue says: findings by host and version, since when, and what changed.

mod changes;
mod data;
mod show;
mod sides;

pub use data::ReportOptions;

use crate::catalogue::Catalogue;
use crate::error::FleetError;
use changes::Comparison;
use data::{Recording, Said};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A rule's findings over all recordings.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct RuleOverall {
    pub(crate) rule: String,
    /// The highest severity.
    pub(crate) severity: &'static str,
    /// Recordings with it, and those in which it could be checked.
    pub(crate) found: usize,
    pub(crate) checked: usize,
    /// The hosts with it.
    pub(crate) hosts: usize,
    /// The first and the last day with it; `None` if not recorded.
    pub(crate) first: Option<String>,
    pub(crate) last: Option<String>,
    /// Recordings before the first day in which the rule was checked and found nothing.
    pub(crate) clean_before: usize,
    /// The median potential saving of the recordings with it, as a share of their length.
    pub(crate) median_saving: f64,
}

/// How often a rule found something, by the values of a key.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Breakdown {
    pub(crate) key: String,
    /// The values, in the order of the days on which they first appear.
    pub(crate) values: Vec<String>,
    /// Of each rule: recordings with it, and those in which it was checked, by value.
    pub(crate) rules: Vec<(String, Vec<[usize; 2]>)>,
}

/// A host.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct HostOverall {
    pub(crate) host: String,
    pub(crate) recordings: usize,
    /// Recordings with a finding of high severity, and of medium severity or higher.
    pub(crate) high: usize,
    pub(crate) medium: usize,
    /// The mean of the largest potential savings of its recordings, as shares of their lengths.
    pub(crate) mean_saving: f64,
    /// The rule with the largest sum of potential savings; `None` if there is none.
    pub(crate) worst_rule: Option<String>,
}

/// The content of a report.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Fleet {
    version: u32,
    corewise: &'static str,
    pub(crate) catalogue: String,
    pub(crate) recordings: usize,
    pub(crate) hosts: usize,
    pub(crate) days: Option<[String; 2]>,
    pub(crate) indexed_ns: i64,
    /// What must be known before the figures, a sentence each.
    pub(crate) cautions: Vec<String>,
    pub(crate) rules: Vec<RuleOverall>,
    pub(crate) breakdowns: Vec<Breakdown>,
    pub(crate) changes: Vec<Comparison>,
    pub(crate) worst_hosts: Vec<HostOverall>,
    /// What could not be read, and why.
    pub(crate) errors: Vec<(String, String)>,
}

impl Fleet {
    /// Makes the report of a catalogue.
    ///
    /// # Errors
    /// The catalogue cannot be read, no recording has what it is asked for, or a date is none.
    pub fn of(catalogue: &Catalogue, options: &ReportOptions) -> Result<Self, FleetError> {
        let data = data::read(catalogue, options)?;
        let all = &data.recordings;
        let hosts: BTreeSet<&str> = all.iter().filter_map(|of| of.host.as_deref()).collect();
        let dates: BTreeSet<&str> = all.iter().filter_map(|of| of.date.as_deref()).collect();
        let days = dates.first().zip(dates.last()).map(|(first, last)| [(*first).to_owned(), (*last).to_owned()]);
        let mut breakdowns = Vec::new();
        for key in &options.by {
            breakdowns.push(breakdown(all, key)?);
        }
        let changes = changes::of(all, options)?;
        Ok(Self {
            version: 1,
            corewise: crate::measure::VERSION,
            catalogue: data.catalogue,
            recordings: all.len(),
            hosts: hosts.len(),
            days,
            indexed_ns: catalogue.about.indexed_ns,
            cautions: data.cautions,
            rules: overall(all),
            breakdowns,
            changes,
            worst_hosts: worst_hosts(all, options.top),
            errors: data.errors,
        })
    }

    /// The report as text for a terminal of this width, in columns.
    #[must_use]
    pub fn text(&self, width: usize, color: bool) -> String {
        page::terminal(&show::page(self).blocks, width, color)
    }

    /// The report as one page that loads nothing.
    #[must_use]
    pub fn html(&self) -> String {
        page::web_page(&format!("Fleet {}", self.catalogue), &show::page(self).blocks, None)
    }

    /// The report as JSON.
    ///
    /// # Errors
    /// If serde fails; no such case is known.
    pub fn json(&self) -> Result<String, FleetError> {
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(|why| FleetError::Request(why.to_string()))
    }
}

/// The rules that any recording has an outcome of, in order.
pub(crate) fn rule_names(all: &[Recording]) -> BTreeSet<&str> {
    all.iter().flat_map(|of| of.rules.keys().map(String::as_str)).collect()
}

fn overall(all: &[Recording]) -> Vec<RuleOverall> {
    let mut rules: Vec<RuleOverall> = rule_names(all).into_iter().filter_map(|rule| of_rule(all, rule)).collect();
    let rank = |of: &RuleOverall| data::SEVERITIES.iter().position(|word| *word == of.severity);
    rules.sort_by(|a, b| {
        let saving = |of: &RuleOverall| of.median_saving * of.found as f64;
        (rank(b).cmp(&rank(a)))
            .then(saving(b).total_cmp(&saving(a)))
            .then(b.found.cmp(&a.found))
            .then(a.rule.cmp(&b.rule))
    });
    rules
}

fn of_rule(all: &[Recording], rule: &str) -> Option<RuleOverall> {
    let said: Vec<(&Recording, &Said)> = all.iter().filter_map(|of| Some((of, of.rules.get(rule)?))).collect();
    let with: Vec<&(&Recording, &Said)> = said.iter().filter(|(_, said)| said.found).collect();
    let severity = with.iter().filter_map(|(_, said)| said.severity).max()?;
    let dates = || with.iter().filter_map(|(of, _)| of.date.as_deref());
    let first = dates().min();
    let clean_before = said.iter().filter(|(of, said)| !said.found && of.date.is_some() && of.date.as_deref() < first);
    let hosts: BTreeSet<&str> = with.iter().filter_map(|(of, _)| of.host.as_deref()).collect();
    let savings: Vec<f64> = with.iter().map(|(of, said)| of.share(said)).collect();
    Some(RuleOverall {
        rule: rule.to_owned(),
        severity: data::SEVERITIES[severity],
        found: with.len(),
        checked: said.len(),
        hosts: hosts.len(),
        first: first.map(str::to_owned),
        last: dates().max().map(str::to_owned),
        clean_before: clean_before.count(),
        median_saving: stats::median(&savings).unwrap_or(0.0),
    })
}

fn breakdown(all: &[Recording], key: &str) -> Result<Breakdown, FleetError> {
    let values = sides::values(all, key)?;
    let counts = |rule: &str| -> Vec<[usize; 2]> {
        let of = |value: &String| {
            let said =
                all.iter().filter(|of| of.value(key) == Some(value.as_str())).filter_map(|of| of.rules.get(rule));
            said.fold([0, 0], |[found, checked], said| [found + usize::from(said.found), checked + 1])
        };
        values.iter().map(of).collect()
    };
    let rules = rule_names(all).into_iter().map(|rule| (rule.to_owned(), counts(rule)));
    let rules = rules.filter(|(_, of)| of.iter().any(|[found, _]| *found > 0)).collect();
    Ok(Breakdown { key: key.to_owned(), values, rules })
}

fn worst_hosts(all: &[Recording], top: usize) -> Vec<HostOverall> {
    let mut hosts = BTreeMap::<&str, Vec<&Recording>>::new();
    for of in all {
        if let Some(host) = of.host.as_deref() {
            hosts.entry(host).or_default().push(of);
        }
    }
    let of_host = |(host, of): (&str, Vec<&Recording>)| {
        let at_least = |least: usize| of.iter().filter(|of| of.severity >= Some(least)).count();
        let mut rules = BTreeMap::<&str, f64>::new();
        for of in &of {
            for (rule, said) in &of.rules {
                *rules.entry(rule).or_default() += of.share(said);
            }
        }
        let worst =
            rules.into_iter().filter(|(_, sum)| *sum > 0.0).max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(a.0)));
        HostOverall {
            host: host.to_owned(),
            recordings: of.len(),
            high: at_least(2),
            medium: at_least(1),
            mean_saving: of.iter().map(|of| of.saving_share()).sum::<f64>() / of.len() as f64,
            worst_rule: worst.map(|(rule, _)| rule.to_owned()),
        }
    };
    let mut hosts: Vec<HostOverall> = hosts.into_iter().map(of_host).collect();
    hosts.sort_by(|a, b| b.mean_saving.total_cmp(&a.mean_saving).then(b.high.cmp(&a.high)).then(a.host.cmp(&b.host)));
    hosts.truncate(top);
    hosts
}
