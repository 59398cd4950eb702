//! Who waited for a CPU, what was free meanwhile, and behind whom.

use super::Section;
use crate::grid::{Column, push};
use crate::page::Page;
use crate::picture::{Bar, Bars, Tone};
use crate::seen::{Seen, Top, add, of};
use crate::words::{grouped, ms};
use engine::EngineError;
use model::Column as Col;
use model::tables::{self, ready_by_thief, ready_wait};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "waiting",
    about: "who was ready but did not run: for how long, what was free meanwhile, and who ran there",
    tables: &[&tables::READY_WAIT, &tables::READY_BY_THIEF],
    write,
};

/// What was free, or that it was not for a CPU that the thread waited: column, words, a column's head and its rank.
const FREE: [(Tone, ReadyTime, &str, &str, u8); 8] = [
    (Tone::Red, ready_wait::NO_CPU_FREE_NS, "no CPU was free", "none free ms", 2),
    (Tone::Orange, ready_wait::FREE_SAME_TYPE_NS, "one of the same type was free", "same type ms", 3),
    (Tone::Purple, ready_wait::FREE_OTHER_TYPE_NS, "one of another type was free", "other type ms", 3),
    (Tone::Green, ready_wait::FREE_NOT_ALLOWED_NS, "only where it was not allowed", "not allowed ms", 4),
    (Tone::Idle, ready_wait::FREE_PARKED_NS, "only parked ones", "parked ms", 2),
    (Tone::Sky, ready_wait::WAKEUP_LATENCY_NS, "its own CPU was idle", "own idle ms", 2),
    (Tone::Blue, ready_wait::THROTTLED_NS, "held by its cgroup's CPU quota", "throttled ms", 2),
    (Tone::Unknown, ready_wait::FREE_UNKNOWN_NS, "unknown", "unknown ms", 5),
];

type ReadyTime = Col<ready_wait::Table, Option<i64>>;

struct Waited {
    key: i64,
    tid: i64,
    ready: i64,
    times: i64,
    longest: i64,
    free: [Option<i64>; 8],
}

fn write(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let mut top = Top::new(seen.top);
    seen.each(ready_wait::Table, |row| {
        let [key, tid, ready] = row.all([ready_wait::THREAD, ready_wait::TID, ready_wait::READY_NS.or_zero()]);
        let [times, longest] = row.all([ready_wait::READY_COUNT.or_zero(), ready_wait::MAX_READY_NS.or_zero()]);
        top.push(ready, Waited { key, tid, ready, times, longest, free: FREE.map(|(_, col, ..)| row.get(col)) });
    })?;
    let count = top.count;
    let rows = top.finish();
    if rows.is_empty() {
        return Ok(());
    }
    let thieves = thieves(seen, &rows)?;
    page.heading(&format!("Waited for a CPU: {}", of(rows.len(), count, "thread")));
    page.words(
        "Ready time by what was free meanwhile (own idle: the CPU that it was queued on), and who ran on that CPU.",
    );
    let most = rows.iter().map(|r| r.ready).max().unwrap_or(0);
    let shown: Vec<usize> = (0..FREE.len()).filter(|at| rows.iter().any(|r| r.free[*at] > Some(0))).collect();
    page.picture(Bars {
        title: "Ready time by what was free meanwhile".to_owned(),
        legend: shown.iter().map(|at| (FREE[*at].0, FREE[*at].2.to_owned())).collect(),
        bars: rows.iter().map(|waited| bar(waited, &shown, most, seen)).collect(),
    });
    let mut columns = vec![
        Column::words("thread", 0),
        Column::numbers("tid", 1),
        Column::numbers("ready ms", 0),
        Column::numbers("times", 4),
        Column::numbers("longest ms", 0),
    ];
    for waited in &rows {
        let cells = [
            seen.name(Some(waited.key)),
            waited.tid.to_string(),
            ms(waited.ready),
            grouped(waited.times),
            ms(waited.longest),
        ];
        push(&mut columns, cells);
    }
    for at in shown {
        let (_, _, _, head, rank) = FREE[at];
        let mut column = Column::numbers(head, rank);
        rows.iter().for_each(|r| column.push(r.free[at].map_or_else(|| "-".to_owned(), ms)));
        columns.push(column);
    }
    let mut behind = Column::words("behind whom, ms", 1);
    rows.iter().for_each(|r| {
        behind.push(seen.most(thieves.get(&r.key).into_iter().flatten().map(|(thief, ns)| (*thief, *ns))))
    });
    columns.push(behind);
    page.grid(columns, 0);
    Ok(())
}

fn bar(waited: &Waited, shown: &[usize], most: i64, seen: &Seen<'_>) -> Bar {
    Bar {
        label: format!("{} {}", seen.name(Some(waited.key)), waited.tid),
        value: format!("ready {} ms", ms(waited.ready)),
        parts: shown.iter().map(|at| waited.free[*at].unwrap_or(0)).collect(),
        whole: most,
    }
}

/// Who ran where a thread waited, and for how long.
type Thieves = BTreeMap<Option<i64>, i64>;

fn thieves(seen: &Seen<'_>, rows: &[Waited]) -> Result<BTreeMap<i64, Thieves>, EngineError> {
    let mut of: BTreeMap<i64, Thieves> = rows.iter().map(|r| (r.key, Thieves::new())).collect();
    seen.each(ready_by_thief::Table, |row| {
        // Time that a quota held it stands in a column of its own.
        if let Some(thieves) =
            of.get_mut(&row.get(ready_by_thief::THREAD)).filter(|_| row.get(ready_by_thief::BEHIND) != "throttled")
        {
            add(thieves.entry(row.get(ready_by_thief::THIEF)).or_default(), row.get(ready_by_thief::READY_NS));
        }
    })?;
    Ok(of)
}
