//! Threads that a timer wakes at a steady distance.

use super::Section;
use crate::context::SectionContext;
use crate::intervals::{self, Words};
use engine::EngineError;
use model::tables;
use model::words::{grouped, ms};
use page::Page;

pub const SECTION: Section = Section {
    id: "periods",
    about: "periodic threads: how long their work took from its due time, and which due times they missed",
    tables: &[&tables::PERIODS, &tables::INTERVAL_SUMS],
    write,
};

const WORDS: Words = Words {
    heading: "Periodic threads",
    about: "Times from when the timer was due until the thread waited for its next period; the states are means. late: the work lasted until \
            the next period was due, or longer. until woken: the maximum. on time: the part of the wakeups that came within 5 % of the \
            period, which is how certain it is that the thread is periodic.",
    picture: "Time of the work of a period, mean",
    before: "until woken",
    value: intervals::of_period,
    whole: |sums| sums.period,
};

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let (rows, count) = intervals::read(ctx, "period")?;
    if rows.is_empty() {
        return Ok(());
    }
    intervals::head(page, &rows, count, &WORDS);
    let mut columns = intervals::columns(&rows, "periods");
    columns.insert(2, intervals::column(&rows, "period ms", 0, |sums| ms(sums.mean(sums.period))));
    columns.extend([
        intervals::column(&rows, "until woken ms", 3, |sums| ms(sums.longest_before)),
        intervals::column(&rows, "late", 0, |sums| grouped(sums.late)),
        intervals::column(&rows, "missed", 4, |sums| grouped(sums.missed)),
        intervals::column(&rows, "on time %", 1, intervals::steady),
    ]);
    page.grid(columns, 0);
    Ok(())
}
