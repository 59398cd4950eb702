//! What changed between days, or between values of a key.
//!
//! Each rule is tested twice: how often it finds something (the share of recordings), and how much it costs (the potential saving as a share of the
//! recording). All tests of a report are of one family: they are called changed at a false discovery rate of 5 %.

use super::data::{Recording, ReportOptions};
use super::rule_names;
use super::sides::{UNITS, Unit, values, values_of};
use crate::dates;
use crate::error::FleetError;
use serde::Serialize;
use stats::{Effect, Scale, false_discovery, of_runs};

/// The false discovery rate at which something is called changed.
const RATE: f64 = 0.05;
/// Neighbouring values of a key that are compared, at most: the last ones.
const MAX_PAIRS: usize = 8;

/// What is said about a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// Nothing of it on side A, and more on B than could be chance.
    New,
    /// Nothing of it on side B, and less than could be chance.
    Gone,
    /// Found more often, or costs more.
    Worse,
    /// Found less often, or costs less.
    Better,
    /// The recordings do not show a change.
    NotShown,
    /// Too few hosts or recordings for any claim.
    TooFew,
}

/// A test of a rule.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Tested {
    /// The change from A to B, as a difference of shares.
    pub(crate) effect: Effect,
    /// The p-value after the correction for all tests of the report; `None` without a p-value.
    pub(crate) q: Option<f64>,
}

/// A rule on both sides.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct RuleChange {
    pub(crate) rule: String,
    pub(crate) verdict: Verdict,
    /// Of each side: recordings with it, and those in which it could be checked.
    pub(crate) counts: [[usize; 2]; 2],
    /// What was compared; `None` if there are too few.
    pub(crate) unit: Option<Unit>,
    /// The number of units of each side.
    pub(crate) units: [usize; 2],
    /// How often it is found.
    pub(crate) often: Option<Tested>,
    /// How much it costs.
    pub(crate) cost: Option<Tested>,
}

/// The change from one side to another.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Comparison {
    /// The key.
    pub(crate) key: String,
    /// The names of the sides.
    pub(crate) sides: [String; 2],
    /// The recordings of the sides.
    pub(crate) recordings: [usize; 2],
    /// The rules that found something on either side.
    pub(crate) rules: Vec<RuleChange>,
}

/// All changes: between days, and between neighbouring values of each key.
pub(crate) fn of(all: &[Recording], options: &ReportOptions) -> Result<Vec<Comparison>, FleetError> {
    let mut changes = Vec::new();
    if let Some(day) = day(all, options)? {
        let side = |later: bool| {
            let is_of = |of: &&Recording| of.date.as_deref().is_some_and(|date| (date >= day.as_str()) == later);
            all.iter().filter(is_of).collect::<Vec<_>>()
        };
        changes.extend(change("date", [format!("before {day}"), format!("since {day}")], [side(false), side(true)]));
    }
    for key in options.by.iter().filter(|key| *key != "date" && *key != "host") {
        let values = values(all, key)?;
        let pairs: Vec<&[String]> = values.windows(2).collect();
        for pair in &pairs[pairs.len().saturating_sub(MAX_PAIRS)..] {
            let side =
                |value: &String| all.iter().filter(|of| of.value(key) == Some(value.as_str())).collect::<Vec<_>>();
            let names = [format!("{key} {}", pair[0]), format!("{key} {}", pair[1])];
            changes.extend(change(key, names, [side(&pair[0]), side(&pair[1])]));
        }
    }
    correct(&mut changes);
    Ok(changes)
}

/// The first day of the later side.
fn day(all: &[Recording], options: &ReportOptions) -> Result<Option<String>, FleetError> {
    if let Some(day) = &options.since {
        if dates::day(day).is_none() {
            return Err(FleetError::Request(format!("{day} is not a date: write it as 2026-11-27")));
        }
        return Ok(Some(day.clone()));
    }
    let mut days: Vec<&str> = all.iter().filter_map(|of| of.date.as_deref()).collect();
    days.sort_unstable();
    let first = days.first().copied();
    // The first day of all has nothing before it.
    let middle = days.get(days.len() / 2).copied().filter(|day| Some(*day) > first);
    Ok(middle.or_else(|| days.into_iter().find(|day| Some(*day) > first)).map(str::to_owned))
}

