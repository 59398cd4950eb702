//! Regions are found independently, mark by mark, and the idle cores in their tails instant by instant.

use super::support::Analysed;
use super::support::instants::instants;
use model::{CoreType, CpuState, MarkEdge, Ns, Span, ThreadState};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testkit::ByName;

/// Start, end, first arrival, threads, stretches, worked, waiting, waiting and running, ready of the last one; −1:
/// unknown.
type Region = [i64; 9];

/// A worker's stretch: its begin (−1: before all), its end, and the indices of these marks.
type Part = (i64, i64, Option<i64>, [usize; 2]);

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["parallel_regions"];
    let mut actual: Vec<(String, Region)> = Vec::new();
    let instants = if table.rows.is_empty() { Vec::new() } else { instants(a) };
    for row in 0..table.rows.len() {
        let of = |col| table.int(row, col).unwrap();
        let cols = ["start_ns", "end_ns", "first_arrival_ns", "threads", "stretches", "worked_ns", "waiting_ns"];
        let [start, end, first, threads, stretches, worked, waiting] = cols.map(of);
        let (ran, ready) = (of("waiting_running_ns"), table.int(row, "last_ready_ns").unwrap_or(-1));
        prop_assert!(ran <= waiting);
        let region = [start, end, first, threads, stretches, worked, waiting, ran, ready];
        actual.push((table.text(row, "name").unwrap().to_owned(), region));
        let (first, end, tail) = (of("first_arrival_ns"), of("end_ns"), of("tail_ns"));
        prop_assert_eq!(tail, end - first);
        let (from, to, alike) = (of("recoverable_from_ns"), of("recoverable_to_ns"), of("waiting_ns") / of("threads"));
        prop_assert!(0 <= from && from <= alike + 1 && alike <= to && to <= tail, "{from} {alike} {to} {tail}");
        prop_assert!(of("slowest_ns") >= of("worked_ns"));
        let mut idle = [0; 6];
        for instant in &instants {
            let within = (instant.from.0 + instant.ns).min(end) - instant.from.0.max(first);
            for core in instant.cores.iter().filter(|_| within > 0) {
                let types = [CoreType::Performance, CoreType::Middle, CoreType::Efficient, CoreType::LowPower];
                let of_type = types.iter().position(|t| *t == core.core_type).unwrap_or(4);
                match (core.count(CpuState::Unknown), core.count(CpuState::Busy)) {
                    (0, 0) => idle[of_type] += within,
                    (0, _) => {}
                    _ => idle[5] += within,
                }
            }
        }
        let types = ["performance", "middle", "efficient", "low_power", "uniform", "unknown"];
        let actual_idle = types.map(|t| table.int(row, &format!("idle_{t}_ns")).unwrap());
        prop_assert_eq!(actual_idle, idle);
    }
    actual.sort();
    prop_assert_eq!(actual, regions(a));
    Ok(())
}

fn regions(a: &Analysed) -> Vec<(String, Region)> {
    // The thread that has the TID then; unknown before its first stretch.
    let thread = |tid, at: Ns| {
        let instances = a.threads.iter().filter(|s| s.tid == tid && s.span.start <= at);
        instances.map(|s| s.thread.0).max().unwrap_or(-1)
    };
    let mut open: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    // By name: when each thread's part begins and ends, until no late worker can join.
    let mut parts: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    let mut regions = Vec::new();
    for (order, m) in a.marks.iter().enumerate().filter(|(_, m)| m.at < a.span.start || a.has(m.at)) {
        let (at, worker) = (m.at.max(a.span.start).0, thread(m.mark.tid, m.at));
        if worker < 0 {
            continue;
        }
        let stack = open.entry(worker).or_default();
        match m.mark.edge {
            MarkEdge::Begin => {
                let name = a.names[m.mark.name.0 as usize - 1].to_string();
                let of = parts.entry(name.clone()).or_default();
                // A stretch within one of the same name is not a part of its own.
                let within = stack.contains(&name);
                stack.push(name.clone());
                if within {
                    continue;
                }
                if !of.is_empty() && of.iter().all(|p| p.2.is_some()) && !is_late(a, of, worker, at) {
                    regions.extend(region(a, &name, &std::mem::take(of)));
                }
                of.push((worker, if m.at < a.span.start { -1 } else { at }, None, [order; 2]));
            }
            MarkEdge::End => {
                let Some(name) = stack.pop().filter(|name| !stack.contains(name)) else { continue };
                let of = parts.get_mut(&name).unwrap();
                let part = of.iter_mut().find(|p| p.0 == worker && p.2.is_none()).unwrap();
                (part.2, part.3[1]) = (Some(at), order);
            }
            MarkEdge::Instant => {}
        }
    }
    let all_over = parts.iter().filter(|(_, of)| of.iter().all(|p| p.2.is_some()));
    regions.extend(all_over.filter_map(|(name, of)| region(a, name, of)));
    regions.sort();
    regions
}

