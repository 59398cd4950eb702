//! Threads that a timer wakes at a steady distance.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::grid::{Column, push};
use crate::page::Page;
use crate::picture::{Bar, Bars, Tone};
use engine::EngineError;
use model::tables::{self, periods};
use model::words::{grouped, ms, percent};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "periods",
    about: "periodic threads: how long their work took from its due time, and which due times they missed",
    tables: &[&tables::PERIODS],
    write,
};

/// All periods of a thread.
#[derive(Default)]
struct Sums {
    count: i64,
    period: i64,
    response: i64,
    longest: i64,
    latest: i64,
    missed: i64,
    on_time: f64,
    /// Late, running, ready, blocked, unknown; they sum to `response`.
    times: [i64; 5],
}

impl Sums {
    fn mean(&self, sum: i64) -> i64 {
        sum / self.count.max(1)
    }
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut threads: BTreeMap<i64, Sums> = BTreeMap::new();
    ctx.each_row(periods::Table, |row| {
        let [thread, period, response, late, missed] =
            row.all([periods::THREAD, periods::PERIOD_NS, periods::RESPONSE_NS, periods::LATE_NS, periods::MISSED]);
        let sums = threads.entry(thread).or_default();
        sums.count += 1;
        add(&mut sums.period, period);
        add(&mut sums.response, response);
        sums.longest = sums.longest.max(response);
        sums.latest = sums.latest.max(late);
        add(&mut sums.missed, missed);
        sums.on_time += row.get(periods::STEADY);
        let times = row.all([periods::RUNNING_NS, periods::READY_NS, periods::BLOCKED_NS, periods::UNKNOWN_NS]);
        for (sum, ns) in sums.times.iter_mut().zip([late].into_iter().chain(times)) {
            add(sum, ns);
        }
    })?;
    let mut top = Top::new(ctx.top);
    for (thread, sums) in threads {
        top.push(sums.response, (thread, sums));
    }
    let count = top.count;
    let rows = top.finish();
    if rows.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Periodic threads: {}", count_of(rows.len(), count, "thread")));
    page.paragraph("response: the time from when the timer was due until the thread waited for its next period. late: until the wakeup.");
    page.picture(Bars {
        title: "Time of the work of a period, mean".to_owned(),
        legend: [
            (Tone::Red, "late"),
            (Tone::Blue, "running"),
            (Tone::Orange, "ready"),
            (Tone::Idle, "blocked"),
            (Tone::Unknown, "unknown"),
        ]
        .map(|(tone, words)| (tone, words.to_owned()))
        .into(),
        bars: rows.iter().map(|(thread, sums)| bar(&ctx.name(Some(*thread)), sums)).collect(),
    });
    let mut columns = vec![
        Column::text("thread", 0),
        Column::numbers("periods", 0),
        Column::numbers("period ms", 0),
        Column::numbers("response ms", 0),
        Column::numbers("max response ms", 1),
        Column::numbers("running ms", 2),
        Column::numbers("ready ms", 1),
        Column::numbers("blocked ms", 2),
        Column::numbers("max late ms", 2),
        Column::numbers("missed", 0),
        Column::numbers("on time %", 3),
    ];
    for (thread, sums) in &rows {
        let [_, running, ready, blocked, _] = sums.times.map(|ns| ms(sums.mean(ns)));
        let cells = [
            ctx.name(Some(*thread)),
            grouped(sums.count),
            ms(sums.mean(sums.period)),
            ms(sums.mean(sums.response)),
            ms(sums.longest),
            running,
            ready,
            blocked,
            ms(sums.latest),
            grouped(sums.missed),
            format!("{:.1}", 100.0 * sums.on_time / sums.count.max(1) as f64),
        ];
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    Ok(())
}

fn bar(name: &str, sums: &Sums) -> Bar {
    Bar {
        label: name.to_owned(),
        value: format!("{} of its period of {} ms", percent(sums.response, sums.period), ms(sums.mean(sums.period))),
        parts: sums.times.to_vec(),
        whole: sums.period,
    }
}
