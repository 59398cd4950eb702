//! The units in which the program works: marked frames, periods and requests, each with its time.

use crate::Series;
use engine::{EngineError, Session};
use model::tables::{mark_stretches, periods, requests};
use model::{Ns, Row, Span, TableType as _};
use rustc_hash::FxHashMap;

/// With fewer intervals in a run, there is no distribution to compare.
const MIN_INTERVALS: usize = 20;
/// The series that are kept of a run, those with the longest total time; more would not be read.
const MAX_SERIES: usize = 24;

/// Series by name, with the thread that did the work.
type ByName = FxHashMap<(String, Option<i64>), Series>;

/// Reads the marks, periods and requests of the program's threads. `name_of` returns a thread's name, or `None` if it is not of the program.
pub(super) fn read<'a>(
    session: &Session,
    name_of: impl Fn(i64) -> Option<&'a str>,
) -> Result<Vec<Series>, EngineError> {
    let mut all = ByName::default();
    session.rows(mark_stretches::Table::DEF.name, &mut |rows| {
        for row in rows.iter().map(|row| Row::<mark_stretches::Table>::new(row)) {
            let [start, end] = row.all([mark_stretches::START_NS, mark_stretches::END_NS]);
            let thread = row.get(mark_stretches::THREAD);
            if let (Some(name), true) = (row.get(mark_stretches::NAME), row.get(mark_stretches::ENDED)) {
                let kind = mark_kind(name);
                let entry = all.entry((format!("mark:{kind}"), None)).or_default();
                push(entry, start, end, (end - start) as f64, thread);
            }
        }
        Ok(())
    })?;
    if session.summary().ready_known {
        session.rows(periods::Table::DEF.name, &mut |rows| {
            for row in rows.iter().map(|row| Row::<periods::Table>::new(row)) {
                let [thread, start, response] =
                    row.all([periods::THREAD, periods::START_NS, periods::RESPONSE_NS]);
                let Some(name) = name_of(thread) else { continue };
                let entry = all.entry((format!("period:{name}"), Some(thread))).or_default();
                push(entry, start, start.saturating_add(response.max(0)), response as f64, Some(thread));
            }
            Ok(())
        })?;
        session.rows(requests::Table::DEF.name, &mut |rows| {
            for row in rows.iter().map(|row| Row::<requests::Table>::new(row)) {
                let [thread, start, end, response] =
                    row.all([requests::THREAD, requests::START_NS, requests::END_NS, requests::RESPONSE_NS]);
                let Some(name) = name_of(thread) else { continue };
                // Of a pool of threads that answer, all requests are of one kind.
                let entry = all.entry((format!("request:{}", model::pool_name(name)), None)).or_default();
                push(entry, start, end, response as f64, Some(thread));
            }
            Ok(())
        })?;
    }
    Ok(largest(all))
}

fn push(series: &mut Series, start: i64, end: i64, ns: f64, thread: Option<i64>) {
    series.spans.push(Span { start: Ns(start), end: Ns(end.max(start)) });
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
