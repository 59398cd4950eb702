//! What the sections of periods and of requests share: a row of the table `interval_sums`.

use crate::context::{SectionContext, Top, count_of};
use engine::EngineError;
use model::tables::interval_sums;
use model::words::{grouped, ms, percent};
use model::{Ns, Row};
use page::{Bar, Bars, Column, Page, Tone, push};

/// The periods or requests of a thread.
pub struct Sums {
    pub thread: String,
    pub count: i64,
    pub took: Ns,
    /// The median, two percentiles, and the longest.
    pub quantiles: [Ns; 4],
    pub period: Ns,
    pub late: i64,
    pub missed: i64,
    pub longest_before: Ns,
    /// Before the thread was at work, running, ready, blocked, unknown; they sum to `took`.
    pub times: [Ns; 5],
    pub steady: f64,
}

impl Sums {
    fn of(ctx: &SectionContext<'_>, row: &Row<'_, interval_sums::Table>) -> Self {
        use interval_sums::*;
        let thread = row.get(THREAD).map_or_else(|| "others".to_owned(), |key| ctx.name(Some(key)));
        let (count, took, before, longest_before) = row.all((COUNT, TOOK_NS, BEFORE_NS, LONGEST_BEFORE_NS));
        let [running, ready, blocked, unknown] = row.all([RUNNING_NS, READY_NS, BLOCKED_NS, UNKNOWN_NS]);
        let [running, ready, blocked, unknown] = [running, ready, blocked, unknown].map(Option::unwrap_or_default);
        Self {
            thread,
            count,
            took,
            quantiles: row.all([MEDIAN_NS, P95_NS, P99_NS, LONGEST_NS]),
            period: row.get(PERIOD_NS.or_zero()),
            late: row.get(LATE.or_zero()),
            missed: row.get(MISSED.or_zero()),
            longest_before,
            times: [before, running, ready, blocked, unknown],
            steady: row.get(STEADY),
        }
    }

    /// Returns the mean of a sum.
    pub fn mean(&self, sum: Ns) -> Ns {
        sum / self.count.max(1)
    }
}

/// Reads the rows of a kind, of the threads with the most time; returns them and the number of all threads.
///
/// # Errors
/// The trace cannot be read.
pub fn read(ctx: &SectionContext<'_>, kind: &str) -> Result<(Vec<Sums>, usize), EngineError> {
    let mut top = Top::new(ctx.top);
    ctx.each_row(interval_sums::Table, |row| {
        if row.get(interval_sums::KIND) == kind {
            let sums = Sums::of(ctx, row);
            top.push(sums.took, sums);
        }
    })?;
    let count = top.count;
    Ok((top.finish(), count))
}

/// What is written about a kind.
pub struct Words {
    /// Heading.
    pub heading: &'static str,
    pub about: &'static str,
    pub picture: &'static str,
    /// The parts before the thread was at work.
    pub before: &'static str,
    /// The value of a bar.
    pub value: fn(&Sums) -> String,
    /// The full width of a bar.
    pub whole: fn(&Sums) -> Ns,
}

/// Writes the heading and the picture.
pub fn head(page: &mut Page, rows: &[Sums], count: usize, words: &Words) {
    page.heading(&format!("{}: {}", words.heading, count_of(rows.len(), count, "thread")));
    page.paragraph(words.about);
    let legend = [
        (Tone::Red, words.before),
        (Tone::Blue, "running"),
        (Tone::Orange, "ready"),
        (Tone::Idle, "blocked"),
        (Tone::Unknown, "unknown"),
    ];
    let bar = |sums: &Sums| Bar::new(sums.thread.clone(), (words.value)(sums), sums.times, (words.whole)(sums));
    page.picture(Bars {
        title: words.picture.to_owned(),
        legend: legend.map(|(tone, words)| (tone, words.to_owned())).into(),
        bars: rows.iter().map(bar).collect(),
    });
}

/// Returns the columns that both sections have: the thread, the number, the quantiles, and the states.
pub fn columns(rows: &[Sums], counted: &str) -> Vec<Column> {
    let mut columns = vec![
        Column::text("thread", 0),
        Column::numbers(counted, 0),
        Column::numbers("median ms", 0),
        Column::numbers("p95", 2),
        Column::numbers("p99", 1),
        Column::numbers("longest ms", 0),
        Column::numbers("running ms", 2),
        Column::numbers("ready ms", 1),
        Column::numbers("blocked ms", 3),
    ];
    for sums in rows {
        let [_, running, ready, blocked, _] = sums.times.map(|ns| ms(sums.mean(ns)));
        let first = [sums.thread.clone(), grouped(sums.count)];
        push(&mut columns, first.into_iter().chain(sums.quantiles.map(ms)).chain([running, ready, blocked]));
    }
    columns
}

/// Returns a column of one number of each row.
pub fn column(rows: &[Sums], head: &str, rank: u8, cell: impl Fn(&Sums) -> String) -> Column {
    let mut column = Column::numbers(head, rank);
    rows.iter().for_each(|sums| column.push(cell(sums)));
    column
}

/// How certain it is that there are such periods or requests.
pub fn steady(sums: &Sums) -> String {
    format!("{:.1}", 100.0 * sums.steady)
}

/// The value of a bar: a part of the period.
pub fn of_period(sums: &Sums) -> String {
    format!("{} of its period of {} ms", percent(sums.took, sums.period), ms(sums.mean(sums.period)))
}
