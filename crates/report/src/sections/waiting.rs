//! Which threads waited for a CPU, what was free meanwhile, and which thread ran instead.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{grouped, ms};
use engine::EngineError;
use model::tables::{self, ran_instead, ready_wait};
use model::{Column as Col, Ns, ThreadKey, Tid};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "waiting",
    about: "ready threads without a CPU: for how long, what was free meanwhile, and which thread ran instead",
    tables: &[&tables::READY_WAIT, &tables::RAN_INSTEAD],
    write,
};

/// What was free, or why the wait was not for a CPU: colour, column, description, heading and rank.
const FREE: [(Tone, ReadyTime, &str, &str, u8); 8] = [
    (Tone::Red, ready_wait::NO_CPU_FREE_NS, "no CPU free", "none free ms", 2),
    (Tone::Orange, ready_wait::FREE_SAME_TYPE_NS, "CPU of the same type free", "same type ms", 3),
    (Tone::Purple, ready_wait::FREE_OTHER_TYPE_NS, "CPU of another type free", "other type ms", 3),
    (Tone::Green, ready_wait::FREE_NOT_ALLOWED_NS, "only CPUs outside its affinity free", "not allowed ms", 4),
    (Tone::Idle, ready_wait::FREE_PARKED_NS, "only parked CPUs free", "parked ms", 2),
    (Tone::Sky, ready_wait::WAKEUP_LATENCY_NS, "its own CPU idle (wakeup latency)", "own idle ms", 2),
    (Tone::Blue, ready_wait::THROTTLED_NS, "throttled by its cgroup's CPU quota", "throttled ms", 0),
    (Tone::Unknown, ready_wait::FREE_UNKNOWN_NS, "unknown", "unknown ms", 5),
];

type ReadyTime = Col<ready_wait::Table, Option<Ns>>;

struct Waited {
    key: ThreadKey,
    tid: Tid,
    ready: Ns,
    times: i64,
    longest: Ns,
    free: [Option<Ns>; 8],
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut top = Top::new(ctx.top);
    ctx.each_row(ready_wait::Table, |row| {
        let (key, tid, ready) = row.all((ready_wait::THREAD, ready_wait::TID, ready_wait::READY_NS.or_zero()));
        let (times, longest) = row.all((ready_wait::READY_COUNT.or_zero(), ready_wait::MAX_READY_NS.or_zero()));
        top.push(ready, Waited { key, tid, ready, times, longest, free: FREE.map(|(_, col, ..)| row.get(col)) });
    })?;
    let count = top.count;
    let rows = top.finish();
    if rows.is_empty() {
        return Ok(());
    }
    let ran_instead = ran_instead(ctx, &rows)?;
    page.heading(&format!("Waiting for a CPU: {}", count_of(rows.len(), count, "thread")));
    page.paragraph(
        "Ready time by what was free meanwhile (own idle: the CPU on which the thread was queued), and which thread ran on that CPU instead.",
    );
    let longest = rows.iter().map(|r| r.ready).max().unwrap_or(Ns::ZERO);
    let shown: Vec<usize> = (0..FREE.len()).filter(|at| rows.iter().any(|r| r.free[*at] > Some(Ns::ZERO))).collect();
    page.picture(Bars {
        title: "Ready time by free CPUs".to_owned(),
        legend: shown.iter().map(|at| (FREE[*at].0, FREE[*at].2.to_owned())).collect(),
        bars: rows.iter().map(|waited| bar(waited, &shown, longest, ctx)).collect(),
    });
    let mut columns = vec![
        Column::text("thread", 0),
        Column::numbers("tid", 1),
        Column::numbers("ready ms", 0),
        Column::numbers("count", 4),
        Column::numbers("longest ms", 0),
    ];
    for waited in &rows {
        let cells = [
            ctx.name(Some(waited.key)),
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
    let mut column = Column::text("ran instead, ms", 1);
    rows.iter().for_each(|r| {
        column.push(ctx.largest(ran_instead.get(&r.key).into_iter().flatten().map(|(key, ns)| (*key, *ns))));
    });
    columns.push(column);
    page.grid(columns, 0);
    Ok(())
}

fn bar(waited: &Waited, shown: &[usize], longest: Ns, ctx: &SectionContext<'_>) -> Bar {
    Bar::new(
        format!("{} {}", ctx.name(Some(waited.key)), waited.tid),
        format!("ready {} ms", ms(waited.ready)),
        shown.iter().map(|at| waited.free[*at].unwrap_or(Ns::ZERO)),
        longest,
    )
}

/// Threads that ran where another one waited, and for how long.
type RanInstead = BTreeMap<Option<ThreadKey>, Ns>;

fn ran_instead(ctx: &SectionContext<'_>, rows: &[Waited]) -> Result<BTreeMap<ThreadKey, RanInstead>, EngineError> {
    let mut by_thread: BTreeMap<ThreadKey, RanInstead> = rows.iter().map(|r| (r.key, RanInstead::new())).collect();
    ctx.each_row(ran_instead::Table, |row| {
        // Throttled time has a column of its own.
        if let Some(others) = by_thread
            .get_mut(&row.get(ran_instead::THREAD))
            .filter(|_| row.get(ran_instead::QUEUED_BEHIND) != "throttled")
        {
            add(others.entry(row.get(ran_instead::RAN_INSTEAD)).or_default(), row.get(ran_instead::READY_NS));
        }
    })?;
    Ok(by_thread)
}
