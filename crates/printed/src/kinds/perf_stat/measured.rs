//! The counts of each run of `perf stat`, for comparisons.

use crate::{Figure, Measured, Sheet};
use analysis::plausible::{ALL_RUNNING, MIN_RUNNING_SHARE as LEAST_RUNNING, accesses, plain};
use std::collections::BTreeMap;

/// Running shares of the core types that sum to 1 within this much show that each was counted on its own type, without multiplexing.
const ONE_TYPE_AT_A_TIME: f64 = 0.05;

/// One event, summed over intervals and CPUs.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// As printed: extrapolated by perf from the share.
    count: f64,
    /// The count without extrapolation.
    raw: f64,
    /// The least share of the time for which it was counted.
    share: f64,
    /// Whether the count is in milliseconds.
    is_ms: bool,
    /// Whether it was counted in every interval and on every CPU.
    is_complete: bool,
}

/// Whether a text is perf's name of a CPU, core or die (`-A`, `--per-core`), whose counts are parts of one run.
fn is_cpu(name: &str) -> bool {
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let part = |part: &str| {
        ["CPU", "S", "D", "C", "N", "L"].iter().any(|prefix| part.strip_prefix(prefix).is_some_and(number))
    };
    !name.is_empty() && name.split('-').all(part)
}

/// Returns the runs in a table; counts of CPUs and intervals are summed.
pub(crate) fn measured(sheet: &Sheet) -> Vec<Measured> {
    let groups = sheet.groups("run");
    if groups.iter().all(|(name, _)| is_cpu(name)) {
        let rows = groups.into_iter().flat_map(|(_, rows)| rows).collect();
        return vec![of_run(sheet, "", rows)];
    }
    let several = groups.len() > 1;
    let name = |name: &str| if several && name.is_empty() { "1".to_owned() } else { name.to_owned() };
    groups.into_iter().map(|(run, rows)| of_run(sheet, &name(run), rows)).collect()
}

fn of_run(sheet: &Sheet, name: &str, rows: Vec<usize>) -> Measured {
    let mut out = Measured::of(name);
    let mut events = BTreeMap::<&str, Event>::new();
    for row in &rows {
        match sheet.text(*row, "status") {
            "not_understood" => {
                out.lacks.push(format!("a line was not understood: {}", sheet.text(*row, "event")));
                continue;
            }
            "not_supported" => continue,
            _ => {}
        }
        let count = sheet.figure_alone(*row, "value").map(|f| f.value);
        let share = sheet.figure_alone(*row, "running_pct").map_or(1.0, |f| f.value / 100.0);
        let of = events.entry(sheet.text(*row, "event")).or_insert(Event {
            count: 0.0,
            raw: 0.0,
            share: 1.0,
            is_ms: matches!(sheet.text(*row, "unit"), "ms" | "msec"),
            is_complete: true,
        });
        of.is_complete &= count.is_some();
        let count = count.unwrap_or(0.0);
        (of.count, of.raw, of.share) = (of.count + count, of.raw + count * share, of.share.min(share));
    }
    counts(&events, &mut out);
    core_types(&events, &mut out);
    if out.get("elapsed").is_none() {
        out.set("elapsed", elapsed(sheet, &rows));
    }
    out.derive_from_counts();
    ratios(&mut out);
    out
}

