//! Threads with running, ready and waiting times.

use super::thread_totals::{CPU, Totals};
use crate::measured::put;
use crate::sheet::Times;
use crate::{CheckContext, Figure, Head, Kind, Measured, Rule, Sheet, StatementSink};
use std::collections::{BTreeMap, HashMap};

const CONSERVED: Rule = Rule {
    id: "thread_time_is_span",
    unit: "ms",
    formula: "running + ready + waiting equals the length of the trace for a thread that exists throughout, within the 1 % that may \
              be missing before its first switch and after its last; without --span, the length is that of most rows",
};
const ELSEWHERE: Rule =
    Rule { id: "same_thread_same_time", unit: "ms", formula: "a thread's CPU time is equal in two tables of one run" };
const INVOLUNTARY: Rule = Rule {
    id: "involuntary_switches",
    unit: "count",
    formula: "switches − waits: switch-outs after which the thread stayed ready",
};
const LONGEST_WAIT: Rule = Rule { id: "longest_wait", unit: "ms", formula: "the longest wait" };
const CHANGE: Rule = Rule { id: "change", unit: "%", formula: "one table / another table, minus one" };

const READY: Times = &["ready"];
const WAIT: Times = &["wait"];
const LONGEST_READY: Times = &["max ready"];
const MAX_WAIT: Times = &["max wait"];
const NAME: &[&str] = &["name thread", "name"];
const TID: &[&str] = &["tid", "id thread", "thread"];
const SWITCHES: &[&str] = &["switches", "count"];
const WAITS: &[&str] = &["count wait"];

/// The share of a trace that may be missing for a thread that exists throughout: before its first switch and after its last.
const MISSING: f64 = 0.01;

/// See [`Kind::doc`].
pub(crate) struct ReadyWait;

impl Kind for ReadyWait {
    fn id(&self) -> &'static str {
        "ready_wait"
    }

    fn doc(&self) -> &'static str {
        "threads' times, as printed by WPA: tid (New Thread Id), cpu (CPU Usage), ready, wait (Waits), each with its unit (ms)"
    }

    fn matches(&self, head: &Head) -> bool {
        head.plain(TID).is_some() && [CPU, READY, WAIT].iter().all(|of| head.times(of).is_some())
    }

    fn measured(&self, sheet: &Sheet) -> Option<Vec<Measured>> {
        let mut out = Measured::of("");
        let mut roles = BTreeMap::<&str, Vec<usize>>::new();
        for row in (0..sheet.len()).filter(|row| !role(sheet, *row).is_empty()) {
            roles.entry(role(sheet, row)).or_default().push(row);
        }
        out.rows = roles.iter().map(|(role, rows)| ((*role).to_owned(), values(sheet, rows))).collect();
        out.lacks.push("the table lists threads, not the whole program".to_owned());
        if sheet.head.at("job").is_none() && sheet.head.plain(NAME).is_none() {
            out.lacks.push(
                "threads have no names: only equal TIDs are compared; add a column job with their names".to_owned(),
            );
        }
        Some(vec![out])
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let totals = Totals::new(ctx);
        let times = |row| Some([sheet.ms(row, CPU)?, sheet.ms(row, READY)?, sheet.ms(row, WAIT)?]);
        let sums: Vec<Option<Figure>> = (0..sheet.len()).map(|row| Some(times(row)?.into_iter().sum())).collect();
        let bases: Vec<(&Sheet, HashMap<String, usize>)> = ctx
            .compared_with(sheet)
            .map(|base| (base, (0..base.len()).map(|row| (name(base, row), row)).collect()))
            .collect();
        let length = length(&sums, ctx.request.span_s.map(|s| s * 1e3));
        for (row, sum) in sums.iter().enumerate() {
            let of = name(sheet, row);
            match (sum, &length) {
                (None, _) => out.not_evaluated(&CONSERVED, &of, "a time is not a number"),
                (Some(_), Err(why)) => out.not_evaluated(&CONSERVED, &of, *why),
                (Some(sum), Ok(whole)) if sum.value < whole * (1.0 - MISSING) => {
                    out.not_evaluated(&CONSERVED, &of, "shorter than the trace: the thread may not exist throughout");
                }
                (Some(sum), Ok(whole)) => out.within(&CONSERVED, &of, sum.value, *whole, whole * MISSING),
            }
            let (switches, waits) = (plain(sheet, row, SWITCHES), plain(sheet, row, WAITS));
            if let (Some(switches), Some(waits)) = (switches, waits) {
                out.value(&INVOLUNTARY, &of, switches - waits);
            }
            if let Some(longest) = sheet.ms(row, MAX_WAIT) {
                out.value(&LONGEST_WAIT, &of, longest.value);
            }
            let tid = sheet.head.plain(TID).map_or("", |at| sheet.cell(row, at));
            for (whole, at) in totals.of(tid) {
                if let (Some(there), Some(here)) = (whole.ms(at, CPU), sheet.ms(row, CPU)) {
                    out.equal(&ELSEWHERE, &of, there, here);
                }
            }
            for (base, rows) in &bases {
                match rows.get(&of) {
                    Some(other) => compare((sheet, row), (base, *other), &of, out),
                    None => out.not_evaluated(&CHANGE, &of, format!("{} has no such row", base.name)),
                }
            }
        }
    }
}

