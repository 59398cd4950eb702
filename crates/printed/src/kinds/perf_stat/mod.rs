//! Counts of `perf stat`: each printed ratio must follow from counts of the same run and interval.

mod lines;
mod measured;

pub(crate) use lines::lines;

use crate::limits::within_turbo;
use crate::running;
use crate::{CheckContext, Figure, Head, Kind, Measured, Pair, Rule, Sheet, StatementSink};
use analysis::capacity_used;
use analysis::plausible::{accesses, of_same_pmu, plain};
use std::collections::HashMap;

/// `unit` is that of the printed ratio.
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
    formula: "cpu-clock or task-clock / elapsed; for an interval without --span, within 5 %: perf divides by the requested interval \
              and prints when it ended",
};
const DIVISOR: Rule = Rule {
    id: "cpus_utilized_divisor",
    unit: "ms",
    formula: "cpu-clock / the printed CPUs utilized: the divisor that perf used, if that is not the elapsed time",
};
const IPC: Rule = Rule { id: "ipc", unit: "instructions/cycle", formula: "instructions / cycles" };
const CORE_IPC: Rule = Rule {
    id: "core_ipc",
    unit: "instructions/cycle",
    formula: "instructions / cycles of a whole core: with SMT on, times the number of siblings (from --machine, otherwise two), as \
              cycles are counted for each sibling",
};
const OVER: Rule =
    Rule { id: "count_ratio", unit: "ratio", formula: "a count of one run / the same count of another run" };
const CAPACITY: Rule = Rule {
    id: "capacity_with_one_thread_a_core",
    unit: "%",
    formula: "1 / SMT gain, where the gain is instructions with SMT on / off: the used capacity of cores that run one thread each",
};
const VALID_LINE: Rule = Rule { id: "line_understood", unit: "", formula: "each line of perf stat is a count" };

/// The difference allowed between the requested interval and the printed one.
const LATE: f64 = 0.05;

/// See [`Kind::doc`].
pub(crate) struct PerfStat;

/// The counts of one run and interval.
struct Run<'s> {
    name: String,
    rows: Vec<usize>,
    counts: HashMap<&'s str, Figure>,
    /// The CPU time in milliseconds.
    clock: Option<Figure>,
    /// The elapsed time in milliseconds.
    elapsed: Option<Figure>,
}

/// The runs and intervals of a table.
fn runs<'s>(sheet: &'s Sheet, ctx: &CheckContext<'_>) -> Vec<Run<'s>> {
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
            let span = ctx.request.span_s.map(|s| Figure::exact(s * 1e3));
            let printed = rows.first().and_then(|row| sheet.figure_alone(*row, "elapsed_s")).map(|s| s.scaled(1e3));
            let elapsed = span.or(printed).or_else(|| length(&ends, at));
            out.push(Run { name, rows: rows.clone(), counts, clock, elapsed });
        }
    }
    out
}

/// The length of an interval from the printed ends, in milliseconds. The first interval began with the measurement if its end is as
/// long after 0 as the second end is after the first; a table may begin with a later interval.
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

/// A count is exact; a clock is rounded.
fn count(sheet: &Sheet, row: usize) -> Option<Figure> {
    let value = sheet.figure_alone(row, "value")?;
    Some(if is_ms(sheet, row) { value } else { Figure::exact(value.value) })
}

fn is_ms(sheet: &Sheet, row: usize) -> bool {
    matches!(sheet.text(row, "unit"), "ms" | "msec")
}

impl Run<'_> {
    /// A count of the same PMU with the same modifier: `cpu_core/cycles/u` for `cpu_core/instructions/u`.
    fn of_same_pmu(&self, event: &str, other: &str) -> Option<Figure> {
        self.counts.get(of_same_pmu(event, other)?.as_str()).copied()
    }

    /// Instructions per cycle of each PMU, as counts of two core types are separate.
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

/// The smallest running share of the counts of a run in percent. Events of a core type's PMU cannot count while threads run on other
/// types, so their share is no sign of multiplexing.
fn least_share(sheet: &Sheet, rows: &[usize]) -> Option<Figure> {
    let of_all = |row: &&usize| measured::core_type(sheet.text(**row, "event")).is_none();
    let share = |row: &usize| sheet.figure_alone(*row, "running_pct");
    rows.iter().filter(of_all).filter_map(share).min_by(|a, b| a.value.total_cmp(&b.value))
}

/// Verifies that the counts of a run can be right.
fn are_possible(sheet: &Sheet, run: &Run<'_>, out: &mut StatementSink<'_>) {
    if let Some(share) = least_share(sheet, &run.rows) {
        running::exact(out, &run.name, share);
    }
    for row in &run.rows {
        let event = sheet.text(*row, "event");
        let (Some(count), "" | "count") = (count(sheet, *row), sheet.text(*row, "unit")) else { continue };
        let of = format!("{} {event}", run.name);
        running::whole(out, &of, count.value);
        if let Some(iterations) = sheet.count(*row, "iterations").filter(|n| n.value > 0.0) {
            running::per_iteration(out, &of, event, count, iterations);
        }
        if let Some(accesses) = accesses(event).and_then(|all| run.counts.get(all.as_str())) {
            running::misses(out, &of, count, *accesses);
        }
    }
}

