//! For which locks threads waited, and which threads held them.

use super::Section;
use crate::context::{SectionContext, count_of};
use crate::words::{grouped, ms, plural};
use engine::EngineError;
use model::tables::{self, lock_holders, lock_waits};
use model::{Ns, Span, ThreadKey};
use page::{Column, Page, push};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

pub const SECTION: Section = Section {
    id: "locks",
    about: "for which locks threads waited, which threads held them, and what those did meanwhile",
    tables: &[&tables::LOCK_HOLDERS],
    write,
};

/// What threads of one name waited for, held by threads of one name.
#[derive(Default)]
struct Sum {
    waits: i64,
    waited: Ns,
    held: Ns,
    longest: Ns,
    /// Running, ready, blocked.
    holder: [Ns; 3],
    /// What the holder was blocked in for the longest time, and how long.
    reason: (Ns, String),
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    use lock_holders::*;
    let mut sums: BTreeMap<(String, String, String), Sum> = BTreeMap::new();
    let mut locks = BTreeSet::new();
    ctx.each_row(Table, |row| {
        locks.insert((row.get(PID), row.get(LOCK).to_owned()));
        let holder = row.get(HOLDER).map_or_else(|| "unknown".to_owned(), |key| ctx.name(Some(key)));
        let key = (ctx.name(Some(row.get(THREAD))), row.get(KIND).to_owned(), holder);
        let sum = sums.entry(key).or_default();
        sum.waits = sum.waits.saturating_add(row.get(WAITS));
        sum.waited += row.get(WAITED_NS);
        sum.held += row.get(HELD_NS.or_zero());
        sum.longest = sum.longest.max(row.get(MAX_HELD_NS.or_zero()));
        let did = [HOLDER_RUNNING_NS, HOLDER_READY_NS, HOLDER_BLOCKED_NS].map(|column| row.get(column.or_zero()));
        for (sum, more) in sum.holder.iter_mut().zip(did) {
            *sum += more;
        }
        if did[2] > sum.reason.0 {
            sum.reason = (did[2], row.get(HOLDER_REASON.or_empty()).to_owned());
        }
    })?;
    if sums.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, sum)| Reverse(sum.waited));
    let (all, waits) = (rows.len(), rows.iter().fold(0_i64, |all, (_, sum)| all.saturating_add(sum.waits)));
    let waited: Ns = rows.iter().map(|(_, sum)| sum.waited).sum();
    rows.truncate(ctx.top);
    page.heading(&format!("Waits for locks: {}", count_of(rows.len(), all, "row")));
    page.paragraph(&format!(
        "{} for {} took {} ms. Held: how long of it the thread that had the lock when the waits began went on to hold it, and what that thread \
         did meanwhile. Unknown: readers hold it, or the memory and the next wake differ. Locks whose value does not show that they are locks \
         (Python's, Java's monitors, semaphores) are not among them: the table wait_objects has all waits.",
        plural(waits.unsigned_abs(), "wait"),
        plural(locks.len() as u64, "lock"),
        ms(waited)
    ));
    let mut columns = vec![
        Column::text("thread", 0),
        Column::text("waits for", 1),
        Column::text("held by", 0),
        Column::numbers("waits", 0),
        Column::numbers("waited ms", 0),
        Column::numbers("held ms", 0),
        Column::numbers("longest", 2),
        Column::numbers("ran", 1),
        Column::numbers("ready", 1),
        Column::numbers("blocked", 1),
        Column::text("in", 1),
    ];
    for ((thread, kind, holder), sum) in rows {
        let of_holder = |ns: Ns| if holder == "unknown" { String::new() } else { ms(ns) };
        let [ran, ready, blocked] = sum.holder;
        let numbers = [grouped(sum.waits), ms(sum.waited)];
        let held = [sum.held, sum.longest, ran, ready, blocked].map(of_holder);
        push(&mut columns, [thread, kind, holder.clone()].into_iter().chain(numbers).chain(held).chain([sum.reason.1]));
    }
    page.grid(columns, 0);
    Ok(())
}

/// An interval whose waits for locks are shown.
pub(crate) struct Interval {
    /// What it is called.
    pub(crate) label: String,
    /// From its begin to its end.
    pub(crate) span: Span,
    /// The thread that waits.
    pub(crate) thread: Option<ThreadKey>,
}

/// The maximum number of rows of an interval.
const MAX_OF_INTERVAL: usize = 2;

/// Shorter waits of an interval are not shown: this part of it, in percent.
const LEAST_PERCENT: i64 = 2;

/// Writes the waits for locks within some intervals, with the threads that held the locks; nothing if there are none.
pub(crate) fn write_within(
    page: &mut Page,
    ctx: &SectionContext<'_>,
    intervals: &[Interval],
) -> Result<(), EngineError> {
    use lock_waits::*;
    let mut any = false;
    ctx.each_row(lock_holders::Table, |_| any = true)?;
    if !any {
        return Ok(());
    }
    // By interval and holder, or the thread that ended the wait.
    let mut waits: BTreeMap<(usize, String, String), (Ns, Ns, String)> = BTreeMap::new();
    ctx.each_row(Table, |row| {
        let span = Span::new(row.get(START_NS), row.get(END_NS));
        for (at, interval) in intervals.iter().enumerate().filter(|(_, of)| of.thread == Some(row.get(THREAD))) {
            let Some(within) = interval.span.overlap(span) else { continue };
            let by = match (row.get(HOLDER), row.get(RELEASED_BY)) {
                (Some(holder), _) => ctx.name(Some(holder)),
                (None, Some(by)) if by > ThreadKey::IDLE => format!("unknown, released by {}", ctx.name(Some(by))),
                (None, _) => "unknown".to_owned(),
            };
            let sum = waits.entry((at, row.get(KIND).to_owned(), by)).or_default();
            sum.0 += within.len();
            let [ran, ready, blocked] =
                [HOLDER_RUNNING_NS, HOLDER_READY_NS, HOLDER_BLOCKED_NS].map(|column| row.get(column.or_zero()));
            if within.len() > sum.1 && row.get(HOLDER).is_some() {
                let did = match row.get(HOLDER_REASON.or_empty()) {
                    _ if ran >= ready.max(blocked) => "ran".to_owned(),
                    _ if ready >= blocked => "was ready".to_owned(),
                    "" => "was blocked".to_owned(),
                    reason => format!("was blocked in {reason}"),
                };
                (sum.1, sum.2) = (within.len(), did);
            }
        }
    })?;
    let mut columns = vec![
        Column::text("interval", 0),
        Column::text("thread", 1),
        Column::numbers("waited ms", 0),
        Column::text("for", 0),
        Column::text("held by", 0),
        Column::text("which", 0),
    ];
    let mut shown = 0;
    for (at, interval) in intervals.iter().enumerate() {
        let mut of: Vec<_> = waits.iter().filter(|((of, ..), _)| *of == at).collect();
        of.retain(|(_, (waited, ..))| *waited > interval.span.len() * LEAST_PERCENT / 100);
        of.sort_by_key(|(_, (waited, ..))| Reverse(*waited));
        for ((_, kind, by), (waited, _, did)) in of.into_iter().take(MAX_OF_INTERVAL) {
            let cells =
                [interval.label.clone(), ctx.name(interval.thread), ms(*waited), kind.clone(), by.clone(), did.clone()];
            push(&mut columns, cells);
            shown += 1;
        }
    }
    if shown > 0 {
        page.paragraph("Waits for locks within them, and the threads that held the locks:");
        page.grid(columns, 0);
    }
    Ok(())
}