/// The name of a row: its job, otherwise the thread.
fn name(sheet: &Sheet, row: usize) -> String {
    let tid = sheet.head.plain(TID).map_or("", |at| sheet.cell(row, at));
    let job = sheet.text(row, "job");
    if job.is_empty() { tid.to_owned() } else { job.to_owned() }
}

/// The name by which two tables are compared: the job, otherwise the name of the thread, otherwise its TID. Empty for rows of
/// processes and CPUs, which have no TID.
fn role(sheet: &Sheet, row: usize) -> &str {
    let of = |columns| sheet.head.plain(columns).map_or("", |at| sheet.cell(row, at));
    let names = [sheet.text(row, "job"), of(NAME), of(TID)];
    if of(TID).is_empty() { "" } else { names.into_iter().find(|n| !n.is_empty()).unwrap_or_default() }
}

/// The values of all threads with one name: sums of times and counts, and the largest of the longest times.
fn values(sheet: &Sheet, rows: &[usize]) -> BTreeMap<String, f64> {
    let ns = |row: usize, of| sheet.ms(row, of).map(|ms| ms.value * 1e6);
    let sum = |of: &dyn Fn(usize) -> Option<f64>| rows.iter().map(|row| of(*row)).sum::<Option<f64>>();
    let max = |of: Times| {
        let all = rows.iter().map(|row| ns(*row, of)).collect::<Option<Vec<f64>>>();
        all.map(|all| all.into_iter().fold(f64::NEG_INFINITY, f64::max))
    };
    let (running, ready) = (sum(&|row| ns(row, CPU)), sum(&|row| ns(row, READY)));
    let switches = sum(&|row| plain(sheet, row, SWITCHES));
    let waits = sum(&|row| plain(sheet, row, WAITS));
    let involuntary = switches.zip(waits).map(|(switches, waits)| switches - waits);
    let mut out = BTreeMap::new();
    for (id, value) in [
        ("threads", Some(rows.len() as f64)),
        ("running_ns", running),
        ("ready_ns", ready),
        ("blocked_ns", sum(&|row| ns(row, WAIT))),
        ("switches", switches),
        ("voluntary", waits),
        ("involuntary", involuntary),
        ("max_ready_ns", max(LONGEST_READY)),
        ("max_blocked_ns", max(MAX_WAIT)),
        ("ready_share", ready.zip(running).map(|(ready, running)| ready / (ready + running))),
        ("involuntary_share", involuntary.zip(switches).map(|(part, all)| part / all)),
    ] {
        put(&mut out, id, value);
    }
    out
}

fn plain(sheet: &Sheet, row: usize, of: &[&str]) -> Option<f64> {
    Some(Figure::parse(sheet.cell(row, sheet.head.plain(of)?))?.value)
}

/// Compares the figures of a row with those of another table's row.
fn compare((sheet, row): (&Sheet, usize), (base, other): (&Sheet, usize), of: &str, out: &mut StatementSink<'_>) {
    let mut change = |what: &str, here: Option<f64>, there: Option<f64>| {
        if let (Some(here), Some(there)) = (here, there) {
            out.value(&CHANGE, format!("{of} {what}"), 100.0 * (here / there - 1.0));
        }
    };
    let ms = |sheet: &Sheet, row, times| sheet.ms(row, times).map(|f| f.value);
    for (what, times) in
        [("cpu", CPU), ("ready", READY), ("wait", WAIT), ("max_ready", LONGEST_READY), ("max_wait", MAX_WAIT)]
    {
        change(what, ms(sheet, row, times), ms(base, other, times));
    }
    for (what, counts) in [("switches", SWITCHES), ("waits", WAITS)] {
        change(what, plain(sheet, row, counts), plain(base, other, counts));
    }
}

/// The length of the trace: set by the user, otherwise the median of the rows if most are within the tolerance of it. This requires
/// four rows: with fewer it is unknown which one is wrong.
fn length(sums: &[Option<Figure>], span_ms: Option<f64>) -> Result<f64, &'static str> {
    if let Some(span_ms) = span_ms {
        return Ok(span_ms);
    }
    let mut values: Vec<f64> = sums.iter().flatten().map(|f| f.value).collect();
    if values.len() < 4 {
        return Err("the length of the trace is unknown: set --span, or add rows (at least four)");
    }
    values.sort_unstable_by(f64::total_cmp);
    let middle = values[(values.len() - 1) / 2];
    let close = values.iter().filter(|v| (**v - middle).abs() <= middle * MISSING).count();
    if close * 2 > values.len() {
        Ok(middle)
    } else {
        Err("the length of the trace is unknown: set --span, as the rows differ")
    }
}
