//! Counts of `perf stat`: each ratio that it prints is one of counts of its own row's run and interval.

mod lines;

pub(crate) use lines::lines;

use crate::limits::within_turbo;
use crate::{Figure, Given, Head, Kind, Pair, Rule, Sheet, Told};
use analysis::capacity_used;
use std::collections::HashMap;

/// The unit is that of the ratio which is printed.
const fn ratio_in(unit: &'static str) -> Rule {
    let formula = "instructions / cycles, misses / accesses, or cycles / clock: of counts of one run, interval and PMU";
    Rule { id: "ratio_of_own_counts", unit, formula }
}
const PER_CYCLE: Rule = ratio_in("instructions/cycle");
const GHZ: Rule = ratio_in("GHz");
const SHARE: Rule = ratio_in("%");

const fn rate_in(unit: &'static str) -> Rule {
    let formula = "count / cpu-clock or task-clock: of counts of one run and interval";
    Rule { id: "rate_of_own_counts", unit, formula }
}
const PER_S: Rule = rate_in("/s");
const THOUSAND_PER_S: Rule = rate_in("thousand/s");
const MILLION_PER_S: Rule = rate_in("million/s");
const BILLION_PER_S: Rule = rate_in("billion/s");

const CPUS: Rule = Rule {
    id: "cpus_utilized",
    unit: "CPUs",
    formula: "cpu-clock or task-clock / elapsed; of an interval without --span, within 5 %: perf divides by the interval asked \
              for, and prints when it ended",
};
const DIVISOR: Rule = Rule {
    id: "cpus_utilized_divisor",
    unit: "ms",
    formula: "cpu-clock / the CPUs utilized that are printed: what was divided by, where that is not the elapsed time",
};
const IPC: Rule = Rule { id: "ipc", unit: "instructions/cycle", formula: "instructions / cycles" };
const CORE_IPC: Rule = Rule {
    id: "core_ipc",
    unit: "instructions/cycle",
    formula: "instructions / cycles of a whole core: with SMT on, times the siblings (--machine says how many, else two), whose \
              cycles are counted for each",
};
const OVER: Rule =
    Rule { id: "count_ratio", unit: "ratio", formula: "a count of one run over the same count of another" };
const CAPACITY: Rule = Rule {
    id: "capacity_with_one_thread_a_core",
    unit: "%",
    formula: "1 / SMT gain, where the gain is instructions with SMT on over off: what is used of the cores while each runs one thread",
};
const UNREAD: Rule = Rule { id: "line_understood", unit: "", formula: "each line of perf stat is a count" };

/// How far the interval that perf was asked for may be from the one that it printed the end of.
const LATE: f64 = 0.05;

/// See [`Kind::doc`].
pub(crate) struct PerfStat;

/// What was counted in one run and interval.
struct Run<'s> {
    name: String,
    rows: Vec<usize>,
    counts: HashMap<&'s str, Figure>,
    /// CPU time in milliseconds.
    clock: Option<Figure>,
    /// In milliseconds too.
    elapsed: Option<Figure>,
}

/// The runs and intervals of a table.
fn runs<'s>(sheet: &'s Sheet, given: &Given<'_>) -> Vec<Run<'s>> {
    let mut out = Vec::new();
    for (run, rows) in sheet.groups("run") {
        let mut intervals = Vec::<(&str, Vec<usize>)>::new();
        for row in rows {
            let end = sheet.text(row, "interval_end_s");
            match intervals.last_mut().filter(|(before, _)| *before == end) {
                Some((_, rows)) => rows.push(row),
                None => intervals.push((end, vec![row])),
            }
        }
        let ends: Vec<Option<Figure>> = intervals.iter().map(|(end, _)| Figure::parse(end)).collect();
        let base = [sheet.name.as_str(), run].into_iter().rfind(|n| !n.is_empty()).unwrap_or_default();
        for (at, (end, rows)) in intervals.iter().enumerate() {
            let name = if intervals.len() > 1 { format!("{base} at {end} s") } else { base.to_owned() };
            let counted = rows.iter().filter_map(|row| Some((sheet.text(*row, "event"), count(sheet, *row)?)));
            let counts: HashMap<&str, Figure> = counted.collect();
            let clock = |name: &str| counts.iter().find(|(event, _)| plain(event) == name).map(|(_, ms)| *ms);
            let clock = clock("cpu-clock").or_else(|| clock("task-clock"));
            let said = given.asked.span_s.map(|s| Figure::exact(s * 1e3));
            let printed = rows.first().and_then(|row| sheet.figure_alone(*row, "elapsed_s")).map(|s| s.scaled(1e3));
            let elapsed = said.or(printed).or_else(|| length(&ends, at));
            out.push(Run { name, rows: rows.clone(), counts, clock, elapsed });
        }
    }
    out
}

