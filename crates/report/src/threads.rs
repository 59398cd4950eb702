//! The states of each thread.

use crate::gather::Group;
use crate::select::Thread;
use crate::words::{grouped, ms, share, short};
use engine::Session;
use model::Ns;
use page::{Anchor, Bar, Bars, Column, Page, Tone};

/// Writes the threads, the rest of them in one row, and their sum.
pub fn write(page: &mut Page, session: &Session, group: &Group) {
    let span = Ns(session.summary().span_ns);
    let shown = group.shown.len();
    let count = shown + group.others.as_ref().map_or(0, |(n, _)| *n);
    let of = if shown < count { format!("{shown} of {count}") } else { count.to_string() };
    page.heading(&format!("{}: {of}", group.title));
    let is_known = has_states(&group.all);
    if !is_known {
        page.paragraph("No context switch or wakeup was recorded, so what they did is unknown.");
    }
    if group.all.throttled > Ns::ZERO {
        page.paragraph("Throttled: the part of the ready time in which a CPU quota kept the thread from running.");
    }
    let mut columns = Columns::of(session, group);
    if !is_known {
        columns.numbers.clear();
    }
    for thread in &group.shown {
        columns.push(thread, &thread.number(), thread.pid, span);
        columns.words[0].places.push(Anchor::Thread(thread.key));
    }
    if let Some((_, others)) = &group.others {
        columns.push(others, "", None, span);
    }
    let sum = usize::from(is_known && count > 1);
    if sum > 0 {
        columns.push(&group.all, "", None, span);
    }
    if is_known {
        page.picture(states(session, group, span));
    }
    page.grid(columns.in_order(), sum);
}

/// Whether any state of these threads is known.
fn has_states(all: &Thread) -> bool {
    let times = [all.running, all.ready, all.blocked, all.exited, all.inferred];
    times.into_iter().any(|ns| ns > Ns::ZERO) || all.involuntary > 0 || all.voluntary > 0
}

fn states(session: &Session, group: &Group, span: Ns) -> Bars {
    Bars {
        title: format!("{}: states over the recording", group.title),
        legend: legend_with_throttled(session.summary().ready_known, group),
        bars: group.shown.iter().map(|thread| bar(thread, span, group.all.throttled > Ns::ZERO)).collect(),
    }
}

fn bar(thread: &Thread, span: Ns, has_throttled: bool) -> Bar {
    let states = [thread.running, thread.ready - thread.throttled, thread.blocked, thread.unknown];
    Bar::new(
        format!("{} {}", short(&thread.name, 16), thread.number()),
        format!("running {} ms", ms(thread.running)),
        states.into_iter().chain(has_throttled.then_some(thread.throttled)),
        span,
    )
}

/// The colours of states, with that of throttled time if there is any.
fn legend_with_throttled(ready_known: bool, group: &Group) -> Vec<(Tone, String)> {
    let throttled = (group.all.throttled > Ns::ZERO).then(|| (Tone::Sky, "throttled by a CPU quota".to_owned()));
    legend(ready_known).into_iter().chain(throttled).collect()
}

/// The columns that have data for these threads.
struct Columns {
    words: [Column; 3],
    numbers: Vec<(Column, Cell)>,
    pid: bool,
}

type Cell = fn(&Thread, Ns) -> String;

impl Columns {
    fn of(session: &Session, group: &Group) -> Self {
        let ready_known = session.summary().ready_known;
        let [ready, blocked, max_ready] = heads(ready_known);
        let has_reasons = group.all.has_switch_out_reasons();
        let all: [(&'static str, u8, bool, Cell); 14] = [
            ("running ms", 0, true, |t, _| ms(t.running)),
            ("% wall", 3, true, |t, span| share(t.running, span)),
            (ready, 0, ready_known || group.all.ready > Ns::ZERO, |t, _| ms(t.ready)),
            ("throttled ms", 0, group.all.throttled > Ns::ZERO, |t, _| ms(t.throttled)),
            (blocked, 1, has_reasons, |t, _| ms(t.blocked)),
            ("unknown ms", 0, group.all.unknown > Ns::ZERO, |t, _| ms(t.unknown)),
            ("inferred ms", 0, group.all.inferred > Ns::ZERO, |t, _| ms(t.inferred)),
            ("exited ms", 9, group.all.exited > Ns::ZERO, |t, _| ms(t.exited)),
            (max_ready, 2, ready_known || group.all.ready > Ns::ZERO, |t, _| ms(t.max_ready)),
            ("invol.", 4, has_reasons, |t, _| grouped(t.involuntary)),
            ("volunt.", 4, has_reasons, |t, _| grouped(t.voluntary)),
            ("switch-outs", 4, !has_reasons, |t, _| grouped(t.voluntary)),
            ("migr.", 4, true, |t, _| grouped(t.migrations)),
            ("stolen ms", 5, group.all.stolen.is_some_and(|s| s > Ns::ZERO), |t, _| {
                t.stolen.map_or_else(|| "-".to_owned(), ms)
            }),
        ];
        let numbers = all.into_iter().filter(|(_, _, shown, _)| *shown);
        Self {
            words: [Column::text("thread", 0), Column::numbers("tid", 1), Column::numbers("pid", 6)],
            numbers: numbers.map(|(head, rank, _, cell)| (Column::numbers(head, rank), cell)).collect(),
            pid: !group.one_process && group.shown.iter().any(|t| t.pid.is_some()),
        }
    }

    fn push(&mut self, thread: &Thread, number: &str, pid: Option<i64>, span: Ns) {
        let [name, tid, of] = &mut self.words;
        name.push(short(&thread.name, 16));
        tid.push(number);
        of.push(pid.map(|p| p.to_string()).unwrap_or_default());
        for (column, cell) in &mut self.numbers {
            column.push(cell(thread, span));
        }
    }

    fn in_order(self) -> Vec<Column> {
        let [name, tid, pid] = self.words;
        let mut all = vec![name, tid];
        if self.pid {
            all.push(pid);
        }
        all.extend(self.numbers.into_iter().map(|(column, _)| column));
        all
    }
}

/// The colours of states. Without wakeups, it is unknown how much of the time after a sleep was ready.
#[must_use]
pub fn legend(ready_known: bool) -> Vec<(Tone, String)> {
    let blocked = if ready_known { "blocked" } else { "blocked, or ready after a sleep" };
    [(Tone::Blue, "running"), (Tone::Orange, "ready"), (Tone::Idle, blocked), (Tone::Unknown, "unknown")]
        .map(|(tone, words)| (tone, words.to_owned()))
        .into()
}

/// The heads of the columns of ready and blocked time. Without wakeups, it is unknown how much of the time after a sleep was ready.
#[must_use]
pub fn heads(ready_known: bool) -> [&'static str; 3] {
    if ready_known {
        ["ready ms", "blocked ms", "max ready ms"]
    } else {
        ["ready ms >=", "blocked ms <=", "max ready ms"]
    }
}
