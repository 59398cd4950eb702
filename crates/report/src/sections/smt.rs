//! SMT: what the siblings of a core did at the same time.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{ms, percent, percent_of, plural, share, share_of};
use engine::EngineError;
use model::tables::{self, smt_cores, smt_pairs, smt_threads, smt_utilisation};
use model::{Ns, ThreadKey, Tid};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "smt",
    about: "SMT: cores with one and with several busy CPUs, threads with busy siblings, and which threads ran there",
    tables: &[&tables::SMT_CORES, &tables::SMT_UTILISATION, &tables::SMT_THREADS, &tables::SMT_PAIRS],
    write,
};

/// If there are more cores, only core types are shown.
const MAX_ROWS: usize = 16;

/// The time of some cores: idle, one CPU busy, several busy, unknown.
#[derive(Default)]
struct Cores {
    name: String,
    core_type: String,
    cores: i64,
    times: [Ns; 4],
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let (cores, without) = cores(ctx)?;
    if cores.is_empty() {
        return Ok(());
    }
    let single = if without > 0 { format!(", {without} with one") } else { String::new() };
    page.heading(&format!("SMT siblings: {} with several CPUs{single}", plural(cores.len() as u64, "core")));
    utilisation(page, ctx)?;
    let (rows, totals) = by_core(cores);
    page.picture(Bars {
        title: "Cores with SMT siblings: CPUs busy at the same time".to_owned(),
        legend: legend(["one busy", "two or more busy", "all idle", "unknown"]),
        bars: rows.iter().map(bar_of_core).collect(),
    });
    let several = rows.iter().any(|r| r.core_type != rows[0].core_type);
    let whole = |r: &Cores| r.times.iter().sum::<Ns>();
    let mut columns = vec![Column::text("CPUs", 0)];
    rows.iter().for_each(|r| columns[0].push(r.name.as_str()));
    if several {
        let mut column = Column::text("type", 1);
        rows.iter().for_each(|r| column.push(r.core_type.as_str()));
        columns.push(column);
    }
    let unknown = rows.iter().any(|r| r.times[3] > Ns::ZERO);
    for (head, at, there) in [("one busy", 1, true), ("2+ busy", 2, true), ("idle", 0, true), ("unknown", 3, unknown)] {
        if there {
            let (mut time, mut part) = (Column::numbers(&format!("{head} ms"), 0), Column::numbers("%", 1));
            rows.iter().for_each(|r| time.push(ms(r.times[at])));
            rows.iter().for_each(|r| part.push(share(r.times[at], whole(r))));
            columns.extend([time, part]);
        }
    }
    page.grid(columns, totals);
    threads(page, ctx)
}

fn legend(names: [&str; 4]) -> Vec<(Tone, String)> {
    [Tone::Sky, Tone::Red, Tone::Idle, Tone::Unknown].into_iter().zip(names.map(str::to_owned)).collect()
}

fn bar_of_core(row: &Cores) -> Bar {
    let [idle, one, many, unknown] = row.times;
    let whole = row.times.iter().sum::<Ns>();
    Bar::new(
        if row.cores == 1 && !row.name.starts_with("all") { format!("CPUs {}", row.name) } else { row.name.clone() },
        format!("two or more busy {}", percent(many, whole)),
        [one, many, idle, unknown],
        whole,
    )
}

/// The cores with siblings, and the number without.
fn cores(ctx: &SectionContext<'_>) -> Result<(Vec<Cores>, usize), EngineError> {
    let (mut cores, mut without) = (Vec::new(), 0);
    ctx.each_row(smt_cores::Table, |row| {
        if row.get(smt_cores::SIBLINGS).is_some_and(|n| n > 1) {
            cores.push(Cores {
                name: row.get(smt_cores::CPUS).to_owned(),
                core_type: row.get(smt_cores::CORE_TYPE).to_owned(),
                cores: 1,
                times: row.all([
                    smt_cores::IDLE_NS,
                    smt_cores::ONE_BUSY_NS,
                    smt_cores::MANY_BUSY_NS,
                    smt_cores::UNKNOWN_NS,
                ]),
            });
        } else {
            without += 1;
        }
    })?;
    Ok((cores, without))
}

/// Returns each core, for a large machine each type, and the sum.
fn by_core(cores: Vec<Cores>) -> (Vec<Cores>, usize) {
    let mut by_type: BTreeMap<String, Cores> = BTreeMap::new();
    let mut all = Cores::default();
    for core in &cores {
        let of_type = by_type.entry(core.core_type.clone()).or_default();
        for sum in [of_type, &mut all] {
            sum.core_type.clone_from(&core.core_type);
            sum.cores += core.cores;
            sum.times.iter_mut().zip(core.times).for_each(|(sum, time)| add(sum, time));
        }
    }
    let named = |cores: Cores| Cores { name: format!("all {}", cores.cores), ..cores };
    if by_type.len() == 1 {
        by_type.clear();
    } else {
        all.core_type.clear();
    }
    let mut rows = if cores.len() > MAX_ROWS { Vec::new() } else { cores };
    let single = rows.len() == 1;
    rows.extend(by_type.into_values().map(named));
    if single {
        return (rows, 0);
    }
    let totals = usize::from(!rows.is_empty());
    rows.push(named(all));
    (rows, totals)
}

