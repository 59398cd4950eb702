//! Threads that answer requests of other programs.

use super::Section;
use crate::context::SectionContext;
use crate::intervals::{self, Words};
use engine::EngineError;
use model::tables;
use model::words::ms;
use page::Page;

pub const SECTION: Section = Section {
    id: "requests",
    about: "requests of other programs: how long each thread took to answer them, and what it did meanwhile",
    tables: &[&tables::REQUESTS, &tables::INTERVAL_SUMS],
    write,
};

const WORDS: Words = Words {
    heading: "Requests by the thread that answered",
    about: "Times from the waking that brought a request until the waking that answered it; the states are means. queued: until the thread was \
            at work on it. certain: the part of the waits of the client that this program ended.",
    picture: "Time of a request, mean",
    before: "queued",
    value: |sums| format!("{} ms", ms(sums.mean(sums.took))),
    whole: |sums| sums.took,
};

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let (rows, count) = intervals::read(ctx, "request")?;
    if rows.is_empty() {
        return Ok(());
    }
    intervals::head(page, &rows, count, &WORDS);
    let mut columns = intervals::columns(&rows, "requests");
    columns.insert(6, intervals::column(&rows, "queued ms", 1, |sums| ms(sums.mean(sums.times[0]))));
    columns.push(intervals::column(&rows, "certain %", 1, intervals::steady));
    page.grid(columns, 0);
    Ok(())
}
