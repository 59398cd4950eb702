//! Energy and power by domain, power over time, and temperature.

use super::Section;
use crate::context::SectionContext;
use crate::words::{plural, time};
use engine::EngineError;
use model::Ns;
use model::tables::{self, energy, energy_unknown, power_over_time, temperatures};
use page::{Bar, Bars, Column, Page, Stack, Tone, push};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "energy",
    about: "energy and power by domain, power over time, and temperature",
    tables: &[&tables::ENERGY, &tables::ENERGY_UNKNOWN, &tables::POWER_OVER_TIME, &tables::TEMPERATURES],
    write,
};

/// The maximum number of intervals of power over time.
const COLUMNS: usize = 120;
/// The layers of a domain from the bottom: parts that it contains, and what is left of it.
const LAYERS: [(Tone, &str); 4] =
    [(Tone::Blue, "core"), (Tone::Green, "uncore"), (Tone::Sky, "other parts"), (Tone::Orange, "rest, or not divided")];
const REST: usize = LAYERS.len() - 1;

/// A row of the table.
struct Domain {
    name: String,
    part: String,
    parent: String,
    same_as: String,
    source: String,
    joules: Option<f64>,
    range: Option<(f64, f64)>,
    watts: Option<f64>,
    known: Ns,
    unknown: Ns,
    doubt: String,
}

impl Domain {
    /// Whether its energy is a part of that of another one: memory is next to its package, although its name says otherwise.
    fn is_inside(&self, of: &Self) -> bool {
        self.parent == of.name && self.part != "dram" && self.same_as.is_empty()
    }

    fn layer(&self) -> usize {
        LAYERS.iter().position(|(_, part)| *part == self.part).unwrap_or(REST - 1)
    }
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    if !ctx.is_whole() {
        return Ok(());
    }
    let mut domains = Vec::new();
    ctx.each_row(energy::Table, |row| {
        domains.push(Domain {
            name: row.get(energy::DOMAIN).to_owned(),
            part: row.get(energy::PART.or_empty()).to_owned(),
            parent: row.get(energy::PARENT.or_empty()).to_owned(),
            same_as: row.get(energy::SAME_AS.or_empty()).to_owned(),
            source: row.get(energy::SOURCE.or_empty()).to_owned(),
            joules: row.get(energy::JOULES),
            range: row.get(energy::LOW_J).zip(row.get(energy::HIGH_J)),
            watts: row.get(energy::WATTS),
            known: row.get(energy::KNOWN_NS),
            unknown: row.get(energy::UNKNOWN_NS),
            doubt: row.get(energy::DOUBT.or_empty()).to_owned(),
        });
    })?;
    let mut zones = Vec::new();
    ctx.each_row(temperatures::Table, |row| {
        let celsius = row.all([temperatures::MIN_C, temperatures::MEAN_C, temperatures::MAX_C]);
        zones.push((row.get(temperatures::ZONE).to_owned(), celsius));
    })?;
    if domains.is_empty() && zones.is_empty() {
        return Ok(());
    }
    page.heading(if domains.is_empty() { "Temperature" } else { "Energy and temperature" });
    if !domains.is_empty() {
        of_domains(page, &domains);
        unknown(page, ctx)?;
        over_time(page, ctx, &domains)?;
    }
    if !zones.is_empty() {
        of_zones(page, zones);
    }
    Ok(())
}

/// The domains that are bars of their own: those that no other one contains, and memory.
fn tops(domains: &[Domain]) -> impl Iterator<Item = &Domain> {
    domains.iter().filter(|of| of.same_as.is_empty() && !domains.iter().any(|whole| of.is_inside(whole)))
}

/// Divides power among the layers, in mW; `None` if that of the domain is unknown.
fn layers(domains: &[Domain], whole: &Domain, watts: impl Fn(&Domain) -> Option<f64>) -> Option<Vec<f64>> {
    let all = watts(whole)?;
    let mut parts = vec![0.0; LAYERS.len()];
    for part in domains.iter().filter(|of| of.is_inside(whole)) {
        parts[part.layer()] += watts(part).unwrap_or(0.0);
    }
    // Parts that exceed their whole leave nothing.
    parts[REST] = (all - parts.iter().sum::<f64>()).max(0.0);
    Some(parts)
}

fn legend() -> Vec<(Tone, String)> {
    LAYERS.map(|(tone, words)| (tone, words.to_owned())).into()
}

fn of_domains(page: &mut Page, domains: &[Domain]) {
    if domains.iter().any(|part| domains.iter().any(|whole| part.is_inside(whole))) {
        page.paragraph("Domains are not added up: a part is in the figure of what contains it.");
    }
    let most = tops(domains).filter_map(|of| of.watts).fold(0.0, f64::max);
    let milli = |watts: f64| (watts * 1e3).round() as i64;
    let bar = |of: &Domain| {
        let parts = layers(domains, of, |of| of.watts)?;
        let words = format!("{} W, {} J", number(of.watts), number(of.joules));
        Some(Bar::new(of.name.clone(), words, parts.into_iter().map(milli), milli(most)))
    };
    page.picture(Bars {
        title: format!("Mean power by domain (full width: {} W)", number(Some(most))),
        legend: legend(),
        bars: tops(domains).filter_map(bar).collect(),
    });
    let mut columns = vec![Column::text("domain", 0)];
    columns.extend([("J", 0), ("from J", 2), ("to J", 2), ("W", 0), ("known", 1), ("unknown", 1)].map(numbers));
    columns.extend([("same as", 1), ("source", 3), ("note", 0)].map(|(head, rank)| Column::text(head, rank)));
    for of in domains {
        let (low, high) = (of.range.map(|range| range.0), of.range.map(|range| range.1));
        let cells = [of.name.clone(), number(of.joules), number(low), number(high), number(of.watts), time(of.known)];
        let rest = [time(of.unknown), of.same_as.clone(), of.source.clone(), of.doubt.clone()];
        push(&mut columns, cells.into_iter().chain(rest));
    }
    columns.retain(|column| !column.cells.iter().all(String::is_empty));
    page.grid(columns, 0);
}