/// Writes the remaining capacity of the cores.
fn utilisation(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut lines = Vec::new();
    ctx.each_row(smt_utilisation::Table, |row| {
        if let (true, Some(used), Some(left), Some(busy)) = (
            row.get(smt_utilisation::CPUS) > row.get(smt_utilisation::CORES),
            row.get(smt_utilisation::USED_SHARE),
            row.get(smt_utilisation::HEADROOM_SHARE),
            row.get(smt_utilisation::BUSY_SHARE),
        ) {
            let (word, gain) = (row.get(smt_utilisation::CORE_TYPE), row.get(smt_utilisation::GAIN));
            let gain_source = match row.get(smt_utilisation::GAIN_SOURCE) {
                "measured" => "measured on this machine",
                _ => "an assumption from another machine",
            };
            lines.push(format!(
                "{}cores: CPUs were busy {}, which is {} of the cores' capacity; {} is free, if a core with all siblings busy does \
                 {gain:.2} times the work of one ({gain_source}).",
                if word == "uniform" { String::new() } else { format!("{} ", word.replace('_', " ")) },
                percent_of(busy),
                percent_of(used),
                percent_of(left),
            ));
        }
    })?;
    lines.iter().for_each(|words| page.paragraph(words));
    Ok(())
}

/// The time of a thread: alone, with a busy sibling, with unknown siblings, on a core without siblings.
struct Thread {
    key: ThreadKey,
    tid: Tid,
    running: Ns,
    times: [Ns; 4],
    busy_sibling_share: Option<f64>,
}

fn threads(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut top = Top::new(ctx.top);
    ctx.each_row(smt_threads::Table, |row| {
        let times = row.all([
            smt_threads::ALONE_NS,
            smt_threads::SIBLING_BUSY_NS,
            smt_threads::SIBLING_UNKNOWN_NS,
            smt_threads::NO_SIBLING_NS,
        ]);
        let (key, tid, running) = row.all((smt_threads::THREAD, smt_threads::TID, smt_threads::RUNNING_NS));
        top.push(
            times[1],
            Thread { key, tid, running, times, busy_sibling_share: row.get(smt_threads::SIBLING_BUSY_SHARE) },
        );
    })?;
    let count = top.count;
    let threads = top.finish();
    if threads.is_empty() {
        return Ok(());
    }
    let neighbours = neighbours(ctx, &threads)?;
    page.note(&format!("Threads with a busy SMT sibling: {}", count_of(threads.len(), count, "thread")));
    page.picture(Bars {
        title: "Threads' running time by the state of their SMT siblings".to_owned(),
        legend: legend(["alone on its core", "busy sibling", "no sibling", "unknown"]),
        bars: threads.iter().map(|t| bar_of_thread(t, ctx)).collect(),
    });
    let mut columns = vec![
        Column::text("thread", 0),
        Column::numbers("tid", 1),
        Column::numbers("running ms", 1),
        Column::numbers("alone ms", 3),
        Column::numbers("busy sibling ms", 0),
        Column::numbers("% of both", 0),
        Column::text("on the sibling, ms", 2),
    ];
    for thread in &threads {
        let cells = [
            ctx.name(Some(thread.key)),
            thread.tid.to_string(),
            ms(thread.running),
            ms(thread.times[0]),
            ms(thread.times[1]),
            thread.busy_sibling_share.map_or_else(|| "-".to_owned(), share_of),
            ctx.largest(neighbours.get(&thread.key).into_iter().flatten().copied()),
        ];
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    Ok(())
}

fn bar_of_thread(thread: &Thread, ctx: &SectionContext<'_>) -> Bar {
    let [alone, busy_sibling, unknown, none] = thread.times;
    Bar::new(
        format!("{} {}", ctx.name(Some(thread.key)), thread.tid),
        format!("busy sibling {}", percent(busy_sibling, thread.running)),
        [alone, busy_sibling, none, unknown],
        thread.running,
    )
}

/// Threads on the siblings, and for how long.
type Neighbours = Vec<(Option<ThreadKey>, Ns)>;

/// The threads that ran on the siblings of each thread.
fn neighbours(ctx: &SectionContext<'_>, threads: &[Thread]) -> Result<BTreeMap<ThreadKey, Neighbours>, EngineError> {
    let mut neighbours: BTreeMap<ThreadKey, Neighbours> = threads.iter().map(|t| (t.key, Vec::new())).collect();
    ctx.each_row(smt_pairs::Table, |row| {
        let (key, ns) = row.all((smt_pairs::THREAD, smt_pairs::OVERLAP_NS));
        neighbours.entry(key).and_modify(|w| w.push((Some(row.get(smt_pairs::SIBLING_THREAD)), ns)));
    })?;
    Ok(neighbours)
}
