//! Two cost tables, figure by figure.

use super::{Outcome, words};
use engine::{Cost, Costs, PairClass};
use model::CoreType;
use model::words::TIE;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A figure that both tables have.
#[derive(Clone, Debug)]
pub struct Both<'a> {
    /// Of the measured table.
    pub own: &'a Cost,
    /// Of the other one.
    pub other: &'a Cost,
    /// Own over other; `None` if the other is 0 or the signs differ.
    pub ratio: Option<f64>,
    /// Whether the intervals exclude that both are the same.
    pub differs: bool,
}

/// What makes figures of two machines the same figure: CPU numbers do not.
type Key<'a> = (&'a str, &'a str, Option<PairClass>, &'a [CoreType], &'a BTreeMap<String, String>);

fn key(of: &Cost) -> Key<'_> {
    (&of.probe, &of.figure, of.pair, &of.core_types, &of.parameters)
}

/// The figures of both, and how many only one of them has. Of several pairs of a class, the one with the same CPUs is compared, otherwise the
/// first that is left.
pub fn both<'a>(own: &'a Costs, other: &'a Costs) -> (Vec<Both<'a>>, usize, usize) {
    let mut left: Vec<Option<&Cost>> = other.figures.iter().map(Some).collect();
    let mut of_own: Vec<Option<&Cost>> = vec![None; own.figures.len()];
    for same_cpus in [true, false] {
        for (cost, found) in own.figures.iter().zip(&mut of_own).filter(|(_, found)| found.is_none()) {
            let fits = |of: &&mut Option<&Cost>| {
                of.is_some_and(|of| key(of) == key(cost) && (!same_cpus || of.cpus == cost.cpus))
            };
            *found = left.iter_mut().find(fits).and_then(Option::take);
        }
    }
    let pairs: Vec<Both<'a>> = own
        .figures
        .iter()
        .zip(&of_own)
        .filter_map(|(own, other)| {
            let other = (*other)?;
            let (a, b) = (own.estimate, other.estimate);
            let ratio = (a.value * b.value > 0.0).then(|| a.value / b.value);
            // Intervals that do not overlap: with 95 % each, a difference that is none is found far less often than in 5 %.
            Some(Both { own, other, ratio, differs: a.low > b.high || a.high < b.low })
        })
        .collect();
    let only_own = own.figures.len() - pairs.len();
    let only_other = left.iter().flatten().count();
    (pairs, only_own, only_other)
}

/// The comparison as text.
pub fn text(of: &Outcome, other: &Costs, name: &str, width: usize) -> String {
    let (pairs, only_own, only_other) = both(&of.costs, other);
    let name = model::words::plain(name);
    let mut out = String::new();
    super::text::wrapped(
        &mut out,
        &format!("Compared with {name}, measured {}:", model::words::plain(&other.measured.at)),
        0,
        width,
    );
    let mut rows = vec![["figure", "here", "there", "ratio", ""].map(ToOwned::to_owned)];
    rows.extend(pairs.iter().map(cells));
    let widths: [usize; 5] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let mut line = String::from(" ");
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = if at == 3 { write!(line, " {cell:>width$} ") } else { write!(line, " {cell:<width$} ") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let differ = pairs.iter().filter(|pair| pair.differs).count();
    let mut last = format!("{} of {} figures differ: their 95 % intervals do not overlap.", differ, pairs.len());
    for (count, place) in [(only_own, "here"), (only_other, "there")] {
        if count > 0 {
            let _ = write!(last, " {count} figures are only {place}.");
        }
    }
    super::text::wrapped(&mut out, &last, 0, width);
    for (name, here, there) in conditions(&of.costs, other) {
        super::text::wrapped(&mut out, &format!("differs: {name}: here {here}, there {there}"), 2, width);
    }
    out.replace(TIE, " ")
}

/// The comparison as JSON.
pub fn json(own: &Costs, other: &Costs) -> serde_json::Value {
    let (pairs, only_own, only_other) = both(own, other);
    let rows: Vec<serde_json::Value> = pairs
        .iter()
        .map(|of| serde_json::json!({ "own": of.own, "other": of.other, "ratio": of.ratio, "differs": of.differs }))
        .collect();
    serde_json::json!({ "figures": rows, "only_own": only_own, "only_other": only_other, "measured": other.measured })
}

/// The conditions under which the two were measured, where they differ.
fn conditions<'a>(own: &'a Costs, other: &'a Costs) -> Vec<(&'a str, &'a str, &'a str)> {
    let other = &other.measured.conditions;
    let differing = own.measured.conditions.iter().filter_map(|(name, here)| {
        let there = other.get(name)?;
        (here != there).then_some((name.as_str(), here.as_str(), there.as_str()))
    });
    differing.collect()
}

/// The cells of a row: figure, here, there, ratio, the answer.
pub fn cells(of: &Both<'_>) -> [String; 5] {
    let shown = |cost: &Cost| {
        let shown = words::estimate(cost.unit, &cost.estimate);
        format!("{} {}", shown.value, shown.interval)
    };
    let (class, cpus, with) = (words::class(of.own), words::cpus(of.own), words::parameters(&of.own.parameters));
    let place = [class, cpus, with].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    [
        format!("{} {}: {place}", of.own.probe, words::plain(&of.own.figure)),
        shown(of.own),
        shown(of.other),
        of.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
        if of.differs { "differs" } else { "may be the same" }.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::groups::tests::cost;
    use super::*;
    use engine::CostUnit;

    #[test]
    fn figures_are_compared_by_class_and_not_by_cpu_number() {
        let pipe = |cpus: &[u32], value| cost("switch", "pipe", Some(PairClass::OtherCore), cpus, CostUnit::Ns, value);
        let own = Costs { figures: vec![pipe(&[0, 1], 100.0), pipe(&[0, 2], 200.0)], ..Costs::default() };
        let mut figures = vec![pipe(&[0, 2], 203.0), pipe(&[4, 6], 50.0)];
        figures.push(cost("switch", "futex", Some(PairClass::OtherCore), &[0, 1], CostUnit::Ns, 9.0));
        let other = Costs { figures, ..Costs::default() };
        let (pairs, only_own, only_other) = both(&own, &other);
        let found: Vec<(f64, f64, bool)> =
            pairs.iter().map(|of| (of.own.estimate.value, of.other.estimate.value, of.differs)).collect();
        assert_eq!(found, [(100.0, 50.0, true), (200.0, 203.0, false)]);
        assert_eq!((pairs[0].ratio, only_own, only_other), (Some(2.0), 0, 1));
    }
}