fn change(key: &str, sides: [String; 2], of: [Vec<&Recording>; 2]) -> Option<Comparison> {
    if of.iter().any(Vec::is_empty) {
        return None;
    }
    let all: Vec<Recording> = of.iter().flatten().map(|of| (*of).clone()).collect();
    let sides_of = [of[0].as_slice(), of[1].as_slice()];
    let rules = rule_names(&all).into_iter().filter_map(|rule| rule_change(rule, sides_of)).collect();
    Some(Comparison { key: key.to_owned(), sides, recordings: [of[0].len(), of[1].len()], rules })
}

fn rule_change(rule: &str, sides: [&[&Recording]; 2]) -> Option<RuleChange> {
    let counts = sides.map(|side| {
        let said = side.iter().filter_map(|of| of.rules.get(rule));
        said.fold([0, 0], |[found, checked], said| [found + usize::from(said.found), checked + 1])
    });
    if counts.iter().all(|[found, _]| *found == 0) {
        return None;
    }
    let often = values_of(sides, |of| of.rules.get(rule).map(|said| f64::from(u8::from(said.found))));
    let cost = values_of(sides, |of| of.rules.get(rule).map(|said| of.share(said)));
    let tested = |values: &super::sides::Values| {
        let effect = of_runs(&values.a, &values.b, values.unit == Unit::PairsOfHosts, Scale::Difference)?;
        Some(Tested { effect, q: None })
    };
    Some(RuleChange {
        rule: rule.to_owned(),
        verdict: Verdict::TooFew,
        counts,
        unit: often.as_ref().map(|of| of.unit),
        units: often.as_ref().map_or([0, 0], |of| [of.a.len(), of.b.len()]),
        often: often.as_ref().and_then(tested),
        cost: cost.as_ref().and_then(tested),
    })
}

/// Corrects the p-values of all tests together, and judges.
fn correct(changes: &mut [Comparison]) {
    let mut tests: Vec<&mut Tested> = changes
        .iter_mut()
        .flat_map(|change| &mut change.rules)
        .flat_map(|rule| [rule.often.as_mut(), rule.cost.as_mut()])
        .flatten()
        .filter(|test| test.effect.p.is_some())
        .collect();
    let p: Vec<f64> = tests.iter().filter_map(|test| test.effect.p).collect();
    for (test, q) in tests.iter_mut().zip(false_discovery(&p)) {
        test.q = Some(q);
    }
    for rule in changes.iter_mut().flat_map(|change| &mut change.rules) {
        rule.verdict = judged(rule);
    }
}

