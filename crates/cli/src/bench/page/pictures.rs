//! Which picture a figure gets, by what was varied.

use super::super::groups::{Group, groups};
use super::super::words;
use super::bars::Bars;
use super::curve::{COLOURS, Curves, Line};
use super::heat::Heat;
use engine::{Cost, CostUnit, PairClass};
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};

/// A numeric parameter needs this many values for a curve.
const POINTS: usize = 3;
/// The most curves in a picture.
const LINES: usize = 8;
/// The most bars in a picture.
const BARS: usize = 40;

/// A picture.
pub enum Picture {
    /// A heat map.
    Heat(Heat, CostUnit),
    /// Curves.
    Curves(Curves),
    /// Bars.
    Bars(Bars),
}

impl Picture {
    /// Writes it.
    pub fn write(&self, html: &mut String) {
        match self {
            Self::Heat(heat, unit) => heat.write(html, *unit),
            Self::Curves(curves) => curves.write(html),
            Self::Bars(bars) => bars.write(html),
        }
    }
}

/// The pictures of one figure: `model` is the calculated counterpart, if the probe has one.
pub fn pictures(figure: &str, costs: &[&Cost], model: &[&Cost]) -> Vec<Picture> {
    let mut all = Vec::new();
    let unit = costs.first().map_or(CostUnit::Ns, |cost| cost.unit);
    let without: Vec<&Cost> = costs.iter().filter(|cost| cost.parameters.is_empty()).copied().collect();
    if let Some(heat) = of_pairs(figure, &without) {
        all.push(Picture::Heat(heat, unit));
    }
    if let Some(curves) = of_numbers(figure, costs, model) {
        all.push(Picture::Curves(curves));
    } else {
        let grids = of_two(figure, costs);
        let has_grids = !grids.is_empty();
        all.extend(grids.into_iter().map(|heat| Picture::Heat(heat, unit)));
        if !has_grids {
            all.extend(of_groups(figure, costs, unit).map(Picture::Bars));
        }
    }
    all
}

/// A map from one CPU to the other. Pairs of one type are measured in one direction; they are drawn in both.
fn of_pairs(figure: &str, costs: &[&Cost]) -> Option<Heat> {
    let ends = |cost: &Cost| match (cost.pair, cost.cpus.as_slice()) {
        (Some(PairClass::SameCpu), [one, ..]) => Some((*one, *one)),
        (Some(_), [from, to]) => Some((*from, *to)),
        _ => None,
    };
    let measured: BTreeMap<(CpuId, CpuId), &Cost> =
        costs.iter().filter_map(|cost| Some((ends(cost)?, *cost))).collect();
    if measured.len() < 2 {
        return None;
    }
    let cpus: BTreeSet<CpuId> = measured.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let names: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let mut cells = Vec::new();
    for (row, from) in cpus.iter().enumerate() {
        for (column, to) in cpus.iter().enumerate() {
            let own = measured.get(&(*from, *to));
            let other = measured.get(&(*to, *from)).filter(|cost| cost.pair != Some(PairClass::OtherType));
            if let Some(cost) = own.or(other) {
                let shown = words::estimate(cost.unit, &cost.estimate);
                let text =
                    format!("CPU {} to {}, {}: {} {}", from.0, to.0, words::class(cost), shown.value, shown.interval);
                cells.push((row, column, cost.estimate.value, text));
            }
        }
    }
    let title = format!("{} from one CPU to another", words::plain(figure));
    Some(Heat {
        title,
        axes: ["from CPU", "to CPU"].map(ToOwned::to_owned),
        rows: names.clone(),
        columns: names,
        cells,
    })
}

fn number(cost: &Cost, name: &str) -> Option<f64> {
    cost.parameters.get(name)?.parse().ok().filter(|x: &f64| x.is_finite())
}

/// The parameter with the most values, if they are numbers.
fn numeric(costs: &[&Cost]) -> Option<String> {
    let names: BTreeSet<&String> = costs.iter().flat_map(|cost| cost.parameters.keys()).collect();
    let values = |name: &str| -> usize {
        let all: BTreeSet<String> = costs.iter().filter_map(|cost| Some(number(cost, name)?.to_string())).collect();
        all.len()
    };
    let best = names.into_iter().max_by_key(|name| values(name))?;
    (values(best) >= POINTS).then(|| best.clone())
}

