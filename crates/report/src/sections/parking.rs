//! Which CPUs were parked, how many at once, and how long frames took meanwhile.

use super::Section;
use crate::grid::{Column, push};
use crate::page::Page;
use crate::picture::{Bar, Bars, Tone};
use crate::seen::{Seen, Top, add, of};
use crate::words::{TIE, grouped, ms, percent, share, short};
use engine::{EngineError, is_called};
use model::tables::{self, frames_parked, parked_together, parking};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "parking",
    about: "which CPUs were parked or offline, how many at once, and how long marked frames took meanwhile",
    tables: &[&tables::PARKING, &tables::PARKED_TOGETHER, &tables::FRAMES_PARKED],
    write,
};

/// Numbers of parked CPUs that are told apart.
const MOST: usize = 24;
/// Names of frames that are told apart.
const NAMES: usize = 3;

struct Cpu {
    name: String,
    core_type: String,
    parked: i64,
    busy: i64,
    periods: i64,
    longest: i64,
}

/// Frames while so many CPUs were parked.
struct Frames {
    parked: i64,
    unknown: i64,
    count: i64,
    mean: i64,
    p95: i64,
    longest: i64,
    over: i64,
}

fn write(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let mut top = Top::new(seen.top);
    let (mut untold, mut whole) = (0, 0);
    seen.each(parking::Table, |row| {
        let [cpu, unparked, unknown] = row.all([parking::CPU, parking::UNPARKED_NS.or_zero(), parking::UNKNOWN_NS]);
        let [parked, busy, periods, longest] = row.all([
            parking::PARKED_NS.or_zero(),
            parking::BUSY_NS.or_zero(),
            parking::PERIODS.or_zero(),
            parking::LONGEST_NS.or_zero(),
        ]);
        whole = parked.saturating_add(unparked).saturating_add(unknown);
        untold += i64::from(row.get(parking::PARKED_NS).is_none());
        if parked > 0 {
            let core_type = row.get(parking::CORE_TYPE).replace('_', " ");
            top.push(parked, Cpu { name: format!("cpu{cpu}"), core_type, parked, busy, periods, longest });
        }
    })?;
    let count = top.count;
    let rows = top.finish();
    if rows.is_empty() || !seen.is_whole() {
        return Ok(());
    }
    page.heading(&format!("Parked or offline: {}", of(rows.len(), count, "CPU")));
    if untold > 0 {
        page.words(&format!("Of {untold} more nobody tells whether they were parked."));
    }
    let mut columns = vec![Column::words("CPU", 0), Column::words("type", 1)];
    let heads = [("parked ms", 0), ("% of time", 0), ("periods", 1), ("longest ms", 1), ("ran threads ms", 2)];
    columns.extend(heads.map(|(head, rank)| Column::numbers(head, rank)));
    for cpu in rows {
        let times = [ms(cpu.parked), share(cpu.parked, whole), grouped(cpu.periods), ms(cpu.longest), ms(cpu.busy)];
        push(&mut columns, [cpu.name, cpu.core_type].into_iter().chain(times));
    }
    page.grid(columns, 0);
    together(page, seen, whole)?;
    frames(page, seen)
}

/// How many at once.
fn together(page: &mut Page, seen: &Seen<'_>, whole: i64) -> Result<(), EngineError> {
    let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
    seen.each(parked_together::Table, |row| {
        if row.get(parked_together::CORE_TYPE.or_empty()).is_empty() {
            add(counts.entry(row.get(parked_together::PARKED)).or_default(), row.get(parked_together::DURATION_NS));
        }
    })?;
    let mut top = Top::new(MOST);
    counts.into_iter().for_each(|(parked, ns)| top.push(ns, (parked, ns)));
    let count = top.count;
    let mut rows = top.finish();
    rows.sort_unstable();
    page.picture(Bars {
        title: "CPUs parked at once, by how long".to_owned(),
        legend: vec![(Tone::Blue, "share of the time".to_owned())],
        bars: rows
            .iter()
            .map(|(parked, ns)| Bar {
                label: format!("{parked} parked"),
                value: percent(*ns, whole),
                parts: vec![*ns],
                whole,
            })
            .collect(),
    });
    page.words(&format!("Parked at once: {}", of(rows.len(), count, "number")));
    let mut columns = ["CPUs", "ms", "% of time"].map(|head| Column::numbers(head, 0)).into_iter().collect::<Vec<_>>();
    for (parked, ns) in rows {
        push(&mut columns, [parked.to_string(), ms(ns), share(ns, whole)]);
    }
    page.grid(columns, 0);
    Ok(())
}