/// Whether a worker that begins then belongs to the region of these completed parts: it was ready when they ended, and
/// had been for half of the region.
fn is_late(a: &Analysed, of: &[Part], worker: i64, at: i64) -> bool {
    let (start, end) = (of[0].1.max(a.span.start.0), of.iter().map(|p| p.2.unwrap()).max().unwrap());
    let (from, to) = was_ready(a, worker, at);
    of.iter().all(|p| p.0 != worker)
        && to > end
        && at - end <= 1_000_000_000
        && 2 * (end - from.max(start)) >= end - start
}

fn region(a: &Analysed, name: &str, of: &[Part]) -> Option<(String, Region)> {
    // The last part of a worker ends last.
    let arrivals: BTreeMap<i64, i64> = of.iter().map(|p| (p.0, p.2.unwrap())).collect();
    if arrivals.len() < 2 || of[0].1 < 0 {
        return None;
    }
    let (first, end) = (*arrivals.values().min().unwrap(), *arrivals.values().max().unwrap());
    let worked = of.iter().map(|p| p.2.unwrap() - p.1).sum();
    let waiting = arrivals.values().map(|arrived| end - arrived).sum();
    let counts = [arrivals.len() as i64, of.len() as i64];
    // Since when at least one worker that had begun always had no open part.
    let mut edges: Vec<_> =
        of.iter().flat_map(|p| [(p.3[0], p.0, true, p.1), (p.3[1], p.0, false, p.2.unwrap())]).collect();
    edges.sort();
    let (mut idle, mut waits, mut begun) = (BTreeSet::new(), 0, BTreeMap::new());
    for (_, worker, begins, at) in edges {
        if begins {
            begun.entry(worker).or_insert((at, if idle.is_empty() { at } else { waits }));
            idle.remove(&worker);
        } else {
            waits = if idle.is_empty() { at } else { waits };
            idle.insert(worker);
        }
    }
    let [mut ran, mut ready] = [0, i64::MAX];
    for (worker, arrived) in &arrivals {
        ran += during(a, *worker, ThreadState::Running, *arrived, end);
        if *arrived == end {
            // Ready time counts back without a gap, if others waited.
            let (begun, waits) = begun[worker];
            let (from, to) = was_ready(a, *worker, begun);
            ready = ready.min((to - from.max(waits)).max(0) + during(a, *worker, ThreadState::Ready, begun, end));
        }
    }
    if !a.totals.ready_known {
        ready = -1;
    }
    if arrivals.keys().any(|worker| *worker < 0) {
        [ran, ready] = [-1, -1];
    }
    Some((name.to_owned(), [of[0].1, end, first, counts[0], counts[1], worked, waiting, ran, ready]))
}

/// Returns the last time up to a time in which a thread was ready without a gap.
fn was_ready(a: &Analysed, thread: i64, at: i64) -> (i64, i64) {
    let of = a.threads.iter().filter(|s| s.thread.0 == thread && s.state == ThreadState::Ready);
    let mut of: Vec<Span> = of.filter_map(|s| s.span.overlap(Span::new(a.span.start, Ns(at)))).collect();
    of.sort_by_key(|span| (span.start, span.end));
    let Some(last) = of.pop() else { return (0, 0) };
    let start = of.iter().rev().fold(last.start, |start, span| if span.end == start { span.start } else { start });
    (start.0, last.end.0)
}

/// Returns how long a thread was in a state within a period.
fn during(a: &Analysed, thread: i64, state: ThreadState, from: i64, to: i64) -> i64 {
    let of = a.threads.iter().filter(|s| s.thread.0 == thread && s.state == state);
    of.filter_map(|s| s.span.overlap(Span::new(Ns(from), Ns(to)))).map(|s| s.len().0).sum()
}
