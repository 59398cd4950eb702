//! Regions are found anew, mark by mark, and the cores that idled in their tails instant by instant.

use super::support::Analysed;
use super::support::instants::instants;
use model::{CoreType, CpuState, MarkEdge, Ns, Span, ThreadState};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Start, end, first arrival, threads, stretches, worked, waiting, waiting and running, ready of the last one; −1: not told.
type Region = [i64; 9];

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["parallel_regions"];
    let mut told: Vec<(String, Region)> = Vec::new();
    let instants = if table.rows.is_empty() { Vec::new() } else { instants(a) };
    for row in 0..table.rows.len() {
        let of = |col| table.int(row, col).unwrap();
        let cols = ["start_ns", "end_ns", "first_arrival_ns", "threads", "stretches", "worked_ns", "waiting_ns"];
        let [start, end, first, threads, stretches, worked, waiting] = cols.map(of);
        let [ran, ready] = ["waiting_running_ns", "last_ready_ns"].map(|col| table.int(row, col).unwrap_or(-1));
        prop_assert!(ran <= waiting);
        let region = [start, end, first, threads, stretches, worked, waiting, ran, ready];
        told.push((table.text(row, "name").unwrap().to_owned(), region));
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
        let told_idle = types.map(|t| table.int(row, &format!("idle_{t}_ns")).unwrap());
        prop_assert_eq!(told_idle, idle);
    }
    told.sort();
    prop_assert_eq!(told, regions(a));
    Ok(())
}

fn regions(a: &Analysed) -> Vec<(String, Region)> {
    // Who has that number then; nobody knows before its first stretch.
    let thread = |tid, at: Ns| {
        let lives = a.threads.iter().filter(|s| s.tid == tid && s.span.start <= at);
        lives.map(|s| s.thread.0).max().unwrap_or(-1)
    };
    let mut open: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    // By name: when each thread's part begins and ends, as long as one is open.
    let mut parts: BTreeMap<String, Vec<(i64, i64, Option<i64>)>> = BTreeMap::new();
    let mut regions = Vec::new();
    for m in a.marks.iter().filter(|m| m.at < a.span.end) {
        let (at, worker) = (m.at.max(a.span.start).0, thread(m.mark.tid, m.at));
        let stack = open.entry(worker).or_default();
        match m.mark.edge {
            MarkEdge::Begin => {
                let name = a.names[m.mark.name.0 as usize - 1].to_string();
                let parts = parts.entry(name.clone()).or_default();
                // Within one of the same name it is no part of its own.
                let within = stack.contains(&name);
                stack.push(name);
                if !within {
                    parts.push((worker, if m.at < a.span.start { -1 } else { at }, None));
                }
            }
            MarkEdge::End => {
                let Some(name) = stack.pop().filter(|name| !stack.contains(name)) else { continue };
                let of = parts.get_mut(&name).unwrap();
                of.iter_mut().find(|p| p.0 == worker && p.2.is_none()).unwrap().2 = Some(at);
                if of.iter().any(|p| p.2.is_none()) {
                    continue;
                }
                let of = parts.remove(&name).unwrap();
                // Of one worker the last part ends last.
                let arrivals: BTreeMap<i64, i64> = of.iter().map(|p| (p.0, p.2.unwrap())).collect();
                if arrivals.len() > 1 && of[0].1 >= 0 {
                    let first = *arrivals.values().min().unwrap();
                    let worked = of.iter().map(|p| p.2.unwrap() - p.1).sum();
                    let waiting = arrivals.values().map(|arrived| at - arrived).sum();
                    let counts = [arrivals.len() as i64, of.len() as i64];
                    let [mut ran, mut ready] = [0, i64::MAX];
                    for (worker, arrived) in &arrivals {
                        let begun = of.iter().find(|p| p.0 == *worker).unwrap().1;
                        ran += during(a, *worker, ThreadState::Running, *arrived, at);
                        if *arrived == at {
                            ready = ready.min(during(a, *worker, ThreadState::Ready, begun, at));
                        }
                    }
                    if !a.totals.ready_known {
                        ready = -1;
                    }
                    if arrivals.keys().any(|worker| *worker < 0) {
                        [ran, ready] = [-1, -1];
                    }
                    regions.push((name, [of[0].1, at, first, counts[0], counts[1], worked, waiting, ran, ready]));
                }
            }
            MarkEdge::Instant => {}
        }
    }
    regions.sort();
    regions
}

/// For how long a thread was in a state within a time.
fn during(a: &Analysed, thread: i64, state: ThreadState, from: i64, to: i64) -> i64 {
    let of = a.threads.iter().filter(|s| s.thread.0 == thread && s.state == state);
    of.filter_map(|s| s.span.overlap(Span::new(Ns(from), Ns(to)))).map(|s| s.len().0).sum()
}
