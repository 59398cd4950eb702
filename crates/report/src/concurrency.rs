//! Concurrency: how many CPUs ran threads at the same time.

use crate::context::add;
use crate::words::{ms, percent, plural, share};
use engine::Session;
use model::tables::concurrency;
use model::{Ns, Table};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::collections::BTreeMap;

/// If there are more rows, they are joined.
const MAX_ROWS: usize = 16;
const BAR: i64 = 30;

/// Writes for how long each number of CPUs ran threads.
pub fn write(page: &mut Page, session: &Session, table: &Table) {
    let mut running: BTreeMap<i64, Ns> = BTreeMap::new();
    let (mut unknown, mut whole) = (false, Ns::ZERO);
    for row in table.rows_of(concurrency::Table) {
        let ns = row.get(concurrency::DURATION_NS).max(Ns::ZERO);
        add(running.entry(row.get(concurrency::RUNNING)).or_default(), ns);
        add(&mut whole, ns);
        unknown |= row.get(concurrency::UNKNOWN) > 0 && ns > Ns::ZERO;
    }
    if whole == Ns::ZERO {
        return;
    }
    let lower_bound = if unknown { ", or more where others were unknown" } else { "" };
    page.heading(&format!("Concurrency: CPUs running at the same time{lower_bound}"));
    let max_running = running.keys().max().copied().unwrap_or(0);
    // Rows of equal width, so that those of a large machine fit.
    let step = (max_running + 1).max(1).div_euclid(MAX_ROWS as i64) + 1;
    let step = if max_running < MAX_ROWS as i64 { 1 } else { step };
    let mut joined: BTreeMap<i64, Ns> = BTreeMap::new();
    running.iter().for_each(|(n, ns)| add(joined.entry(n / step).or_default(), *ns));
    let mut columns =
        [Column::numbers("CPUs", 0), Column::numbers("ms", 0), Column::numbers("% of time", 0), Column::drawn("", 1)];
    let mut bars = Vec::new();
    for (n, ns) in &joined {
        let first = n * step;
        let name =
            if step > 1 { format!("{first}-{}", (first + step - 1).min(max_running)) } else { first.to_string() };
        let bar =
            usize::try_from(i128::from(ns.0) * i128::from(BAR) / i128::from(whole.0)).unwrap_or(0).min(BAR as usize);
        let (label, value) =
            (if name == "1" { "1 CPU".to_owned() } else { format!("{name} CPUs") }, percent(*ns, whole));
        bars.push(Bar::new(label, value, [*ns], whole));
        let cells = [name, ms(*ns), share(*ns, whole), "#".repeat(bar)];
        push(&mut columns, cells);
    }
    page.picture(Bars {
        title: "CPUs running at the same time".to_owned(),
        legend: vec![(Tone::Blue, "share of the time".to_owned())],
        bars,
    });
    page.grid(columns.into(), 0);
    let weighted: i128 = running.iter().map(|(n, ns)| i128::from(*n) * i128::from(ns.0)).sum();
    let average = weighted as f64 / whole.as_f64();
    page.note(&format!("average {average:.2} of {}", plural(session.summary().cpus, "CPU")));
}
