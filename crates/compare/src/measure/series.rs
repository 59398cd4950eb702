//! The units in which the program works: marked frames, periods and requests, each with its time.

use crate::Series;
use engine::{EngineError, Session};
use model::tables::{mark_stretches, periods, requests};
use model::{Ns, Row, Span, Table, TableType as _, ThreadKey};
use rustc_hash::FxHashMap;

/// With fewer intervals in a run, there is no distribution to compare.
const MIN_INTERVALS: usize = 20;
/// The series that are kept of a run, those with the longest total time; more would not be read.
const MAX_SERIES: usize = 24;

/// Series by name, with the thread that did the work.
type ByName = FxHashMap<(String, Option<ThreadKey>), Series>;

/// At most this many periods are kept as a table, for the choice of the objective; more are read again.
const MAX_KEPT: usize = 1 << 17;

/// Reads the marks, periods and requests of the program's threads in one pass, and the table of periods, if it is not too long. `name_of` returns a
/// thread's name, or `None` if it is not of the program.
pub(super) fn read<'a>(
    session: &Session,
    name_of: impl Fn(ThreadKey) -> Option<&'a str>,
) -> Result<(Vec<Series>, Option<Table>), EngineError> {
    let mut all = ByName::default();
    let mut kept = Table::new(periods::Table::DEF);
    let defs = [mark_stretches::Table::DEF, periods::Table::DEF, requests::Table::DEF];
    // Without wakeups, there are neither periods nor requests.
    let defs = if session.summary().ready_known { &defs[..] } else { &defs[..1] };
    session.drained_together(defs, None, &mut |table, cells| match table {
        0 => add_mark(&mut all, &Row::new(cells)),
        1 => {
            if kept.rows.len() <= MAX_KEPT {
                kept.rows.push(cells.to_vec());
            }
            add_period(&mut all, &Row::new(cells), &name_of);
        }
        _ => add_request(&mut all, &Row::new(cells), &name_of),
    })?;
    Ok((largest(all), (kept.rows.len() <= MAX_KEPT).then_some(kept)))
}

fn add_mark(all: &mut ByName, row: &Row<'_, mark_stretches::Table>) {
    let [start, end] = row.all([mark_stretches::START_NS, mark_stretches::END_NS]);
    if let (Some(name), true) = (row.get(mark_stretches::NAME), row.get(mark_stretches::ENDED)) {
        let entry = all.entry((format!("mark:{}", mark_kind(name)), None)).or_default();
        push(entry, start, end, (end - start).as_f64(), row.get(mark_stretches::THREAD));
    }
}

fn add_period<'a>(all: &mut ByName, row: &Row<'_, periods::Table>, name_of: &impl Fn(ThreadKey) -> Option<&'a str>) {
    let (thread, start, response) = row.all((periods::THREAD, periods::START_NS, periods::RESPONSE_NS));
    if let Some(name) = name_of(thread) {
        let entry = all.entry((format!("period:{name}"), Some(thread))).or_default();
        push(entry, start, start + response.max(Ns::ZERO), response.as_f64(), Some(thread));
    }
}

fn add_request<'a>(all: &mut ByName, row: &Row<'_, requests::Table>, name_of: &impl Fn(ThreadKey) -> Option<&'a str>) {
    let (thread, start, end, response) =
        row.all((requests::THREAD, requests::START_NS, requests::END_NS, requests::RESPONSE_NS));
    if let Some(name) = name_of(thread) {
        // Of a pool of threads that answer, all requests are of one kind.
        let entry = all.entry((format!("request:{}", model::pool_name(name)), None)).or_default();
        push(entry, start, end, response.as_f64(), Some(thread));
    }
}

fn push(series: &mut Series, start: Ns, end: Ns, ns: f64, thread: Option<ThreadKey>) {
    series.spans.push(Span { start, end: end.max(start) });
    series.ns.push(ns);
    series.threads.push(thread);
}

/// The kind of a mark: its name without a number at its end.
fn mark_kind(name: &str) -> String {
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if kind.len() < name.len() && !kind.is_empty() { format!("{kind}*") } else { name.to_owned() }
}

/// The series with enough intervals, in order of begin. Of several threads with one name, the one with the most periods.
fn largest(all: ByName) -> Vec<Series> {
    let mut best = FxHashMap::<String, Series>::default();
    for ((name, _), series) in all {
        if series.ns.len() >= MIN_INTERVALS && best.get(&name).is_none_or(|of| of.ns.len() < series.ns.len()) {
            best.insert(name.clone(), Series { name, ..series });
        }
    }
    let mut kept: Vec<Series> = best.into_values().map(in_order).collect();
    let total = |of: &Series| of.ns.iter().sum::<f64>();
    kept.sort_by(|a, b| total(b).total_cmp(&total(a)).then_with(|| a.name.cmp(&b.name)));
    kept.truncate(MAX_SERIES);
    kept
}

fn in_order(series: Series) -> Series {
    let mut order: Vec<usize> = (0..series.ns.len()).collect();
    order.sort_by_key(|at| (series.spans[*at].start, series.spans[*at].end));
    Series {
        spans: order.iter().map(|at| series.spans[*at]).collect(),
        ns: order.iter().map(|at| series.ns[*at]).collect(),
        threads: order.iter().map(|at| series.threads[*at]).collect(),
        title: title(&series.name),
        ..series
    }
}

/// What a series measures, for users.
pub(crate) fn title(name: &str) -> String {
    match name.split_once(':') {
        Some(("mark", of)) => format!("time of the mark {}", of.trim_end_matches('*')),
        Some(("period", of)) => format!("response time of the periodic thread {of}"),
        Some(("request", of)) => format!("time of the requests that {of} answers"),
        _ => "frame time".to_owned(),
    }
}