fn judged(rule: &RuleChange) -> Verdict {
    if rule.unit.is_none() || rule.units.iter().any(|units| *units < UNITS) {
        return Verdict::TooFew;
    }
    let direction = |test: Option<&Tested>| {
        let test = test.filter(|test| test.q.is_some_and(|q| q <= RATE))?;
        Some(test.effect.estimate > 0.0)
    };
    let (often, cost) = (direction(rule.often.as_ref()), direction(rule.cost.as_ref()));
    match (often, cost) {
        (Some(true), _) if rule.counts[0][0] == 0 => Verdict::New,
        (Some(false), _) if rule.counts[1][0] == 0 => Verdict::Gone,
        // Found more often, but costs less, or the other way round: neither is true alone.
        (Some(more), Some(costs)) if more != costs => Verdict::NotShown,
        (Some(more), _) | (None, Some(more)) => {
            if more {
                Verdict::Worse
            } else {
                Verdict::Better
            }
        }
        (None, None) => Verdict::NotShown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Said;
    use super::*;

    /// A recording of a host on a day, in which the rule `r` found something that costs a share of it, or nothing.
    fn recording(host: &str, date: &str, cost: Option<f64>) -> Recording {
        let saving_ns = (cost.unwrap_or(0.0) * 1e9) as i64;
        let said = Said { found: cost.is_some(), severity: cost.map(|_| 2), saving_ns };
        Recording {
            host: Some(host.to_owned()),
            date: Some(date.to_owned()),
            span_ns: 1_000_000_000,
            rules: [("r".to_owned(), said)].into(),
            ..Recording::default()
        }
    }

    fn options() -> ReportOptions {
        ReportOptions { by: Vec::new(), since: Some("2026-03-02".to_owned()), top: 10, redact: None }
    }

    fn only(all: &[Recording]) -> RuleChange {
        let changes = of(all, &options()).unwrap();
        assert_eq!(changes.len(), 1);
        changes[0].rules[0].clone()
    }

    /// Each host with both days: nothing on the first, or `a`; `b` on the second.
    fn hosts(count: usize, a: Option<f64>, b: Option<f64>) -> Vec<Recording> {
        let both = |host: usize| {
            let vary = |of: f64| of * (1.0 + host as f64 / 100.0);
            let host_name = format!("h{host}");
            [recording(&host_name, "2026-03-01", a.map(vary)), recording(&host_name, "2026-03-02", b.map(vary))]
        };
        (0..count).flat_map(both).collect()
    }

    #[test]
    fn nothing_is_claimed_from_two_recordings() {
        let rule = only(&hosts(1, None, Some(0.5)));
        assert_eq!((rule.verdict, rule.unit, rule.often), (Verdict::TooFew, None, None));
        let rule = only(&hosts(3, None, Some(0.5)));
        assert_eq!(rule.verdict, Verdict::TooFew);
    }

    #[test]
    fn a_finding_of_eight_hosts_is_new_or_gone() {
        let rule = only(&hosts(8, None, Some(0.1)));
        assert_eq!((rule.verdict, rule.unit, rule.counts), (Verdict::New, Some(Unit::PairsOfHosts), [[0, 8], [8, 8]]));
        assert!(rule.cost.as_ref().unwrap().q.unwrap() <= RATE);
        assert_eq!(only(&hosts(8, Some(0.1), None)).verdict, Verdict::Gone);
    }

    #[test]
    fn a_finding_that_costs_twice_as_much_is_worse() {
        assert_eq!(only(&hosts(8, Some(0.1), Some(0.2))).verdict, Verdict::Worse);
        assert_eq!(only(&hosts(8, Some(0.2), Some(0.1))).verdict, Verdict::Better);
        assert_eq!(only(&hosts(8, Some(0.1), Some(0.1))).verdict, Verdict::NotShown);
    }

    #[test]
    fn recordings_of_one_host_are_the_unit_where_there_are_no_others() {
        let all: Vec<Recording> = (0..6).flat_map(|_| hosts(1, Some(0.1), Some(0.3))).collect();
        let rule = only(&all);
        assert_eq!((rule.verdict, rule.unit, rule.units), (Verdict::Worse, Some(Unit::Recordings), [6, 6]));
        // The same number of recordings of other hosts on each side: the hosts may differ, and nothing is claimed.
        let mut other = all;
        other
            .iter_mut()
            .filter(|of| of.date.as_deref() == Some("2026-03-02"))
            .for_each(|of| of.host = Some("x".to_owned()));
        assert_eq!(only(&other).verdict, Verdict::TooFew);
    }

    #[test]
    fn recordings_in_which_a_rule_could_not_be_checked_do_not_count() {
        let mut all = hosts(8, None, Some(0.1));
        all.iter_mut().take(2).for_each(|of| of.rules.clear());
        let rule = only(&all);
        assert_eq!((rule.counts, rule.units), ([[0, 7], [7, 7]], [7, 7]));
    }

    #[test]
    fn chance_is_rarely_called_a_change() {
        // 200 fleets of 12 hosts, whose findings come and go by chance: at a rate of 5 % of fleets, about 10 would have a claim.
        let mut seed = 7u64;
        let mut chance = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / f64::from(1u32 << 31)
        };
        let mut claims = 0;
        for _ in 0..200 {
            let mut all = Vec::new();
            for host in 0..12 {
                for date in ["2026-03-01", "2026-03-02"] {
                    let cost = if chance() < 0.6 { Some(0.1 + 0.1 * chance()) } else { None };
                    all.push(recording(&format!("h{host}"), date, cost));
                }
            }
            claims += usize::from(!matches!(only(&all).verdict, Verdict::NotShown | Verdict::TooFew));
        }
        assert!(claims <= 16, "{claims} of 200");
    }
}
