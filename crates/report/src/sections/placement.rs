//! Threads on a slower core, or on a core with a busy SMT sibling, while a better core was idle.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{ms, percent};
use engine::EngineError;
use model::tables::{self, placement};
use model::{Column as Col, Ns, Row, ThreadKey, Tid};
use page::{Bar, Bars, Column, Page, Tone};

pub const SECTION: Section = Section {
    id: "placement",
    about: "threads on a slower core, or with a busy SMT sibling, while a better core was idle",
    tables: &[&tables::PLACEMENT],
    write,
};

/// The kinds of suboptimal placement, each with its lower and upper bound.
const WAYS: [(&str, [Col<placement::Table, Ns>; 2]); 3] = [
    ("slower core ms", [placement::SLOWER_CORE_LOWER_NS, placement::SLOWER_CORE_UPPER_NS]),
    ("busy sibling ms", [placement::BUSY_SIBLING_LOWER_NS, placement::BUSY_SIBLING_UPPER_NS]),
    ("slower core free ms", [placement::SKIPPED_SLOWER_LOWER_NS, placement::SKIPPED_SLOWER_UPPER_NS]),
];

/// The times of a thread, or a sum.
#[derive(Clone, Default)]
struct Placed {
    key: Option<ThreadKey>,
    tid: Option<Tid>,
    running: Ns,
    in_order: Ns,
    ways: [[Ns; 2]; 3],
    unknown: Ns,
}

impl Placed {
    fn of(row: &Row<'_, placement::Table>) -> Self {
        let [running, in_order, unknown] =
            row.all([placement::RUNNING_NS, placement::IN_ORDER_NS, placement::UNKNOWN_NS]);
        let ways = WAYS.map(|(_, cols)| row.all(cols));
        let (key, tid) = row.all((placement::THREAD, placement::TID));
        Self { key: Some(key), tid: Some(tid), running, in_order, ways, unknown }
    }

    fn add(&mut self, other: &Self) {
        add(&mut self.running, other.running);
        add(&mut self.in_order, other.in_order);
        add(&mut self.unknown, other.unknown);
        let ways = self.ways.as_flattened_mut().iter_mut().zip(other.ways.as_flattened());
        ways.for_each(|(sum, more)| add(sum, *more));
    }

    fn upper_bound(&self) -> Ns {
        self.ways.iter().fold(Ns::ZERO, |sum, [_, upper]| sum + *upper)
    }
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let (mut top, mut all) = (Top::new(ctx.top), Placed::default());
    ctx.each_row(placement::Table, |row| {
        let placed = Placed::of(row);
        all.add(&placed);
        top.push(placed.upper_bound(), placed);
    })?;
    let count = top.count;
    let mut rows = top.finish();
    if rows.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Suboptimal core placement: {}", count_of(rows.len(), count, "thread")));
    let allowed = all.ways.iter().all(|[lower, upper]| lower == upper);
    page.paragraph(&format!(
        "Running time on a slower core while a whole faster one was idle; with a busy SMT sibling while a whole core of the same type was \
         idle; or with a busy SMT sibling while only a whole slower core was idle.{}",
        if allowed { "" } else { " A range a..b: affinity was not recorded for all threads, so the idle core may not have been allowed." }
    ));
    page.picture(Bars {
        title: "Threads' running time by placement (upper bounds)".to_owned(),
        legend: [
            (Tone::Sky, "optimal"),
            (Tone::Red, "on a slower core"),
            (Tone::Orange, "with a busy SMT sibling"),
            (Tone::Purple, "with a busy SMT sibling, slower core free"),
            (Tone::Unknown, "unknown"),
        ]
        .map(|(tone, words)| (tone, words.to_owned()))
        .into(),
        bars: rows.iter().map(|placed| bar(placed, ctx)).collect(),
    });
    let totals = usize::from(count > 1);
    if totals > 0 {
        rows.push(all.clone());
    }
    let mut columns = vec![Column::text("thread", 0), Column::numbers("tid", 1), Column::numbers("running ms", 0)];
    for placed in &rows {
        columns[0].push(placed.key.map_or_else(|| "all threads".to_owned(), |key| ctx.name(Some(key))));
        columns[1].push(placed.tid.map(|tid| tid.to_string()).unwrap_or_default());
        columns[2].push(ms(placed.running));
    }
    for (at, (head, _)) in WAYS.iter().enumerate().filter(|(at, _)| all.ways[*at][1] > Ns::ZERO) {
        let mut column = Column::numbers(head, 0);
        rows.iter().for_each(|placed| column.push(range(placed.ways[at])));
        columns.push(column);
    }
    if all.unknown > Ns::ZERO {
        let mut column = Column::numbers("unknown ms", 2);
        rows.iter().for_each(|placed| column.push(ms(placed.unknown)));
        columns.push(column);
    }
    page.grid(columns, totals);
    Ok(())
}

fn bar(placed: &Placed, ctx: &SectionContext<'_>) -> Bar {
    let [slower, sibling, skipped] = placed.ways.map(|[_, upper]| upper);
    Bar::new(
        format!("{} {}", ctx.name(placed.key), placed.tid.unwrap_or_default()),
        format!("at most {}", percent(placed.upper_bound(), placed.running)),
        [placed.in_order, slower, sibling, skipped, placed.unknown],
        placed.running,
    )
}

/// Formats a range: `1.000..2.500`, or one number if both ends are equal.
fn range([lower, upper]: [Ns; 2]) -> String {
    if lower == upper { ms(upper) } else { format!("{}..{}", ms(lower), ms(upper)) }
}