/// Writes for how long the energy of each domain is unknown, and why.
fn unknown(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut by: BTreeMap<(String, String), (u64, Ns)> = BTreeMap::new();
    ctx.each_row(energy_unknown::Table, |row| {
        let of = (row.get(energy_unknown::DOMAIN).to_owned(), row.get(energy_unknown::REASON).to_owned());
        let (count, sum) = by.entry(of).or_default();
        *count += 1;
        let [start, end] = row.all([energy_unknown::START_NS, energy_unknown::END_NS]);
        *sum += end - start;
    })?;
    for ((domain, reason), (count, ns)) in by {
        page.item(&format!("{domain}: unknown for {} ({}): {reason}", time(ns), plural(count, "time")));
    }
    Ok(())
}

/// The energy and the known time of a domain in each interval.
type Buckets = Vec<(f64, i64)>;

/// Draws the power of each domain that contains others, or that no other one contains.
fn over_time(page: &mut Page, ctx: &SectionContext<'_>, domains: &[Domain]) -> Result<(), EngineError> {
    let span = ctx.session.summary().span_ns;
    let mut rows: BTreeMap<String, Vec<(i64, i64, f64)>> = BTreeMap::new();
    ctx.each_row(power_over_time::Table, |row| {
        if let Some(watts) = row.get(power_over_time::WATTS) {
            let [start, end] = row.all([power_over_time::START_NS, power_over_time::END_NS]);
            rows.entry(row.get(power_over_time::DOMAIN).to_owned()).or_default().push((start.0, end.0, watts));
        }
    })?;
    // Fewer intervals than rows: each has a figure.
    let count = rows.values().map(Vec::len).max().unwrap_or(0).min(COLUMNS);
    if count < 2 || span <= 0 {
        return Ok(());
    }
    let buckets: BTreeMap<&str, Buckets> =
        rows.iter().map(|(name, rows)| (name.as_str(), divided(rows, span, count))).collect();
    let power = |of: &Domain, at: usize| {
        let (joules, known) = *buckets.get(of.name.as_str())?.get(at)?;
        (known > 0).then(|| joules * 1e9 / known as f64)
    };
    for whole in tops(domains).filter(|of| buckets.contains_key(of.name.as_str())) {
        let most = (0..count).filter_map(|at| power(whole, at)).fold(0.0, f64::max);
        let share = |watts: f64| if most > 0.0 { watts / most } else { 0.0 };
        let column = |at: usize| {
            let parts = layers(domains, whole, |of| power(of, at)).unwrap_or_else(|| vec![0.0; LAYERS.len()]);
            parts.into_iter().map(share).collect()
        };
        page.picture(Stack {
            title: format!("Power of {} over time (full height: {} W)", whole.name, number(Some(most))),
            legend: legend(),
            begin_ns: 0,
            end_ns: span,
            parts: (0..count).map(column).collect(),
        });
    }
    Ok(())
}

/// Divides the energy of rows (begin, end, W) among `count` intervals of the whole time.
fn divided(rows: &[(i64, i64, f64)], span: i64, count: usize) -> Buckets {
    let mut buckets: Buckets = vec![(0.0, 0); count];
    let edge = |at: usize| (i128::from(span) * at as i128 / count as i128) as i64;
    for (start, end, watts) in rows {
        let first = (i128::from((*start).max(0)) * count as i128 / i128::from(span.max(1))) as usize;
        for (at, bucket) in buckets.iter_mut().enumerate().skip(first.saturating_sub(1)) {
            let (from, to) = ((*start).max(edge(at)), (*end).min(edge(at + 1)));
            if edge(at) >= *end {
                break;
            }
            if to > from {
                bucket.0 += watts * (to - from) as f64 / 1e9;
                bucket.1 += to - from;
            }
        }
    }
    buckets
}

fn of_zones(page: &mut Page, mut zones: Vec<(String, [f64; 3])>) {
    zones.sort_by(|a, b| b.1[2].total_cmp(&a.1[2]));
    let mut columns = vec![Column::text("temperature", 0)];
    columns.extend([("least °C", 0), ("mean °C", 0), ("greatest °C", 0)].map(numbers));
    for (zone, celsius) in zones {
        push(&mut columns, std::iter::once(zone).chain(celsius.map(|of| format!("{of:.1}"))));
    }
    page.grid(columns, 0);
}

fn numbers((head, rank): (&str, u8)) -> Column {
    Column::numbers(head, rank)
}

/// Writes a number with four digits.
fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let digits = match value.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_divided_by_time() {
        // 2 W for 3 s, then 4 W for 1 s, of 4 s in two halves.
        let rows = [(0, 3_000_000_000, 2.0), (3_000_000_000, 4_000_000_000, 4.0)];
        let halves = divided(&rows, 4_000_000_000, 2);
        assert_eq!(halves, [(4.0, 2_000_000_000), (6.0, 2_000_000_000)]);
        assert_eq!(divided(&rows[1..], 4_000_000_000, 2), [(0.0, 0), (4.0, 1_000_000_000)]);
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(
            [1234.56, 123.456, 12.3456, 0.12345].map(|of| number(Some(of))),
            ["1235", "123.5", "12.35", "0.123"]
        );
        assert_eq!(number(None), "-");
    }
}