/// Of names whose frames differ in how many CPUs were parked: how long they took.
fn frames(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let mut names: BTreeMap<String, (i64, Vec<Frames>)> = BTreeMap::new();
    seen.each(frames_parked::Table, |row| {
        if seen.session.frames_of().is_some_and(|frame| !is_called(frame, row.get(frames_parked::NAME.or_empty()))) {
            return;
        }
        let [parked, unknown, count, mean] =
            row.all([frames_parked::PARKED, frames_parked::UNKNOWN, frames_parked::FRAMES, frames_parked::MEAN_NS]);
        let [p95, longest, over, budget] = row.all([
            frames_parked::P95_NS,
            frames_parked::LONGEST_NS,
            frames_parked::OVER_BUDGET,
            frames_parked::BUDGET_NS,
        ]);
        let (of, frames) = names.entry(row.get(frames_parked::NAME.or_empty()).to_owned()).or_default();
        *of = budget;
        frames.push(Frames { parked, unknown, count, mean, p95, longest, over });
    })?;
    let mut top = Top::new(NAMES);
    for (name, (budget, frames)) in names {
        if frames.iter().any(|f| f.parked != frames[0].parked) {
            let count = frames.iter().fold(0i64, |sum, f| sum.saturating_add(f.count));
            top.push(count, (name, budget, frames));
        }
    }
    for (name, budget, frames) in top.finish() {
        let budget = match seen.session.budget() {
            Some(said) => format!("{}{TIE}ms, the budget", ms(said.0)),
            None => format!("the median of all, {}{TIE}ms", ms(budget)),
        };
        of_name(page, &short(&name, 32), &budget, frames);
    }
    Ok(())
}

fn of_name(page: &mut Page, name: &str, budget: &str, frames: Vec<Frames>) {
    let mut top = Top::new(MOST);
    frames.into_iter().for_each(|f| top.push(f.count, f));
    let mut rows = top.finish();
    rows.sort_by_key(|f| (f.parked, f.unknown));
    let most = rows.iter().map(|f| f.longest).max().unwrap_or(0);
    page.picture(Bars {
        title: format!("Time of {name} by how many CPUs were parked"),
        legend: [(Tone::Blue, "mean"), (Tone::Orange, "up to 95 of 100"), (Tone::Red, "up to the longest")]
            .map(|(tone, words)| (tone, words.to_owned()))
            .into(),
        bars: rows.iter().map(|f| bar(f, most)).collect(),
    });
    page.words(&format!(
        "How long {name} took by how many CPUs were parked, in the mean over each; over: longer than {budget}."
    ));
    let mut columns = vec![Column::words("parked", 0), Column::numbers("times", 0)];
    columns.extend(["mean ms", "95 % ms", "longest ms", "over"].map(|head| Column::numbers(head, 0)));
    for f in rows {
        let told = [label(&f), grouped(f.count), ms(f.mean), ms(f.p95), ms(f.longest), grouped(f.over)];
        push(&mut columns, told);
    }
    page.grid(columns, 0);
}

fn label(f: &Frames) -> String {
    match f.unknown {
        0 => f.parked.to_string(),
        unknown => format!("{} ({unknown} unknown)", f.parked),
    }
}

/// The mean may lie beyond what 95 of 100 did not exceed: then that has no part of its own.
fn bar(f: &Frames, most: i64) -> Bar {
    let second = f.p95.max(f.mean);
    Bar {
        label: format!("{} parked", label(f)),
        value: format!("{} ms", ms(f.p95)),
        parts: vec![f.mean, second - f.mean, f.longest - second],
        whole: most,
    }
}
