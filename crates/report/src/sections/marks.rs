//! Stretches that programs marked.

use super::Section;
use crate::context::{SectionContext, Top, count_of};
use crate::words::{grouped, ms, short};
use engine::EngineError;
use model::Ns;
use model::tables::{self, marks};
use page::{Bar, Bars, Column, Page, Tone, push};

pub const SECTION: Section = Section {
    id: "marks",
    about: "stretches that programs marked: durations, and what their threads did meanwhile",
    tables: &[&tables::MARKS],
    write,
};

/// The marks of one name of a thread.
struct MarkRow {
    thread: String,
    name: String,
    count: i64,
    open: i64,
    duration: Ns,
    longest: Ns,
    /// Running, ready, blocked, unknown.
    states: [Option<Ns>; 4],
}

/// The columns of states.
const STATES: [(&str, u8); 4] = [("running ms", 1), ("ready ms", 1), ("blocked ms", 2), ("unknown ms", 3)];

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut top = Top::new(ctx.top);
    ctx.each_row(marks::Table, |row| {
        let (count, open, duration, longest) =
            row.all((marks::COUNT, marks::OPEN, marks::DURATION_NS, marks::LONGEST_NS));
        let states = row.all([marks::RUNNING_NS, marks::READY_NS, marks::BLOCKED_NS, marks::UNKNOWN_NS]);
        let thread = row.get(marks::THREAD).map(|key| ctx.name(Some(key))).unwrap_or_default();
        let name = row.get(marks::NAME.or_empty());
        let name = if name.is_empty() { "?".to_owned() } else { short(name, 32) };
        top.push(duration, MarkRow { thread, name, count, open, duration, longest, states });
    })?;
    let count = top.count;
    let rows = top.finish();
    if rows.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Marks by name and thread: {}", count_of(rows.len(), count, "row")));
    let longest = rows.iter().map(|m| m.duration).max().unwrap_or(Ns::ZERO);
    page.picture(Bars {
        title: "Marked time by thread state".to_owned(),
        legend: [(Tone::Blue, "running"), (Tone::Orange, "ready"), (Tone::Idle, "blocked"), (Tone::Unknown, "unknown")]
            .map(|(tone, words)| (tone, words.to_owned()))
            .into(),
        bars: rows.iter().map(|marked| bar(marked, longest)).collect(),
    });
    let has_open = rows.iter().any(|m| m.open > 0);
    if has_open {
        page.paragraph("open: stretches without a recorded end, which count up to the end of the recording.");
    }
    // Where no state is known, three columns of zeros would leave no room for the one of unknown time.
    let are_known = rows.iter().any(|m| m.states[..3].iter().flatten().any(|ns| *ns > Ns::ZERO));
    let (shown, states) = if are_known { (0, &STATES[..]) } else { (3, &STATES[3..]) };
    let mut columns = vec![
        Column::text("mark", 0),
        Column::text("thread", 1),
        Column::numbers("count", 0),
        Column::numbers("ms", 0),
        Column::numbers("longest ms", 0),
    ];
    columns.extend(states.iter().map(|(head, rank)| Column::numbers(head, *rank)));
    if has_open {
        columns.insert(3, Column::numbers("open", 0));
    }
    for marked in &rows {
        let open = has_open.then(|| grouped(marked.open));
        let first = [marked.name.clone(), marked.thread.clone(), grouped(marked.count)];
        let states = marked.states[shown..].iter().map(|ns| ns.map_or_else(|| "-".to_owned(), ms));
        let times = [ms(marked.duration), ms(marked.longest)];
        let cells = first.into_iter().chain(open).chain(times).chain(states);
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    Ok(())
}

fn bar(marked: &MarkRow, longest: Ns) -> Bar {
    Bar::new(
        format!("{} {}", marked.name, marked.thread),
        format!("{} ms", ms(marked.duration)),
        marked.states.iter().map(|ns| ns.unwrap_or(Ns::ZERO)),
        longest,
    )
}