impl Kind for PerfStat {
    fn id(&self) -> &'static str {
        "perf_stat"
    }

    fn doc(&self) -> &'static str {
        "output of perf stat, as text or with -x, of one run or of intervals (-I); also as a table: run, interval_end_s, event, \
         value, unit, printed_ratio, printed_ratio_unit, and iterations (of a loop that the counts cover)"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["run", "event", "value", "unit", "printed_ratio", "printed_ratio_unit"])
    }

    fn runs(&self, sheet: &Sheet, ctx: &CheckContext<'_>) -> Vec<String> {
        runs(sheet, ctx).into_iter().map(|r| r.name).collect()
    }

    fn measured(&self, sheet: &Sheet) -> Option<Vec<Measured>> {
        Some(measured::measured(sheet))
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let runs = runs(sheet, ctx);
        for run in &runs {
            for row in &run.rows {
                ratio(sheet, run, *row, ctx, out);
            }
            are_possible(sheet, run, out);
            for (of, ipc) in run.ipcs() {
                out.value(&IPC, of, ipc);
            }
        }
        let (compare, smt) = (&ctx.request.compare, &ctx.request.smt);
        for (pair, is_smt) in compare.iter().map(|p| (p, false)).chain(smt.iter().map(|p| (p, true))) {
            let Some(over) = runs.iter().find(|r| r.name == pair.over) else { continue };
            let others = ctx.of_kind("perf_stat").map(|s| self::runs(s, ctx));
            for under in others.flatten().filter(|r| r.name == pair.under) {
                against(over, &under, pair, is_smt, ctx, out);
            }
        }
    }
}

/// Recomputes the ratio that is printed with a count.
fn ratio(sheet: &Sheet, run: &Run<'_>, row: usize, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
    let event = sheet.text(row, "event");
    let of = format!("{} {event}", run.name);
    if sheet.text(row, "status") == "not_understood" {
        return out.not_evaluated(&VALID_LINE, of, "invalid line");
    }
    let (Some(count), Some(printed)) = (count(sheet, row), sheet.figure_alone(row, "printed_ratio")) else { return };
    let unit = sheet.text(row, "printed_ratio_unit");
    // A count per millisecond is a thousand per second.
    let per_ms = |rule, by: f64| (rule, run.clock.map(|ms| (count / ms).scaled(by)), "cpu-clock or task-clock");
    let (rule, computed, by) = match unit {
        "cpus" if is_ms(sheet, row) => (&CPUS, run.elapsed.map(|ms| count / ms), "elapsed time (--span sets it)"),
        "ipc" => (&PER_CYCLE, run.of_same_pmu(event, "cycles").map(|c| count / c), "cycles"),
        "ghz" => (&GHZ, run.clock.map(|ms| (count / ms).scaled(1e-6)), "cpu-clock or task-clock"),
        "pct" => {
            let all = accesses(event).and_then(|all| run.counts.get(all.as_str()).copied());
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
            out.equal(rule, &of, computed, printed);
            if rule == &CPUS && out.contradicted() {
                out.value(&DIVISOR, &of, (count / printed).value);
            }
        }
        None => out.not_evaluated(rule, &of, format!("this run has no {by}")),
    }
    if unit == "ghz" && ctx.has_limit() {
        within_turbo(ctx, out, &of, printed);
    }
}

/// Compares two runs.
fn against(
    over: &Run<'_>,
    under: &Run<'_>,
    pair: &Pair,
    is_smt: bool,
    ctx: &CheckContext<'_>,
    out: &mut StatementSink<'_>,
) {
    let of = format!("{}/{}", pair.over, pair.under);
    let mut events: Vec<(&&str, &Figure)> = over.counts.iter().collect();
    events.sort_unstable_by_key(|(event, _)| **event);
    for (event, count) in events {
        if let Some(base) = under.counts.get(event) {
            out.value(&OVER, format!("{of} {event}"), (*count / *base).value);
        }
    }
    if !is_smt {
        return;
    }
    let siblings = ctx.request.siblings.unwrap_or(2);
    for (run, threads) in [(over, siblings), (under, 1)] {
        for (of, ipc) in run.ipcs() {
            out.value(&CORE_IPC, of, ipc * threads as f64);
        }
    }
    if let (Some(on), Some(off)) = (over.counts.get("instructions"), under.counts.get("instructions")) {
        out.value(&CAPACITY, of, 100.0 * capacity_used(1, siblings, on.value / off.value));
    }
}
