//! Which CPUs were parked, how many at the same time, and how long frames took meanwhile.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{TIE, grouped, ms, percent, plural, share, short};
use engine::{EngineError, mark_name_matches};
use model::Ns;
use model::tables::{self, frames_parked, parked_together, parking};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "parking",
    about: "parked or offline CPUs, how many at the same time, and how long marked frames took meanwhile",
    tables: &[&tables::PARKING, &tables::PARKED_TOGETHER, &tables::FRAMES_PARKED],
    write,
};

/// The maximum number of rows by number of parked CPUs.
const MAX_ROWS: usize = 24;
/// The maximum number of frame names.
const NAMES: usize = 3;

struct Cpu {
    name: String,
    core_type: String,
    parked: Ns,
    busy: Ns,
    periods: i64,
    longest: Ns,
}

/// Frames while a number of CPUs was parked.
struct Frames {
    parked: i64,
    unknown: i64,
    count: i64,
    mean: Ns,
    p95: Ns,
    longest: Ns,
    over: i64,
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut top = Top::new(ctx.top);
    let (mut not_recorded, mut whole) = (0_i64, Ns::ZERO);
    ctx.each_row(parking::Table, |row| {
        let (cpu, unparked, unknown) = row.all((parking::CPU, parking::UNPARKED_NS.or_zero(), parking::UNKNOWN_NS));
        let (parked, busy, periods, longest) = row.all((
            parking::PARKED_NS.or_zero(),
            parking::BUSY_NS.or_zero(),
            parking::PERIODS.or_zero(),
            parking::LONGEST_NS.or_zero(),
        ));
        whole = parked + unparked + unknown;
        not_recorded += i64::from(row.get(parking::PARKED_NS).is_none());
        if parked > Ns::ZERO {
            let core_type = row.get(parking::CORE_TYPE).replace('_', " ");
            top.push(parked, Cpu { name: format!("cpu{cpu}"), core_type, parked, busy, periods, longest });
        }
    })?;
    let count = top.count;
    let rows = top.finish();
    if rows.is_empty() || !ctx.is_whole() {
        return Ok(());
    }
    page.heading(&format!("Parked or offline: {}", count_of(rows.len(), count, "CPU")));
    if not_recorded > 0 {
        page.paragraph(&format!("Parking was not recorded for {}.", plural(not_recorded.unsigned_abs(), "other CPU")));
    }
    let mut columns = vec![Column::text("CPU", 0), Column::text("type", 1)];
    let heads = [("parked ms", 0), ("% of time", 0), ("periods", 1), ("longest ms", 1), ("ran threads ms", 2)];
    columns.extend(heads.map(|(head, rank)| Column::numbers(head, rank)));
    for cpu in rows {
        let times = [ms(cpu.parked), share(cpu.parked, whole), grouped(cpu.periods), ms(cpu.longest), ms(cpu.busy)];
        push(&mut columns, [cpu.name, cpu.core_type].into_iter().chain(times));
    }
    page.grid(columns, 0);
    together(page, ctx, whole)?;
    frames(page, ctx)
}

/// Writes how many CPUs were parked at the same time.
fn together(page: &mut Page, ctx: &SectionContext<'_>, whole: Ns) -> Result<(), EngineError> {
    let mut counts: BTreeMap<i64, Ns> = BTreeMap::new();
    ctx.each_row(parked_together::Table, |row| {
        if row.get(parked_together::CORE_TYPE.or_empty()).is_empty() {
            add(counts.entry(row.get(parked_together::PARKED)).or_default(), row.get(parked_together::DURATION_NS));
        }
    })?;
    let mut top = Top::new(MAX_ROWS);
    counts.into_iter().for_each(|(parked, ns)| top.push(ns, (parked, ns)));
    let count = top.count;
    let mut rows = top.finish();
    rows.sort_unstable();
    page.picture(Bars {
        title: "CPUs parked at the same time, by duration".to_owned(),
        legend: vec![(Tone::Blue, "share of the time".to_owned())],
        bars: rows
            .iter()
            .map(|(parked, ns)| Bar::new(format!("{parked} parked"), percent(*ns, whole), [*ns], whole))
            .collect(),
    });
    page.paragraph(&format!("Number of CPUs parked at the same time: {}", count_of(rows.len(), count, "value")));
    let mut columns = ["CPUs", "ms", "% of time"].map(|head| Column::numbers(head, 0)).into_iter().collect::<Vec<_>>();
    for (parked, ns) in rows {
        push(&mut columns, [parked.to_string(), ms(ns), share(ns, whole)]);
    }
    page.grid(columns, 0);
    Ok(())
}

/// Writes frame times of names whose frames had different numbers of parked CPUs.
fn frames(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut names: BTreeMap<String, (Ns, Vec<Frames>)> = BTreeMap::new();
    ctx.each_row(frames_parked::Table, |row| {
        if ctx
            .session
            .frames_of()
            .is_some_and(|frame| !mark_name_matches(frame, row.get(frames_parked::NAME.or_empty())))
        {
            return;
        }
        let (parked, unknown, count, mean) =
            row.all((frames_parked::PARKED, frames_parked::UNKNOWN, frames_parked::FRAMES, frames_parked::MEAN_NS));
        let (p95, longest, over, budget) = row.all((
            frames_parked::P95_NS,
            frames_parked::LONGEST_NS,
            frames_parked::OVER_BUDGET,
            frames_parked::BUDGET_NS,
        ));
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
        let budget = match ctx.session.budget() {
            Some(budget) => format!("the budget of {}{TIE}ms", ms(budget)),
            None => format!("the median of all frames, {}{TIE}ms", ms(budget)),
        };
        of_name(page, &short(&name, 32), &budget, frames);
    }
    Ok(())
}

fn of_name(page: &mut Page, name: &str, budget: &str, frames: Vec<Frames>) {
    let mut top = Top::new(MAX_ROWS);
    frames.into_iter().for_each(|f| top.push(f.count, f));
    let mut rows = top.finish();
    rows.sort_by_key(|f| (f.parked, f.unknown));
    let longest = rows.iter().map(|f| f.longest).max().unwrap_or(Ns::ZERO);
    page.picture(Bars {
        title: format!("Duration of {name} by number of parked CPUs"),
        legend: [(Tone::Blue, "mean"), (Tone::Orange, "up to the 95th percentile"), (Tone::Red, "up to the longest")]
            .map(|(tone, words)| (tone, words.to_owned()))
            .into(),
        bars: rows.iter().map(|f| bar(f, longest)).collect(),
    });
    page.paragraph(&format!(
        "Duration of {name} by number of parked CPUs (mean over each frame); over: longer than {budget}."
    ));
    let mut columns = vec![Column::text("parked", 0), Column::numbers("frames", 0)];
    columns.extend(["mean ms", "p95 ms", "longest ms", "over"].map(|head| Column::numbers(head, 0)));
    for f in rows {
        let cells = [label(&f), grouped(f.count), ms(f.mean), ms(f.p95), ms(f.longest), grouped(f.over)];
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
}

fn label(f: &Frames) -> String {
    match f.unknown {
        0 => f.parked.to_string(),
        unknown => format!("{} ({unknown} unknown)", f.parked),
    }
}

/// The mean may exceed the 95th percentile; then the second part is empty.
fn bar(f: &Frames, longest: Ns) -> Bar {
    let second = f.p95.max(f.mean);
    Bar::new(
        format!("{} parked", label(f)),
        format!("{} ms", ms(f.p95)),
        [f.mean, second - f.mean, f.longest - second],
        longest,
    )
}
