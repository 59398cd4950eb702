//! Parallel regions, and the threads that wait for the last one to arrive.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{grouped, ms, plain, share, short};
use engine::EngineError;
use model::Column as Col;
use model::Ns;
use model::tables::{self, parallel_regions};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "parallel_regions",
    about: "parallel work, marked or detected: waiting for the last thread to arrive, and the potential saving",
    tables: &[&tables::PARALLEL_REGIONS],
    write,
};

/// If there are more names, the rest are one row, as some programs number their marks.
const MAX_NAMES: usize = 1000;
/// The columns of idle time by core type, and the types' names in the report.
const IDLE: [(Col<parallel_regions::Table, Ns>, &str); 6] = [
    (parallel_regions::IDLE_PERFORMANCE_NS, "performance"),
    (parallel_regions::IDLE_MIDDLE_NS, "middle"),
    (parallel_regions::IDLE_EFFICIENT_NS, "efficient"),
    (parallel_regions::IDLE_LOW_POWER_NS, "low power"),
    (parallel_regions::IDLE_UNIFORM_NS, "cores"),
    (parallel_regions::IDLE_UNKNOWN_NS, "unknown"),
];

/// The sums of all regions of a name.
#[derive(Default)]
struct Regions {
    count: i64,
    threads: i64,
    time: Ns,
    tail: Ns,
    longest_tail: Ns,
    waiting: Ns,
    idle: [Ns; 6],
    recoverable: [Ns; 2],
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    // Regions belong to processes, not to threads.
    if !ctx.is_whole() {
        return Ok(());
    }
    let mut by_name: BTreeMap<String, Regions> = BTreeMap::new();
    ctx.each_row(parallel_regions::Table, |row| {
        let name = plain(row.get(parallel_regions::NAME));
        let name = if row.get(parallel_regions::SOURCE) == "detected" { format!("{name} (detected)") } else { name };
        let name = if by_name.len() < MAX_NAMES || by_name.contains_key(&name) { name } else { "others".to_owned() };
        let regions = by_name.entry(name).or_default();
        let [start, end, tail] =
            row.all([parallel_regions::START_NS, parallel_regions::END_NS, parallel_regions::TAIL_NS]);
        regions.count += 1;
        regions.threads = regions.threads.max(row.get(parallel_regions::THREADS));
        add(&mut regions.time, end - start);
        add(&mut regions.tail, tail);
        regions.longest_tail = regions.longest_tail.max(tail);
        add(&mut regions.waiting, row.get(parallel_regions::WAITING_NS));
        regions.idle.iter_mut().zip(IDLE).for_each(|(sum, (col, _))| add(sum, row.get(col)));
        let recoverable = row.all([parallel_regions::RECOVERABLE_FROM_NS, parallel_regions::RECOVERABLE_TO_NS]);
        regions.recoverable.iter_mut().zip(recoverable).for_each(|(sum, ns)| add(sum, ns));
    })?;
    let mut top = Top::new(ctx.top);
    by_name.into_iter().for_each(|(name, regions)| top.push(regions.waiting, (name, regions)));
    let (count, rows) = (top.count, top.finish());
    if rows.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Parallel regions: {}", count_of(rows.len(), count, "name")));
    page.paragraph(
        "A region: two or more threads have marked stretches of the same name, or, where a program marks nothing, work until all of them \
         wait again (detected; the name is that of the threads). tail: from the arrival of the first thread at the end to \
         that of the last; waited: sum over all threads; saving: how much earlier all threads would arrive if the work were distributed \
         such that they arrive at the same time (an estimate, lower to upper bound).",
    );
    let longest = rows.iter().map(|(_, regions)| regions.time).max().unwrap_or(Ns::ZERO);
    page.picture(Bars {
        title: "Time in parallel regions, and the part spent waiting for the last thread".to_owned(),
        legend: vec![(Tone::Blue, "all work".to_owned()), (Tone::Orange, "tail".to_owned())],
        bars: rows.iter().map(|(name, regions)| bar(name, regions, longest)).collect(),
    });
    let heads = ["regions", "threads", "ms", "tail ms", "tail %", "longest tail", "waited ms", "saving ms"];
    let ranks = [1, 2, 0, 0, 0, 3, 0, 0];
    let mut columns = vec![Column::text("region", 0)];
    columns.extend(heads.into_iter().zip(ranks).map(|(head, rank)| Column::numbers(head, rank)));
    let idle: Vec<usize> = (0..IDLE.len()).filter(|at| rows.iter().any(|(_, r)| r.idle[*at] > Ns::ZERO)).collect();
    columns.extend(idle.iter().map(|at| Column::numbers(&format!("idle ms: {}", IDLE[*at].1), 4)));
    for (name, regions) in &rows {
        let [from, to] = regions.recoverable.map(ms);
        let cells = [
            short(name, 24),
            grouped(regions.count),
            grouped(regions.threads),
            ms(regions.time),
            ms(regions.tail),
            share(regions.tail, regions.time),
            ms(regions.longest_tail),
            ms(regions.waiting),
            format!("{from}–{to}"),
        ];
        push(&mut columns, cells.into_iter().chain(idle.iter().map(|at| ms(regions.idle[*at]))));
    }
    page.grid(columns, 0);
    Ok(())
}

fn bar(name: &str, regions: &Regions, longest: Ns) -> Bar {
    Bar::new(
        short(name, 24),
        format!("tail {} of {} ms", ms(regions.tail), ms(regions.time)),
        [regions.time - regions.tail, regions.tail],
        longest,
    )
}
