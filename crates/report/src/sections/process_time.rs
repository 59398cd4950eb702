//! How often the threads of each process left their CPU, and how their time divides.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::threads::{heads, legend};
use crate::words::{grouped, ms, short};
use engine::EngineError;
use model::tables::{self, threads};
use model::{Ns, ThreadKey};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "process_time",
    about: "processes: voluntary and involuntary switches, and how the time of their threads divides",
    tables: &[&tables::THREADS],
    write,
};

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

/// The sums of a process's threads.
#[derive(Default)]
struct Process {
    name: String,
    pid: Option<i64>,
    threads: i64,
    voluntary: i64,
    involuntary: i64,
    running: Ns,
    ready: Ns,
    blocked: Ns,
    unknown: Ns,
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    // A thread whose process is unknown is on its own.
    let mut all: BTreeMap<(Option<i64>, Option<ThreadKey>), Process> = BTreeMap::new();
    ctx.each_row(threads::Table, |row| {
        let (pid, tid, key) = (row.get(threads::PID), row.get(threads::TID), row.get(threads::THREAD));
        let of = all.entry((pid, pid.is_none().then_some(key))).or_default();
        if of.name.is_empty() || pid == Some(tid.0.into()) {
            of.name = row.get(threads::NAME.or_empty()).to_owned();
        }
        of.pid = pid;
        of.threads += 1;
        let [voluntary, involuntary] = row.all([threads::VOLUNTARY, threads::INVOLUNTARY]);
        let [running, ready, blocked, unknown] =
            row.all([threads::RUNNING_NS, threads::READY_NS, threads::BLOCKED_NS, threads::UNKNOWN_NS]);
        add(&mut of.voluntary, voluntary);
        add(&mut of.involuntary, involuntary);
        add(&mut of.running, running);
        add(&mut of.ready, ready);
        add(&mut of.blocked, blocked);
        add(&mut of.unknown, unknown);
    })?;
    let mut top = Top::new(ctx.top);
    all.into_values().for_each(|of| top.push(of.running, of));
    let count = top.count;
    let rows: Vec<Process> = top.finish();
    // Without switches, there is nothing to divide: a frame log has none. Without thread states, all of them count as voluntary.
    if rows
        .iter()
        .all(|of| of.involuntary == 0 && (of.voluntary == 0 || of.ready == Ns::ZERO && of.blocked == Ns::ZERO))
    {
        return Ok(());
    }
    page.heading(&format!("Switches and time: {}", count_of(rows.len(), count, "process")));
    page.paragraph(
        "voluntary: the thread waited for something, such as a lock, a timer or input. involuntary: it left its CPU while it could run, \
         because it was preempted or yielded. The times are sums over the threads.",
    );
    page.picture(switches(&rows));
    page.picture(times(&rows, ctx.session.summary().ready_known));
    let ready_known = ctx.session.summary().ready_known;
    let [ready_head, blocked_head, _] = heads(ready_known);
    let has_ready = ready_known || rows.iter().any(|of| of.ready > Ns::ZERO);
    let mut columns = vec![Column::text("process", 0), Column::numbers("pid", 2), Column::numbers("threads", 2)];
    let heads = [("voluntary", 0), ("involuntary", 0), ("switches per CPU s", 1), ("running ms", 0)];
    columns.extend(heads.map(|(head, rank)| Column::numbers(head, rank)));
    if has_ready {
        columns.push(Column::numbers(ready_head, 0));
    }
    columns.push(Column::numbers(blocked_head, 1));
    let has_unknown = rows.iter().any(|of| of.unknown > Ns::ZERO);
    if has_unknown {
        columns.push(Column::numbers("unknown ms", 1));
    }
    for of in &rows {
        let mut cells = vec![short(&of.name, 16), of.pid.map(|pid| pid.to_string()).unwrap_or_default()];
        cells.extend([of.threads, of.voluntary, of.involuntary].map(grouped));
        cells.extend([grouped(per_second(of.switches(), of.running)), ms(of.running)]);
        if has_ready {
            cells.push(ms(of.ready));
        }
        cells.push(ms(of.blocked));
        if has_unknown {
            cells.push(ms(of.unknown));
        }
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
    Ok(())
}

impl Process {
    fn switches(&self) -> i64 {
        self.voluntary.saturating_add(self.involuntary)
    }

    fn label(&self) -> String {
        self.pid.map_or_else(|| self.name.clone(), |pid| format!("{} {pid}", short(&self.name, 16)))
    }
}

fn per_second(count: i64, ns: Ns) -> i64 {
    let rate = i128::from(count) * i128::from(SECOND) / i128::from(ns.0.max(1));
    i64::try_from(rate).unwrap_or(i64::MAX)
}

fn switches(rows: &[Process]) -> Bars {
    let whole = rows.iter().map(Process::switches).max().unwrap_or(0);
    Bars {
        title: format!("Switch-outs by process (full width: {})", grouped(whole)),
        legend: [(Tone::Blue, "voluntary"), (Tone::Red, "involuntary")].map(|(tone, of)| (tone, of.to_owned())).into(),
        bars: rows
            .iter()
            .map(|of| {
                Bar::new(
                    of.label(),
                    format!("{} + {}", grouped(of.voluntary), grouped(of.involuntary)),
                    [of.voluntary, of.involuntary],
                    whole,
                )
            })
            .collect(),
    }
}

fn times(rows: &[Process], ready_known: bool) -> Bars {
    Bars {
        title: "Time split of the threads of each process (full width: their whole time)".to_owned(),
        legend: legend(ready_known),
        bars: rows
            .iter()
            .map(|of| {
                let parts = vec![of.running, of.ready, of.blocked, of.unknown];
                let whole = parts.iter().sum::<Ns>();
                Bar::new(of.label(), format!("running {} ms", ms(of.running)), parts, whole)
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_damaged_files_do_not_overflow() {
        assert_eq!(per_second(3, Ns(SECOND / 2)), 6);
        assert_eq!(per_second(i64::MAX, Ns::ZERO), i64::MAX);
    }
}
