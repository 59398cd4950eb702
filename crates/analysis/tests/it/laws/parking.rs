//! For each CPU, parked + unparked + unknown is the span, and its periods are those of the records. The number parked
//! at the same time equals a check of every CPU at every instant, as does that of each marked stretch.

use super::support::Analysed;
use super::support::parked::{changes, is_recorded, parked};
use super::{queues, support::text};
use model::{CoreType, CpuId, CpuState, Ns, Power, Span};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testkit::ByName;

/// All CPUs in the tables, and those with parking records within the span or before.
fn cpus(a: &Analysed) -> BTreeSet<CpuId> {
    let recorded = a.power.iter().filter(|c| c.at < a.span.end && matches!(c.to, Power::Parked(_))).map(|c| c.cpu);
    queues::cpus(a).into_iter().chain(recorded).collect()
}

/// The pieces of a span between parking records.
fn pieces(a: &Analysed, span: Span) -> Vec<Span> {
    let mut cuts: BTreeSet<Ns> = changes(a).filter(|at| *at > span.start && *at < span.end).collect();
    cuts.extend([span.start, span.end]);
    let cuts: Vec<Ns> = cuts.into_iter().collect();
    cuts.windows(2).map(|w| Span::new(w[0], w[1])).collect()
}

/// How many CPUs of a type, or of all, are parked at an instant, and how many are unknown. A CPU that is in the tables
/// only because of its record counts from that record on.
fn counts(a: &Analysed, of: Option<CoreType>, at: Ns) -> (i64, i64) {
    let known = queues::cpus(a);
    let cpus = cpus(a).into_iter().filter(|c| of.is_none_or(|of| a.machine.core_type(*c) == of));
    cpus.fold((0, 0), |(all, unknown), cpu| match parked(a, cpu, at) {
        Some(is) => (all + i64::from(is), unknown),
        None => (all, unknown + i64::from(known.contains(&cpu))),
    })
}

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    each_cpu(a)?;
    together(a)?;
    frames(a)
}

fn each_cpu(a: &Analysed) -> Result<(), TestCaseError> {
    let (table, cpus) = (&a.tables["parking"], cpus(a));
    prop_assert_eq!(table.rows.len(), cpus.len());
    for (row, cpu) in cpus.into_iter().enumerate() {
        let cell = |col: &str| table.int(row, col);
        prop_assert_eq!(cell("cpu"), Some(i64::from(cpu.0)));
        let mut times: BTreeMap<Option<bool>, i64> = BTreeMap::new();
        for piece in pieces(a, a.span) {
            *times.entry(parked(a, cpu, piece.start)).or_default() += piece.len().0;
        }
        let time = |of: Option<bool>| times.get(&of).copied().unwrap_or(0);
        let known = |ns: i64| Some(ns).filter(|_| time(None) < a.span.len().0);
        prop_assert_eq!(cell("parked_ns"), known(time(Some(true))), "of CPU {}", cpu.0);
        prop_assert_eq!(cell("unparked_ns"), known(time(Some(false))), "of CPU {}", cpu.0);
        prop_assert_eq!(cell("unknown_ns"), Some(time(None)), "of CPU {}", cpu.0);
        let sum = ["parked_ns", "unparked_ns", "unknown_ns"].iter().filter_map(|col| cell(col)).sum::<i64>();
        prop_assert_eq!(sum, a.span.len().0, "of CPU {}", cpu.0);
        let busy = a.cpus.iter().filter(|s| s.cpu == cpu && s.state == CpuState::Busy);
        let within = busy.filter_map(|s| s.span.overlap(a.span)).flat_map(|s| pieces(a, s));
        let busy = within.filter(|p| parked(a, cpu, p.start) == Some(true)).map(|p| p.len().0).sum();
        prop_assert_eq!(cell("busy_ns"), known(busy), "of CPU {}", cpu.0);
        // A period may be empty, between two records at one instant.
        let mut is = parked(a, cpu, Ns(a.span.start.0 - 1));
        let (mut periods, mut longest, mut since) = (0, Ns::ZERO, a.span.start);
        for change in a.power.iter().filter(|c| c.cpu == cpu && a.span.start <= c.at && c.at < a.span.end) {
            let Power::Parked(to) = change.to else { continue };
            if is == Some(true) && !to {
                longest = longest.max(change.at - since);
            } else if to && is != Some(true) {
                (periods, since) = (periods + 1, change.at);
            }
            is = Some(to);
        }
        if is == Some(true) {
            longest = longest.max(a.span.end - since);
        }
        prop_assert_eq!(cell("periods"), known(periods), "of CPU {}", cpu.0);
        prop_assert_eq!(cell("longest_ns"), known(longest.0), "of CPU {}", cpu.0);
    }
    Ok(())
}

