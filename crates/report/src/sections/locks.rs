//! For which locks threads waited, and which threads held them.

use super::Section;
use crate::context::{SectionContext, count_of};
use crate::words::{grouped, ms, plural};
use engine::EngineError;
use model::Ns;
use model::tables::{self, lock_holders};
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
