//! What ended the stays of CPUs in idle states, and which of them were too short to save energy.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{grouped, ms, share};
use engine::EngineError;
use model::tables::{self, idle_ends};
use model::{Amount, Ns, ThreadKey};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "idle_ends",
    about: "what ended the stays of CPUs in idle states, and which were too short to save energy",
    tables: &[&tables::IDLE_ENDS],
    write,
};

/// The words of what ends a stay.
const CAUSES: [(&str, &str); 11] = [
    ("timer", "a timer"),
    ("tick", "the scheduler's tick"),
    ("device", "a device"),
    ("thread", "a thread on another CPU"),
    ("ipi", "an interrupt of another CPU"),
    ("interrupt", "an interrupt"),
    ("pulled", "a thread taken from another CPU"),
    ("requeued", "a thread that was ready on this CPU"),
    ("nothing", "nothing recorded"),
    ("not_recorded", "a wakeup without a recorded waker"),
    ("unknown", "unknown"),
];

#[derive(Clone, Copy, Default)]
struct Sums {
    stays: i64,
    whole: i64,
    stay: Ns,
    too_short: Option<i64>,
    lost: Option<Ns>,
    missing: Option<Ns>,
}

impl Sums {
    fn add(&mut self, more: &Self) {
        fn sum<A: Amount>(to: &mut Option<A>, more: Option<A>) {
            more.into_iter().for_each(|n| add(to.get_or_insert_default(), n));
        }
        add(&mut self.stays, more.stays);
        add(&mut self.whole, more.whole);
        add(&mut self.stay, more.stay);
        sum(&mut self.too_short, more.too_short);
        sum(&mut self.lost, more.lost);
        sum(&mut self.missing, more.missing);
    }
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    if !ctx.is_whole() {
        return Ok(());
    }
    let mut causes: BTreeMap<usize, Sums> = BTreeMap::new();
    // By cause, interrupt, waker, and the thread that ran next.
    let mut by: BTreeMap<(usize, String, String, String), Sums> = BTreeMap::new();
    ctx.each_row(idle_ends::Table, |row| {
        let cause = row.get(idle_ends::ENDED_BY);
        // Nothing is known about the end of those that are cut.
        let Some(cause) = CAUSES.iter().position(|(word, _)| *word == cause) else { return };
        let sums = Sums {
            stays: row.get(idle_ends::STAYS),
            whole: row.get(idle_ends::WHOLE),
            stay: row.get(idle_ends::STAY_NS),
            too_short: row.get(idle_ends::TOO_SHORT),
            lost: row.get(idle_ends::TOO_SHORT_NS),
            missing: row.get(idle_ends::MISSING_NS),
        };
        causes.entry(cause).or_default().add(&sums);
        let name = |key: Option<ThreadKey>| key.map_or_else(String::new, |key| ctx.name(Some(key)));
        let interrupt = row.get(idle_ends::INTERRUPT.or_empty()).to_owned();
        let key = (cause, interrupt, name(row.get(idle_ends::WAKER)), name(row.get(idle_ends::THREAD)));
        by.entry(key).or_default().add(&sums);
    })?;
    let all = causes.values().fold(0i64, |sum, of| sum.saturating_add(of.stays));
    if all == 0 {
        return Ok(());
    }
    let mut top = Top::new(ctx.top);
    by.into_iter().for_each(|of| top.push(of.1.stays, of));
    let count = top.count;
    let rows = top.finish();
    let has_targets = causes.values().any(|of| of.too_short.is_some());
    page.heading(&format!("What ended idle states: {}", count_of(rows.len(), count, "cause")));
    page.paragraph(if has_targets {
        "too short: stays below the break-even of their state (the driver's target residency), which cost more energy than they saved. lost: \
         the time in these. missing: how much longer they would have had to last."
    } else {
        "The machine description has no break-even of the idle states, so it is unknown which stays were too short."
    });
    page.picture(picture(&causes));
    let mut columns = vec![
        Column::text("ended by", 0),
        Column::text("interrupt", 0),
        Column::text("waker", 1),
        Column::text("then ran", 0),
    ];
    columns.extend([("stays", 0), ("per s", 0), ("mean ms", 0)].map(numbers));
    if has_targets {
        columns.extend([("too short", 0), ("%", 0), ("lost ms", 0), ("missing ms", 2)].map(numbers));
    }
    let span = ctx.session.summary().span_ns;
    for ((cause, interrupt, waker, thread), of) in rows {
        let mut cells = vec![CAUSES[cause].1.to_owned(), interrupt, waker, thread];
        let mean = if of.whole > 0 { ms(of.stay / of.whole) } else { "-".to_owned() };
        cells.extend([grouped(of.stays), format!("{:.1}", of.stays as f64 * 1e9 / span.max(1) as f64), mean]);
        if has_targets {
            let short = of.too_short.filter(|_| of.whole > 0);
            cells.extend(
                [short.map(grouped), short.map(|short| share(short, of.whole)), of.lost.map(ms), of.missing.map(ms)]
                    .map(known),
            );
        }
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    Ok(())
}

fn numbers((head, rank): (&str, u8)) -> Column {
    Column::numbers(head, rank)
}

fn known(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// How many stays each cause ended, and how many of them were too short.
fn picture(causes: &BTreeMap<usize, Sums>) -> Bars {
    let whole = causes.values().map(|of| of.stays).max().unwrap_or(0);
    let legend = [(Tone::Blue, "not too short, or of unknown length"), (Tone::Red, "too short to save energy")];
    let bar = |(cause, of): (&usize, &Sums)| {
        let short = of.too_short.unwrap_or(0);
        let parts = vec![of.stays.saturating_sub(short), short];
        Bar::new(CAUSES[*cause].1.to_owned(), grouped(of.stays), parts, whole)
    };
    Bars {
        title: format!("Stays in idle states by what ended them (full width: {})", grouped(whole)),
        legend: legend.map(|(tone, words)| (tone, words.to_owned())).into(),
        bars: causes.iter().filter(|(_, of)| of.stays > 0).map(bar).collect(),
    }
}