/// How long an interval was by the ends that are printed, in milliseconds. The first began with the measurement, where it ended
/// after as long a time as there is between the two ends after it; a table may hold only later ones.
fn length(ends: &[Option<Figure>], at: usize) -> Option<Figure> {
    let between =
        |at: usize| Some((ends.get(at)?.as_ref()?.value - ends.get(at.checked_sub(1)?)?.as_ref()?.value) * 1e3);
    let ms = match at {
        0 => {
            let (first, next) = (ends.first()?.as_ref()?.value * 1e3, between(1)?);
            ((first - next).abs() <= LATE * next).then_some(first)?
        }
        _ => between(at)?,
    };
    (ms > 0.0).then_some(Figure { value: ms, rounding: LATE * ms })
}

/// A count is exact; a clock is printed rounded.
fn count(sheet: &Sheet, row: usize) -> Option<Figure> {
    let value = sheet.figure_alone(row, "value")?;
    Some(if is_ms(sheet, row) { value } else { Figure::exact(value.value) })
}

fn is_ms(sheet: &Sheet, row: usize) -> bool {
    matches!(sheet.text(row, "unit"), "ms" | "msec")
}

impl Run<'_> {
    /// Of the events of one PMU with one modifier: `cpu_core/cycles/u` for `cpu_core/instructions/u`.
    fn of_same_pmu(&self, event: &str, other: &str) -> Option<Figure> {
        let name = plain(event);
        let at = event.find(name)?;
        let wanted = format!("{}{other}{}", &event[..at], &event[at + name.len()..]);
        self.counts.get(wanted.as_str()).copied()
    }

    /// Instructions by cycles of each PMU: two types of cores have nothing in common.
    fn ipcs(&self) -> Vec<(String, f64)> {
        let instructions = self.counts.iter().filter(|(event, _)| plain(event) == "instructions");
        let ipc = |(event, count): (&&str, &Figure)| {
            let name = if *event == "instructions" { self.name.clone() } else { format!("{} {event}", self.name) };
            Some((name, (*count / self.of_same_pmu(event, "cycles")?).value))
        };
        let mut all: Vec<_> = instructions.filter_map(ipc).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

/// An event without its PMU and its modifier.
fn plain(event: &str) -> &str {
    match event.split_once('/') {
        Some((_, rest)) => rest.split_once('/').map_or(rest, |(name, _)| name),
        None => event.split_once(':').map_or(event, |(name, _)| name),
    }
}

/// What perf divides an event's count by for a share of it (util/stat-shadow.c).
fn accesses(event: &str) -> Option<String> {
    match event {
        "branch-misses" => Some("branches".to_owned()),
        "cache-misses" => Some("cache-references".to_owned()),
        _ => event.strip_suffix("-load-misses").map(|cache| format!("{cache}-loads")),
    }
}

impl Kind for PerfStat {
    fn id(&self) -> &'static str {
        "perf_stat"
    }

    fn doc(&self) -> &'static str {
        "what perf stat prints, for people or with -x, of one run or of intervals (-I); also as a table: run, interval_end_s, event, \
         value, unit, printed_ratio, printed_ratio_unit"
    }

    fn knows(&self, head: &Head) -> bool {
        head.has(&["run", "event", "value", "unit", "printed_ratio", "printed_ratio_unit"])
    }

    fn runs(&self, sheet: &Sheet, given: &Given<'_>) -> Vec<String> {
        runs(sheet, given).into_iter().map(|r| r.name).collect()
    }

    fn check(&self, sheet: &Sheet, given: &Given<'_>, told: &mut Told<'_>) {
        let runs = runs(sheet, given);
        for run in &runs {
            for row in &run.rows {
                ratio(sheet, run, *row, given, told);
            }
            for (of, ipc) in run.ipcs() {
                told.value(&IPC, of, ipc);
            }
        }
        let (compare, smt) = (&given.asked.compare, &given.asked.smt);
        for (pair, is_smt) in compare.iter().map(|p| (p, false)).chain(smt.iter().map(|p| (p, true))) {
            let Some(over) = runs.iter().find(|r| r.name == pair.over) else { continue };
            let others = given.of_kind("perf_stat").map(|s| self::runs(s, given));
            for under in others.flatten().filter(|r| r.name == pair.under) {
                against(over, &under, pair, is_smt, given, told);
            }
        }
    }
}

