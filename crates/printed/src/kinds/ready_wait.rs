//! Threads with the time that they ran, were ready and waited.

use super::thread_totals::{CPU, Totals};
use crate::sheet::Times;
use crate::{Figure, Given, Head, Kind, Rule, Sheet, Told};
use std::collections::HashMap;

const CONSERVED: Rule = Rule {
    id: "thread_time_is_span",
    unit: "ms",
    formula: "running + ready + waiting is the length of the trace for a thread that lives throughout, within the 1 % that may \
              lie before its first switch and after its last; without --span, it is that of most rows",
};
const ELSEWHERE: Rule = Rule {
    id: "same_thread_same_time",
    unit: "ms",
    formula: "a thread's CPU time is the same in two tables of one run",
};
const INVOLUNTARY: Rule = Rule {
    id: "involuntary_switches",
    unit: "count",
    formula: "switches − waits: those after which the thread stayed ready",
};
const LONGEST_WAIT: Rule = Rule { id: "longest_wait", unit: "ms", formula: "the longest wait" };
const CHANGE: Rule = Rule { id: "change", unit: "%", formula: "of one table over another, minus one" };

const READY: Times = &["ready"];
const WAIT: Times = &["wait"];
const LONGEST_READY: Times = &["max ready"];
const MAX_WAIT: Times = &["max wait"];
const TID: &[&str] = &["tid", "id thread", "thread"];
const SWITCHES: &[&str] = &["switches", "count"];
const WAITS: &[&str] = &["count wait"];

/// How much of a trace a thread that lives throughout may miss: before its first switch and after its last one.
const UNTOLD: f64 = 0.01;

/// See [`Kind::doc`].
pub(crate) struct ReadyWait;

impl Kind for ReadyWait {
    fn id(&self) -> &'static str {
        "ready_wait"
    }

    fn doc(&self) -> &'static str {
        "threads' times, as WPA prints them: tid (New Thread Id), cpu (CPU Usage), ready, wait (Waits), each with its unit (ms)"
    }

    fn knows(&self, head: &Head) -> bool {
        head.plain(TID).is_some() && [CPU, READY, WAIT].iter().all(|of| head.times(of).is_some())
    }

    fn check(&self, sheet: &Sheet, given: &Given<'_>, told: &mut Told<'_>) {
        let totals = Totals::new(given);
        let times = |row| Some([sheet.ms(row, CPU)?, sheet.ms(row, READY)?, sheet.ms(row, WAIT)?]);
        let sums: Vec<Option<Figure>> = (0..sheet.len()).map(|row| Some(times(row)?.into_iter().sum())).collect();
        let bases: Vec<(&Sheet, HashMap<String, usize>)> = given
            .beside(sheet)
            .map(|base| (base, (0..base.len()).map(|row| (name(base, row), row)).collect()))
            .collect();
        let length = length(&sums, given.asked.span_s.map(|s| s * 1e3));
        for (row, sum) in sums.iter().enumerate() {
            let of = name(sheet, row);
            match (sum, &length) {
                (None, _) => told.cannot(&CONSERVED, &of, "a time is no number"),
                (Some(_), Err(why)) => told.cannot(&CONSERVED, &of, *why),
                (Some(sum), Ok(whole)) if sum.value < whole * (1.0 - UNTOLD) => {
                    told.cannot(&CONSERVED, &of, "it is shorter than the trace: it may not have lived throughout");
                }
                (Some(sum), Ok(whole)) => told.within(&CONSERVED, &of, sum.value, *whole, whole * UNTOLD),
            }
            let (switches, waits) = (plain(sheet, row, SWITCHES), plain(sheet, row, WAITS));
            if let (Some(switches), Some(waits)) = (switches, waits) {
                told.value(&INVOLUNTARY, &of, switches - waits);
            }
            if let Some(longest) = sheet.ms(row, MAX_WAIT) {
                told.value(&LONGEST_WAIT, &of, longest.value);
            }
            let tid = sheet.head.plain(TID).map_or("", |at| sheet.cell(row, at));
            for (whole, at) in totals.of(tid) {
                if let (Some(there), Some(here)) = (whole.ms(at, CPU), sheet.ms(row, CPU)) {
                    told.equal(&ELSEWHERE, &of, there, here);
                }
            }
            for (base, rows) in &bases {
                match rows.get(&of) {
                    Some(other) => compare((sheet, row), (base, *other), &of, told),
                    None => told.cannot(&CHANGE, &of, format!("{} has no such row", base.name)),
                }
            }
        }
    }
}

/// What a row is of: the job it names, else the thread.
fn name(sheet: &Sheet, row: usize) -> String {
    let tid = sheet.head.plain(TID).map_or("", |at| sheet.cell(row, at));
    let job = sheet.text(row, "job");
    if job.is_empty() { tid.to_owned() } else { job.to_owned() }
}

fn plain(sheet: &Sheet, row: usize, of: &[&str]) -> Option<f64> {
    Some(Figure::parse(sheet.cell(row, sheet.head.plain(of)?))?.value)
}

/// A row's figures over those of another table's row.
fn compare((sheet, row): (&Sheet, usize), (base, other): (&Sheet, usize), of: &str, told: &mut Told<'_>) {
    let mut change = |what: &str, here: Option<f64>, there: Option<f64>| {
        if let (Some(here), Some(there)) = (here, there) {
            told.value(&CHANGE, format!("{of} {what}"), 100.0 * (here / there - 1.0));
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

/// How long the trace is: as the user says, else the median of the rows, where most are within what may be untold of it. It takes
/// four: of fewer nobody can say which is wrong.
fn length(sums: &[Option<Figure>], told: Option<f64>) -> Result<f64, &'static str> {
    if let Some(told) = told {
        return Ok(told);
    }
    let mut values: Vec<f64> = sums.iter().flatten().map(|f| f.value).collect();
    if values.len() < 4 {
        return Err("how long the trace is is not said (--span), and fewer than four rows tell");
    }
    values.sort_unstable_by(f64::total_cmp);
    let middle = values[(values.len() - 1) / 2];
    let near = values.iter().filter(|v| (**v - middle).abs() <= middle * UNTOLD).count();
    if near * 2 > values.len() {
        Ok(middle)
    } else {
        Err("how long the trace is is not said (--span), and the rows differ")
    }
}
