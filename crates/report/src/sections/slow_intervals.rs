//! Why the slowest periods, requests and parallel regions were slow.

use super::Section;
use super::waits::{Interval, write_within};
use crate::causes::{CauseRow, Excess, PARTS};
use crate::context::SectionContext;
use crate::words::{ms, plain, plural, short};
use engine::EngineError;
use model::tables::{self, slow_intervals};
use model::{Ns, Span, ThreadKey};
use page::{Bar, Bars, Column, Page, push};

pub const SECTION: Section = Section {
    id: "slow_intervals",
    about: "why the slowest periods, requests and parallel regions took longer than typical ones, by cause along their critical paths",
    tables: &[&tables::SLOW_INTERVALS, &tables::WAIT_OBJECTS],
    write,
};

/// The maximum number of slow ones of a thread or name.
const MAX_OF_SERIES: i64 = 3;

struct Slow {
    /// Its rank, the number of its thread or name, and its kind: those that are shown have the lowest ones.
    order: (i64, i64, String),
    /// The thread or name.
    of: String,
    thread: Option<ThreadKey>,
    /// What `--range` calls it.
    range: String,
    start: Ns,
    took: Ns,
    median: Ns,
    excess: Excess,
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut all: Vec<Slow> = Vec::new();
    ctx.each_row(slow_intervals::Table, |row| {
        use slow_intervals::*;
        let [rank, series, number] = row.all([RANK, SERIES, NUMBER]);
        if rank > MAX_OF_SERIES {
            return;
        }
        let thread = row.get(THREAD);
        let order = (rank, series, row.get(KIND).to_owned());
        if all.last().is_none_or(|last| last.order != order) {
            let [start, took, median] = row.all([START_NS, TOOK_NS, MEDIAN_NS]);
            let of = row.get(NAME).map_or_else(|| ctx.name(thread), |name| short(name, 16));
            let name = row.get(TID).map_or_else(|| plain(row.get(NAME.or_empty())), |tid| tid.to_string());
            let range = format!("{}:{name}#{number}", order.2);
            all.push(Slow { order, of, thread, range, start, took, median, excess: Excess::default() });
        }
        let path_thread = row.get(PATH_THREAD);
        let cause = CauseRow {
            cause: row.get(CAUSE),
            core_type: row.get(CORE_TYPE.or_empty()),
            other: path_thread.filter(|_| path_thread != thread).map(|key| ctx.name(Some(key))),
            queued_behind: row.get(QUEUED_BEHIND),
            time: row.get(TIME_NS),
            more: row.get(EXCESS_NS),
        };
        if let Some(slow) = all.last_mut() {
            slow.excess.add(ctx, cause);
        }
    })?;
    // Each thread and name before the second one of any.
    all.sort_by(|a, b| a.order.cmp(&b.order));
    all.truncate(ctx.top);
    all.sort_by(|a, b| (&a.order.2, a.order.1, a.order.0).cmp(&(&b.order.2, b.order.1, b.order.0)));
    if all.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Slow periods, requests and regions by cause: {}", plural(all.len() as u64, "interval")));
    page.paragraph(
        "The slowest of each thread or name, and what took longer in them than in typical ones, by cause along the chain of threads that \
         determined their end; times on other threads have their names. --range selects one by the words in the first column.",
    );
    page.picture(Bars {
        title: "Slow periods, requests and regions by cause along the critical path".to_owned(),
        legend: PARTS.map(|(tone, words)| (tone, words.to_owned())).into(),
        bars: all.iter().map(bar).collect(),
    });
    let mut columns = vec![
        Column::text("interval", 0),
        Column::text("thread or name", 0),
        Column::numbers("start s", 1),
        Column::numbers("ms", 0),
        Column::numbers("median", 0),
        Column::text("excess by cause, ms", 0),
    ];
    for slow in &all {
        let cells = [
            slow.range.clone(),
            slow.of.clone(),
            format!("{:.6}", slow.start.as_f64() / 1e9),
            ms(slow.took),
            ms(slow.median),
            slow.excess.words(),
        ];
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    let interval = |slow: &Slow| Interval {
        label: slow.range.clone(),
        span: Span::new(slow.start, slow.start + slow.took),
        thread: slow.thread,
    };
    write_within(page, ctx, &all.iter().map(interval).collect::<Vec<_>>())
}

fn bar(slow: &Slow) -> Bar {
    Bar::new(
        format!("{} {}", slow.range, slow.of),
        format!("{} ms, median {}", ms(slow.took), ms(slow.median)),
        slow.excess.parts,
        slow.took,
    )
}