/// Curves by the numeric parameter: one for each class and the other parameters. Several places of a class are one curve, of their medians.
fn of_numbers(figure: &str, costs: &[&Cost], model: &[&Cost]) -> Option<Curves> {
    let parameter = numeric(costs)?;
    let mut lines: Vec<Line> = Vec::new();
    // A measured curve and its model have one colour.
    let mut colours: Vec<String> = Vec::new();
    for (all, is_model) in [(costs, false), (model, true)] {
        let mut named: BTreeMap<String, Vec<(f64, engine::Estimate)>> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for group in groups(all) {
            let Some(x) = group.parameters.get(&parameter).and_then(|text| text.parse::<f64>().ok()) else { continue };
            let mut others = group.parameters.clone();
            others.retain(|name, _| *name != parameter && !follows(name, &parameter, all));
            let with = words::parameters(&others);
            let is_place = group.pair.is_some() || !group.class.ends_with("CPU") && !group.class.ends_with("CPUs");
            let name = match (is_place, with.is_empty()) {
                (_, true) => group.class.clone(),
                (false, false) => with,
                (true, false) => format!("{}, {with}", group.class),
            };
            let mut middle: Vec<&&Cost> = group.costs.iter().collect();
            middle.sort_by(|a, b| a.estimate.value.total_cmp(&b.estimate.value));
            let Some(cost) = middle.get((middle.len() - 1) / 2) else { continue };
            if !order.contains(&name) {
                order.push(name.clone());
            }
            named.entry(name).or_default().push((x, cost.estimate));
        }
        for name in order.into_iter().take(LINES) {
            let mut points = named.remove(&name).unwrap_or_default();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let colour = colours.iter().position(|of| *of == name).unwrap_or_else(|| {
                colours.push(name.clone());
                colours.len() - 1
            });
            let name = if is_model { format!("{name}: calculated by the model") } else { name };
            lines.push(Line { name, points, colour: colour % COLOURS, is_model });
        }
    }
    let unit = costs.first()?.unit;
    let title = format!("{} by {}", words::plain(figure), words::parameter_name(&parameter));
    Some(Curves { title, parameter, unit, lines })
}

/// Whether the place and the numeric parameter determine another parameter, so that it makes no further curve.
fn follows(name: &str, parameter: &str, costs: &[&Cost]) -> bool {
    let mut values: BTreeMap<(String, Option<&String>), Option<&String>> = BTreeMap::new();
    costs.iter().all(|cost| {
        let own = cost.parameters.get(name);
        let key = (words::class(cost), cost.parameters.get(parameter));
        *values.entry(key).or_insert(own) == own
    })
}

/// What heat maps of one figure differ in: the class of pairs in order and in words, and the parameters that are neither rows nor columns.
type Map = (Option<PairClass>, String, BTreeMap<String, String>);

/// Heat maps of one parameter by another, the two with the most values: one for each class and each combination of the others. None if fewer
/// than two vary.
fn of_two(figure: &str, costs: &[&Cost]) -> Vec<Heat> {
    let mut values: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for cost in costs {
        cost.parameters.iter().for_each(|(name, value)| _ = values.entry(name).or_default().insert(value));
    }
    let mut varied: Vec<(&String, Vec<&String>)> =
        values.into_iter().filter(|(_, of)| of.len() > 1).map(|(name, of)| (name, of.into_iter().collect())).collect();
    // A stable sort: of equally many values, the name decides.
    varied.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    varied.truncate(2);
    varied.sort_by_key(|(name, _)| *name);
    let [(first, rows), (second, columns)] = varied.as_slice() else { return Vec::new() };
    let mut maps: BTreeMap<Map, Vec<Group<'_>>> = BTreeMap::new();
    for group in groups(costs) {
        let mut others = group.parameters.clone();
        others.retain(|name, _| name != *first && name != *second);
        maps.entry((group.pair, group.class.clone(), others)).or_default().push(group);
    }
    let heat = |((_, class, others), groups): (Map, Vec<Group<'_>>)| {
        let at = |of: &[&String], value: Option<&String>| of.iter().position(|of| Some(*of) == value);
        let cells = groups.iter().filter_map(|group| {
            let row = at(rows, group.parameters.get(*first))?;
            let column = at(columns, group.parameters.get(*second))?;
            let value = group.median();
            let words = format!("{}: {}", words::parameters(group.parameters), words::value(group.unit, value));
            Some((row, column, value, words))
        });
        let named = |name: &str, of: &[&String]| of.iter().map(|value| words::parameter_value(name, value)).collect();
        let with = words::parameters(&others);
        let place = if with.is_empty() { class } else { format!("{class}, {with}") };
        Heat {
            title: format!("{} ({place})", words::plain(figure)),
            axes: [words::parameter_name(first), words::parameter_name(second)],
            rows: named(first, rows),
            columns: named(second, columns),
            cells: cells.collect(),
        }
    };
    maps.into_iter().map(heat).collect()
}

/// Bars, one for each class and its parameters: of several places, the one in the middle.
fn of_groups(figure: &str, costs: &[&Cost], unit: CostUnit) -> Option<Bars> {
    let groups = groups(costs);
    let rows: Vec<(String, engine::Estimate)> = groups
        .iter()
        .take(BARS)
        .filter_map(|group| {
            let mut middle: Vec<&&Cost> = group.costs.iter().collect();
            middle.sort_by(|a, b| a.estimate.value.total_cmp(&b.estimate.value));
            let cost = middle.get((middle.len() - 1) / 2)?;
            let with = words::parameters(group.parameters);
            let class = match group.costs.as_slice() {
                [one] if group.pair.is_none() && words::core_types(one).is_empty() => words::cpus(one),
                [_] => group.class.clone(),
                many => format!("{}, {} places", group.class, many.len()),
            };
            let name = if with.is_empty() { class } else { format!("{class}, {with}") };
            Some((name, cost.estimate))
        })
        .collect();
    (rows.len() > 1).then(|| Bars { title: words::plain(figure), unit, rows })
}