/// Sets the counts of all events that can be used.
fn counts(events: &BTreeMap<&str, Event>, out: &mut Measured) {
    let mut multiplexed = Vec::new();
    for (name, event) in events {
        let of_type = core_type(name).is_some();
        if !event.is_complete {
            out.lacks.push(format!("{name} was not counted all the time"));
        } else if event.share < LEAST_RUNNING && !of_type {
            let share = 100.0 * event.share;
            let least = 100.0 * LEAST_RUNNING;
            out.lacks.push(format!(
                "{name} was counted for {share:.2} % of the time, which is too little for a comparison (at least {least} %)"
            ));
        } else if event.is_ms {
            // cpu-clock and task-clock; the first is preferred, as in perf's own ratios.
            let id = if matches!(plain(name), "cpu-clock" | "task-clock") { "cpu_ns" } else { *name };
            if out.get(id).is_none() || plain(name) == "cpu-clock" {
                out.set(id, Some(event.count * 1e6));
            }
        } else if plain(name) == "duration_time" {
            out.set("elapsed", Some(event.count));
        } else {
            // The count of a core type is what it counted there: it is never extrapolated to the time on other types.
            out.set(name, Some(if of_type { event.raw } else { event.count }));
            if event.share < ALL_RUNNING && !of_type {
                multiplexed.push(event.share);
            }
        }
    }
    let least = multiplexed.iter().copied().fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        out.set("running_share", Some(least));
        let most = multiplexed.iter().copied().fold(0.0, f64::max);
        out.lacks.push(format!(
            "{} of {} events were counted for only {:.0} to {:.0} % of the time and extrapolated by perf, so their counts have an \
             error that the table does not show",
            multiplexed.len(),
            events.len(),
            100.0 * least,
            100.0 * most,
        ));
    }
    if events.keys().any(|name| plain(name) == "cpu-clock") {
        out.lacks.push(
            "cpu-clock of a measurement of the whole system includes idle time: cycles per cpu-clock then is less than the frequency"
                .to_owned(),
        );
    }
}

/// The PMU of a core type in the name of an event: `cpu_core` in `cpu_core/cycles/`.
pub(super) fn core_type(event: &str) -> Option<&str> {
    event.split_once('/').map(|(pmu, _)| pmu).filter(|pmu| pmu.starts_with("cpu_"))
}

/// Sums the counts of core types, if each was counted for exactly the time on its type.
fn core_types(events: &BTreeMap<&str, Event>, out: &mut Measured) {
    let mut by_name = BTreeMap::<&str, Vec<(&str, Event)>>::new();
    for (name, event) in events {
        if core_type(name).is_some() && event.is_complete && has_no_modifier(name) {
            by_name.entry(plain(name)).or_default().push((name, *event));
        }
    }
    for (name, parts) in by_name {
        let shares: f64 = parts.iter().map(|(_, event)| event.share).sum();
        let all_the_time = parts.iter().all(|(_, event)| event.share >= ALL_RUNNING);
        if all_the_time || (shares - 1.0).abs() <= ONE_TYPE_AT_A_TIME {
            out.set(name, Some(parts.iter().map(|(_, event)| event.raw).sum()));
        } else {
            out.lacks.push(format!(
                "{name} of all core types is unknown: their counts cover {:.0} % of the time, so some were multiplexed",
                100.0 * shares
            ));
        }
    }
}

/// Whether an event counts in user mode and in the kernel.
fn has_no_modifier(event: &str) -> bool {
    event.rsplit(['/', ':']).next().is_none_or(|last| last.is_empty() || last == plain(event))
}

/// The elapsed time in ns: printed, or from the ends of two or more intervals of equal length.
fn elapsed(sheet: &Sheet, rows: &[usize]) -> Option<f64> {
    if let Some(printed) = rows.first().and_then(|row| sheet.figure_alone(*row, "elapsed_s")) {
        return Some(printed.value * 1e9);
    }
    let mut ends: Vec<Figure> = rows.iter().filter_map(|row| sheet.figure_alone(*row, "interval_end_s")).collect();
    ends.dedup_by(|a, b| a.value == b.value);
    let ends: Vec<Option<Figure>> = ends.into_iter().map(Some).collect();
    (0..ends.len()).map(|at| super::length(&ends, at).map(|ms| ms.value * 1e6)).sum()
}

/// Sets the share of misses, misses per 1,000 instructions, and rates of events that the kernel counts.
fn ratios(out: &mut Measured) {
    let names: Vec<String> = out.values.keys().cloned().collect();
    for name in names {
        if name == "instructions" || core_type(&name).is_some() {
            continue;
        }
        if let Some(all) = accesses(&name) {
            out.ratio(&format!("{name}.share"), &name, &all, 1.0);
        }
        if name.ends_with("-misses") {
            out.ratio(&format!("{name}.mpki"), &name, "instructions", 1e3);
        }
        if matches!(name.as_str(), "context-switches" | "cpu-migrations" | "page-faults") {
            out.ratio(&format!("{name}.per_cpu_s"), &name, "cpu_ns", 1e9);
        }
    }
}
