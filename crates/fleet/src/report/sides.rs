//! The two sides of a change: which recordings, and what is the unit that is compared.
//!
//! ```text
//!   the same 6 hosts or more on both sides   a host is a pair of means                   says something about hosts
//!   different hosts, 4 or more a side        a host is one mean                          says something about hosts
//!   the same hosts, fewer than 6             a recording is the unit, 4 or more a side   says nothing about other hosts
//!   else                                     nothing is claimed
//! ```

use super::data::Recording;
use crate::error::FleetError;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The fewest pairs of hosts: those of the signed-rank test.
const PAIRS: usize = 6;
/// The fewest units of a side that is not paired: those of the rank-sum test.
pub(crate) const UNITS: usize = 4;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// A host on both sides.
    PairsOfHosts,
    /// A host on one side.
    Hosts,
    /// A recording.
    Recordings,
}

/// The values of both sides, one for each unit.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Values {
    pub(crate) unit: Unit,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
}

/// Chooses the unit, and takes its values; `None` if there are too few. `value` is `None` where a recording has none.
pub(crate) fn values_of(sides: [&[&Recording]; 2], value: impl Fn(&Recording) -> Option<f64>) -> Option<Values> {
    let of_hosts = sides.map(|side| {
        let mut hosts = BTreeMap::<Option<&str>, Vec<f64>>::new();
        for of in side {
            if let Some(value) = value(of) {
                hosts.entry(of.host.as_deref()).or_default().push(value);
            }
        }
        hosts
    });
    let [a, b] = &of_hosts;
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let both: Vec<&Option<&str>> = a.keys().filter(|host| host.is_some() && b.contains_key(*host)).collect();
    let named = |side: &BTreeMap<Option<&str>, Vec<f64>>| side.iter().filter(|(host, _)| host.is_some()).count();
    if both.len() >= PAIRS {
        let of = |side: &BTreeMap<Option<&str>, Vec<f64>>| {
            both.iter().filter_map(|host| side.get(*host)).map(mean).collect()
        };
        return Some(Values { unit: Unit::PairsOfHosts, a: of(a), b: of(b) });
    }
    if both.is_empty() && named(a) >= UNITS && named(b) >= UNITS {
        let of = |side: &BTreeMap<Option<&str>, Vec<f64>>| {
            side.iter().filter(|(host, _)| host.is_some()).map(|(_, values)| mean(values)).collect()
        };
        return Some(Values { unit: Unit::Hosts, a: of(a), b: of(b) });
    }
    let all = |side: &BTreeMap<Option<&str>, Vec<f64>>| side.values().flatten().copied().collect::<Vec<f64>>();
    let (all_a, all_b) = (all(a), all(b));
    let is_same_hosts = a.keys().eq(b.keys());
    (is_same_hosts && all_a.len() >= UNITS && all_b.len() >= UNITS).then_some(Values {
        unit: Unit::Recordings,
        a: all_a,
        b: all_b,
    })
}

/// The values of a key, in the order of the days on which they first appear.
///
/// # Errors
/// No recording has the key.
pub(crate) fn values(all: &[Recording], key: &str) -> Result<Vec<String>, FleetError> {
    let mut first = BTreeMap::<&str, &str>::new();
    for of in all {
        if let Some(value) = of.value(key) {
            let date = of.date.as_deref().unwrap_or("9");
            first.entry(value).and_modify(|first| *first = (*first).min(date)).or_insert(date);
        }
    }
    if first.is_empty() {
        let labels: BTreeSet<&str> = all.iter().flat_map(|of| of.keys.keys().map(String::as_str)).collect();
        let known: Vec<&str> = ["host", "date"].into_iter().chain(labels).collect();
        let meant = engine::did_you_mean(key, known.iter().copied());
        return Err(FleetError::Request(format!("no recording has {key}{meant} There are {}", known.join(", "))));
    }
    let mut values: Vec<(&str, &str)> = first.into_iter().map(|(value, date)| (date, value)).collect();
    values.sort_unstable();
    Ok(values.into_iter().map(|(_, value)| value.to_owned()).collect())
}