fn together(a: &Analysed) -> Result<(), TestCaseError> {
    let mut expected: BTreeMap<(String, i64, i64), i64> = BTreeMap::new();
    let types: BTreeSet<CoreType> = cpus(a).into_iter().map(|c| a.machine.core_type(c)).collect();
    for piece in pieces(a, a.span).into_iter().filter(|_| !types.is_empty()) {
        for of in types.iter().copied().map(Some).chain([None]) {
            let (parked, unknown) = counts(a, of, piece.start);
            let name = of.map_or("-", CoreType::as_str).to_owned();
            *expected.entry((name, parked, unknown)).or_default() += piece.len().0;
        }
    }
    let table = &a.tables["parked_together"];
    let [of, parked, unknown, duration] = [0, 1, 2, 3].map(|at| move |row: &Vec<model::Value>| text(&row[at]));
    let int = |cell: String| cell.parse::<i64>().unwrap();
    let actual: BTreeMap<_, _> =
        table.rows.iter().map(|r| ((of(r), int(parked(r)), int(unknown(r))), int(duration(r)))).collect();
    prop_assert_eq!(&actual, &expected);
    let sum = |table: &str| a.ints(table, "parked_ns").into_iter().sum::<i64>();
    let all = actual.iter().filter(|((of, ..), _)| of == "-").map(|((_, parked, _), ns)| parked * ns).sum::<i64>();
    prop_assert_eq!(all, sum("parking"));
    Ok(())
}

/// Stretches marked from begin to end within the span, with the mean and the maximum number of parked CPUs.
fn frames(a: &Analysed) -> Result<(), TestCaseError> {
    let table = &a.tables["frames_parked"];
    let mut expected: BTreeMap<(String, i64, i64), (Vec<i64>, i64)> = BTreeMap::new();
    let stretches = &a.tables["mark_stretches"];
    for (row, cells) in stretches.rows.iter().enumerate().filter(|(_, cells)| text(&cells[5]) == "true") {
        let [start, end] = ["start_ns", "end_ns"].map(|col| Ns(stretches.int(row, col).unwrap()));
        if start == a.span.start && start > Ns::ZERO {
            // It may have begun before.
            return Ok(());
        }
        let took = (end - start).0;
        // A record at the instant of a mark comes after it.
        let (mut sums, mut max_parked) = ([0i64; 2], if took == 0 { counts(a, None, Ns(start.0 - 1)).0 } else { 0 });
        for piece in pieces(a, Span::new(start, end)).into_iter().filter(|piece| !piece.is_empty()) {
            let (parked, unknown) = counts(a, None, piece.start);
            sums = [sums[0] + parked * piece.len().0, sums[1] + unknown * piece.len().0];
            max_parked = max_parked.max(parked);
        }
        let mean = |sum: i64| if took == 0 { 0 } else { (2 * sum + took) / (2 * took) };
        let (times, highest) = expected.entry((text(&cells[2]), mean(sums[0]), mean(sums[1]))).or_default();
        times.push(took);
        *highest = (*highest).max(max_parked);
    }
    if !is_recorded(a) {
        prop_assert!(table.rows.is_empty());
        return Ok(());
    }
    prop_assert_eq!(table.rows.len(), expected.len());
    for (row, cells) in table.rows.iter().enumerate() {
        let cell = |col: &str| table.int(row, col).unwrap();
        let key = (text(&cells[0]), cell("parked"), cell("unknown"));
        let (mut times, max_parked) = expected.get(&key).cloned().unwrap_or_default();
        times.sort_unstable();
        let all = || expected.iter().filter(|((name, ..), _)| *name == key.0).flat_map(|(_, (times, _))| times);
        let mut of_name: Vec<i64> = all().copied().collect();
        of_name.sort_unstable();
        let budget = of_name[of_name.len().div_ceil(2) - 1];
        prop_assert_eq!(cell("frames"), times.len() as i64, "{:?}", key);
        prop_assert_eq!(cell("duration_ns"), times.iter().sum::<i64>(), "{:?}", key);
        prop_assert_eq!(cell("p95_ns"), times[(times.len() * 95).div_ceil(100) - 1], "{:?}", key);
        prop_assert_eq!(cell("longest_ns"), *times.last().unwrap(), "{:?}", key);
        prop_assert_eq!(cell("budget_ns"), budget, "{:?}", key);
        prop_assert_eq!(cell("over_budget"), times.iter().filter(|t| **t > budget).count() as i64, "{:?}", key);
        prop_assert_eq!(cell("max_parked"), max_parked, "{:?}", key);
    }
    Ok(())
}