/// Recomputes the ratio that stands beside a count.
fn ratio(sheet: &Sheet, run: &Run<'_>, row: usize, given: &Given<'_>, told: &mut Told<'_>) {
    let event = sheet.text(row, "event");
    let of = format!("{} {event}", run.name);
    if sheet.text(row, "status") == "not_understood" {
        return told.cannot(&UNREAD, of, "the line is not understood");
    }
    let (Some(count), Some(printed)) = (count(sheet, row), sheet.figure_alone(row, "printed_ratio")) else { return };
    let unit = sheet.text(row, "printed_ratio_unit");
    // A count per millisecond is a thousand per second.
    let per_ms = |rule, by: f64| (rule, run.clock.map(|ms| (count / ms).scaled(by)), "cpu-clock or task-clock");
    let name = plain(event);
    let (rule, computed, by) = match unit {
        "cpus" if is_ms(sheet, row) => (&CPUS, run.elapsed.map(|ms| count / ms), "elapsed time: --span can tell it"),
        "ipc" => (&PER_CYCLE, run.of_same_pmu(event, "cycles").map(|c| count / c), "cycles"),
        "ghz" => (&GHZ, run.clock.map(|ms| (count / ms).scaled(1e-6)), "cpu-clock or task-clock"),
        "pct" => {
            let all = accesses(name).and_then(|all| run.of_same_pmu(event, &all));
            (&SHARE, all.map(|all| (count / all).scaled(100.0)), "count of the accesses")
        }
        "per_s" => per_ms(&PER_S, 1e3),
        "thousand_per_s" => per_ms(&THOUSAND_PER_S, 1.0),
        "million_per_s" => per_ms(&MILLION_PER_S, 1e-3),
        "billion_per_s" => per_ms(&BILLION_PER_S, 1e-6),
        _ => return,
    };
    match computed {
        Some(computed) => {
            told.equal(rule, &of, computed, printed);
            if rule == &CPUS && told.contradicted() {
                told.value(&DIVISOR, &of, (count / printed).value);
            }
        }
        None => told.cannot(rule, &of, format!("this run has no {by}")),
    }
    if unit == "ghz" && given.has_limit() {
        within_turbo(given, told, &of, printed);
    }
}

/// What follows from two runs, one over the other.
fn against(over: &Run<'_>, under: &Run<'_>, pair: &Pair, is_smt: bool, given: &Given<'_>, told: &mut Told<'_>) {
    let of = format!("{}/{}", pair.over, pair.under);
    let mut events: Vec<(&&str, &Figure)> = over.counts.iter().collect();
    events.sort_unstable_by_key(|(event, _)| **event);
    for (event, count) in events {
        if let Some(base) = under.counts.get(event) {
            told.value(&OVER, format!("{of} {event}"), (*count / *base).value);
        }
    }
    if !is_smt {
        return;
    }
    let siblings = given.asked.siblings.unwrap_or(2);
    for (run, threads) in [(over, siblings), (under, 1)] {
        for (of, ipc) in run.ipcs() {
            told.value(&CORE_IPC, of, ipc * threads as f64);
        }
    }
    if let (Some(on), Some(off)) = (over.counts.get("instructions"), under.counts.get("instructions")) {
        told.value(&CAPACITY, of, 100.0 * capacity_used(1, siblings, on.value / off.value));
    }
}
