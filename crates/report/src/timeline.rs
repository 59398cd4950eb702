//! CPUs over time, as a picture with a fixed number of intervals.

use crate::sections::Findings;
use engine::{EngineError, Session};
use model::tables::{self, cpu_state, cpus};
use model::{CpuId, Ns, Span};
use page::{Lane, Page, Timeline};
use std::collections::BTreeMap;

/// The number of intervals.
const PARTS: usize = 200;
/// If there are more CPUs, they share lanes.
const MAX_LANES: usize = 64;

/// A lane being filled: busy and unknown nanoseconds in each interval.
type Parts = Vec<[i64; 2]>;

/// Draws how busy each CPU was from begin to end.
pub fn write(page: &mut Page, session: &Session, findings: &Findings<'_>) -> Result<(), EngineError> {
    if let Some(timeline) = cpus(session)? {
        page.heading("Timeline");
        page.picture(Timeline { ranges: findings.ranges(), ..timeline });
    }
    Ok(())
}

/// How busy each CPU was from begin to end, without ranges; `None` if there are no CPUs. All of their stretches are read.
///
/// # Errors
/// The trace cannot be read.
pub fn cpus(session: &Session) -> Result<Option<Timeline>, EngineError> {
    let whole = Span { start: Ns::ZERO, end: Ns(session.summary().span_ns) };
    let Span { start: Ns(begin), end: Ns(end) } = session.range().unwrap_or(whole);
    let span = end - begin;
    let cpus = session.table(tables::CPUS.name)?;
    // Fast cores first, then by number.
    let mut order: Vec<(u32, i64)> = cpus
        .rows_of(cpus::Table)
        .map(|row| {
            let cpu = row.get(cpus::CPU);
            (u32::try_from(cpu).map_or(0, |id| session.machine().core_class(CpuId(id))), cpu)
        })
        .collect();
    order.sort_by_key(|(class, cpu)| (std::cmp::Reverse(*class), *cpu));
    if span <= 0 || order.is_empty() {
        return Ok(None);
    }
    let of_lane = order.len().div_ceil(MAX_LANES);
    let lanes: Vec<Vec<i64>> = order.chunks(of_lane).map(|all| all.iter().map(|(_, cpu)| *cpu).collect()).collect();
    let lane_of: BTreeMap<i64, usize> =
        lanes.iter().enumerate().flat_map(|(at, cpus)| cpus.iter().map(move |cpu| (*cpu, at))).collect();
    let cut = Cut { span };
    let mut filled: Vec<Parts> = vec![vec![[0; 2]; PARTS]; lanes.len()];
    session.each(cpu_state::Table, |row| {
        let (cpu, start, end) = row.all((cpu_state::CPU, cpu_state::START_NS, cpu_state::END_NS));
        if let (Some(kind), Some(lane)) = (kind(row.get(cpu_state::STATE)), lane_of.get(&cpu)) {
            cut.each(start.0.saturating_sub(begin), end.0.saturating_sub(begin), |part, ns| {
                let sum = &mut filled[*lane][part][kind];
                *sum = sum.saturating_add(ns);
            });
        }
    })?;
    Ok(Some(Timeline {
        title: "CPU utilisation over time".to_owned(),
        lanes: lanes.iter().zip(&filled).map(|(cpus, parts)| lane(session, cpus, parts, &cut)).collect(),
        begin_ns: begin,
        span_ns: span,
        ranges: Vec::new(),
    }))
}

fn lane(session: &Session, cpus: &[i64], parts: &Parts, cut: &Cut) -> Lane {
    let machine = session.machine();
    let type_of = |cpu: &i64| u32::try_from(*cpu).map_or("", |id| machine.core_type(CpuId(id)).as_str());
    let several = machine.class_names.len() > 1 && cpus.iter().all(|cpu| type_of(cpu) == type_of(&cpus[0]));
    let core_type = if several { type_of(&cpus[0]).replace('_', " ") } else { String::new() };
    let label = match cpus {
        [one] => format!("CPU {one}"),
        [first, .., last] => format!("CPU {first} … {last}"),
        [] => String::new(),
    };
    let cells = parts.iter().enumerate().map(|(part, [busy, unknown])| {
        let whole = cut.length(part).max(1) as f64 * cpus.len() as f64;
        (*busy as f64 / whole, *unknown as f64 / whole)
    });
    Lane { label, core_type, cells: cells.collect() }
}

/// The index of a state: 0 busy, 1 unknown; the rest is idle.
fn kind(state: &str) -> Option<usize> {
    match state {
        "busy" => Some(0),
        "unknown" => Some(1),
        _ => None,
    }
}

/// The time, divided into intervals whose lengths differ by at most a nanosecond.
struct Cut {
    span: i64,
}

impl Cut {
    /// The begin of an interval.
    fn begin(&self, part: usize) -> i64 {
        // It is at most the span, so it fits.
        (i128::from(self.span) * part as i128 / PARTS as i128) as i64
    }

    fn length(&self, part: usize) -> i64 {
        self.begin(part + 1) - self.begin(part)
    }

    /// Calls `add` with the part of a stretch in each interval.
    fn each(&self, start: i64, end: i64, mut add: impl FnMut(usize, i64)) {
        let (start, end) = (start.clamp(0, self.span), end.clamp(0, self.span));
        let mut part = (i128::from(start) * PARTS as i128 / i128::from(self.span)) as usize;
        while part < PARTS && self.begin(part) < end {
            let ns = end.min(self.begin(part + 1)) - start.max(self.begin(part));
            if ns > 0 {
                add(part, ns);
            }
            part += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_divided_completely() {
        for span in [1, 7, 199, 200, 201, 1_000_003, i64::MAX] {
            let cut = Cut { span };
            assert_eq!((0..PARTS).map(|part| cut.length(part)).sum::<i64>(), span);
            for (start, end) in [(0, span), (span / 3, span / 2), (span / 7, span / 7 + 1), (-5, 1), (span, span)] {
                let mut sum = 0;
                cut.each(start, end, |part, ns| {
                    assert!(ns <= cut.length(part), "{span} {start} {end}");
                    sum += ns;
                });
                assert_eq!(sum, end.min(span) - start.max(0), "{span} {start} {end}");
            }
        }
    }
}
