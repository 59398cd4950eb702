//! The result for people, at a terminal or as Markdown.

use super::machine::Machine;
use super::outcome::{Median, Outcome};
use model::words::{self, percent_of};
use page::{Column, Page, push};
use power::{IdleState, Resident, Span3};
use std::fmt::Write as _;

/// Returns the result as text for a terminal of this width in columns.
pub fn text(outcome: &Outcome, machine: &Machine, width: usize) -> String {
    let mut page = Page::default();
    page.paragraph(&head(outcome));
    page.blocks.extend(blocks(outcome, machine).blocks);
    page::terminal(&page.blocks, width, false)
}

/// Returns the result as Markdown.
pub fn markdown(outcome: &Outcome, machine: &Machine) -> String {
    page::markdown(&head(outcome), &blocks(outcome, machine).blocks)
}

fn blocks(outcome: &Outcome, machine: &Machine) -> Page {
    let mut page = Page::default();
    if let Some(drain) = &outcome.drain {
        page.paragraph(&battery(drain));
    }
    if outcome.runs.is_empty() {
        page.paragraph("No run was measured.");
        return page;
    }
    let domains = &machine.meters.domains;
    if domains.is_empty() {
        page.paragraph(&no_source(machine));
    } else {
        page.heading("Energy");
        energies(&mut page, outcome, machine);
    }
    conditions(&mut page, outcome);
    idle(&mut page, outcome, machine);
    let mut list = |head, lines: Vec<String>| {
        if !lines.is_empty() {
            page.heading(head);
            lines.iter().for_each(|line| page.item(line));
        }
    };
    list("Doubtful", outcome.doubts.clone());
    let unknown = domains.iter().enumerate().flat_map(|(at, metered)| {
        let why = outcome.summary(at).why;
        why.into_iter().take(2).map(|why| format!("{}: {why}", metered.domain.name)).collect::<Vec<_>>()
    });
    list("Not measured (*: energy and power are of the known time only)", unknown.collect());
    let mut notes = machine.notes.clone();
    for metered in domains.iter().filter(|metered| !metered.domain.duplicates.is_empty()) {
        let same = metered.domain.duplicates.join(", ");
        notes.push(format!("{} is counted once; also shown by {same}", metered.domain.name));
    }
    let own: f64 = outcome.runs.iter().map(|run| run.own_cpu_s).sum();
    let wall: f64 = outcome.runs.iter().map(super::machine::Run::elapsed_s).sum();
    notes.push(format!("corewise itself used {:.2} % of a CPU", own / wall.max(1e-9) * 100.0));
    list("Notes", notes);
    if !domains.is_empty() {
        list("Not available", machine.lacks.iter().map(|lack| format!("{}: {}", lack.source, lack.why)).collect());
    }
    page
}

/// Adds a table; the first column names the rows.
fn grid(page: &mut Page, heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let column = |(at, head): (usize, &&str)| if at == 0 { Column::text(head, 0) } else { Column::numbers(head, 0) };
    let mut columns: Vec<Column> = heads.iter().enumerate().map(column).collect();
    rows.into_iter().for_each(|row| push(&mut columns, row));
    page.grid(columns, 0);
}

fn head(outcome: &Outcome) -> String {
    let runs = outcome.runs.len();
    let command = words::short(&outcome.command.join(" "), 60);
    let labels: String =
        outcome.labels.iter().fold(String::new(), |text, (key, value)| format!("{text}, {key}={value}"));
    let stopped = outcome.runs.iter().filter(|run| run.interrupted).count();
    let stopped = if stopped > 0 && runs > 1 { format!(" ({stopped} stopped, not counted)") } else { String::new() };
    let mut line = format!("{command}: {}{stopped}{labels}", words::plural(runs as u64, "run"));
    if let Some(elapsed) = outcome.median(|run| Some(run.elapsed_s())) {
        let _ = write!(line, ", {} s elapsed", figure(&elapsed));
    }
    if let Some(cpu) = outcome.median(|run| Some(run.cpu_s.iter().sum())) {
        let _ = write!(line, ", {} s CPU time", figure(&cpu));
    }
    if outcome.runs.len() == 1 && outcome.runs.iter().any(|run| run.interrupted) {
        line.push_str("; stopped before its end");
    }
    line
}

fn battery(drain: &super::outcome::Drain) -> String {
    let (first, last) = (drain.changes.first(), drain.changes.last());
    let (from, to) = (first.map_or(0, |c| c.1), last.map_or(0, |c| c.1));
    match (drain.whole_s(), Median::of(&drain.seconds_of_a_percent())) {
        (Some(whole), Some(step)) => {
            let until = if drain.is_complete() { "" } else { ", ended early" };
            format!(
                "{}: from {from} % to {to} %{until}: {} s for 1 %, so {:.0} minutes for 100 %",
                drain.name,
                figure(&step),
                whole / 60.0
            )
        }
        _ => format!("{}: its percents did not change from {from} %: measure for longer", drain.name),
    }
}

fn no_source(machine: &Machine) -> String {
    let denied: Vec<&str> = machine.lacks.iter().filter(|lack| lack.rights).map(|lack| lack.why.as_str()).collect();
    if denied.is_empty() {
        "Energy: this machine has no source (no RAPL, battery or power sensor; a guest has none): run corewise power on the host, or measure \
         at the plug."
            .to_owned()
    } else {
        format!("Energy: no source may be read: {}.", denied.join("; "))
    }
}

/// A median with its interval, or a range of few values.
fn figure(m: &Median) -> String {
    let digits = digits(m.value);
    let number = |value: f64| format!("{value:.digits$}");
    match (m.n, m.is_interval) {
        (1, _) => number(m.value),
        (_, true) => format!("{} [{} to {}]", number(m.value), number(m.ends[0]), number(m.ends[1])),
        (n, false) => format!("{} ({} to {} of {n})", number(m.value), number(m.ends[0]), number(m.ends[1])),
    }
}

/// Four significant digits.
fn digits(value: f64) -> usize {
    if value.abs() < 1e-9 {
        return 3;
    }
    (3 - value.abs().log10().floor() as i64).clamp(0, 6) as usize
}

fn energies(page: &mut Page, outcome: &Outcome, machine: &Machine) {
    let has_work = outcome.counted().any(|run| run.work.is_some());
    let mut heads = vec!["domain", "J", "W", "± by readings", "source"];
    if has_work {
        heads.insert(3, "J a unit");
    }
    let cell = |median: Option<Median>| median.map_or_else(|| "-".to_owned(), |median| figure(&median));
    let rows = machine.meters.domains.iter().enumerate().map(|(at, metered)| {
        let (domain, of) = (&metered.domain, outcome.summary(at));
        let uncertain = if of.joules.is_some() { percent_of(of.uncertain) } else { "-".to_owned() };
        let mark = if of.why.is_empty() { "" } else { " *" };
        let name = domain
            .same_as
            .as_ref()
            .map_or_else(|| domain.name.clone(), |same| format!("{} (the same as {same})", domain.name));
        let mut row =
            vec![name + mark, cell(of.joules), cell(of.watts), uncertain, domain.interface.as_str().to_owned()];
        if has_work {
            row.insert(3, cell(of.per_unit));
        }
        row
    });
    grid(page, &heads, rows);
}

/// The least of all runs, the mean of their means, and the greatest.
fn merged(spans: &[Span3]) -> Option<Span3> {
    let n = spans.len();
    let min = spans.iter().map(|span| span.min).reduce(f64::min)?;
    let max = spans.iter().map(|span| span.max).reduce(f64::max)?;
    let mean = spans.iter().map(|span| span.mean).sum::<f64>() / n as f64;
    Some(Span3 { min, mean, max, readings: spans.iter().map(|span| span.readings).sum() })
}

fn conditions(page: &mut Page, outcome: &Outcome) {
    let mut rows = Vec::new();
    let mut add = |unit: &str, of: &dyn Fn(&super::machine::Run) -> Vec<(String, Span3)>| {
        let all: Vec<(String, Span3)> = outcome.counted().flat_map(of).collect();
        let mut names: Vec<String> = Vec::new();
        all.iter().for_each(|(name, _)| {
            if !names.contains(name) {
                names.push(name.clone())
            }
        });
        for name in names {
            let spans: Vec<Span3> = all.iter().filter(|(known, _)| *known == name).map(|(_, span)| *span).collect();
            if let Some(span) = merged(&spans) {
                let cells = [span.min, span.mean, span.max].map(|value| format!("{value:.0} {unit}"));
                rows.push(std::iter::once(name).chain(cells).collect());
            }
        }
    };
    add("°C", &|run| run.conditions.temperatures.clone());
    add("MHz", &|run| run.conditions.frequencies.clone());
    add("MHz", &|run| {
        let cpus = run.conditions.effective.iter();
        cpus.map(|(cpu, mhz)| {
            (format!("CPU {cpu}, while not idle"), Span3 { min: *mhz, mean: *mhz, max: *mhz, readings: 1 })
        })
        .collect()
    });
    for of in ["cores", "packages"] {
        let counts: Vec<i64> = outcome
            .counted()
            .flat_map(|run| &run.conditions.throttled)
            .filter(|(known, _)| *known == of)
            .map(|(_, n)| *n)
            .collect();
        if let (Some(min), Some(max)) = (counts.iter().min(), counts.iter().max()) {
            let mean = counts.iter().sum::<i64>() as f64 / counts.len() as f64;
            rows.push(vec![format!("{of} throttled, times"), min.to_string(), format!("{mean:.1}"), max.to_string()]);
        }
    }
    if !rows.is_empty() {
        page.heading("Conditions");
        grid(page, &["condition", "min", "mean", "max"], rows);
    }
}

fn idle(page: &mut Page, outcome: &Outcome, machine: &Machine) {
    let runs: Vec<_> = outcome.counted().collect();
    let wall: f64 = runs.iter().map(|run| run.elapsed_s()).sum();
    let (Some(first), true) = (runs.first(), wall > 0.0) else { return };
    let mut rows = Vec::new();
    for (at, state) in first.idle.iter().enumerate() {
        let sum = |of: &dyn Fn(&IdleState) -> i64| runs.iter().filter_map(|run| run.idle.get(at)).map(of).sum::<i64>();
        let (time, usage) = (sum(&|s| s.time_us), sum(&|s| s.usage));
        let part = |of: &dyn Fn(&IdleState) -> Option<i64>| {
            let count = sum(&|s| of(s).unwrap_or(0));
            if of(state).is_none() || usage == 0 { "-".to_owned() } else { percent_of(count as f64 / usage as f64) }
        };
        rows.push(vec![
            state.name.clone(),
            percent_of(time as f64 * 1e-6 / (wall * state.cpus.max(1) as f64)),
            format!("{:.1}", usage as f64 / wall),
            if usage > 0 { format!("{:.0} µs", time as f64 / usage as f64) } else { "-".to_owned() },
            state.residency_us.map_or_else(|| "-".to_owned(), |us| format!("{us} µs")),
            part(&|s| s.above),
            part(&|s| s.below),
        ]);
    }
    if !rows.is_empty() {
        page.heading("Idle states");
        let heads = [
            "idle state",
            "of all CPUs' time",
            "entered/s",
            "mean stay",
            "worth it from",
            "woke before",
            "too shallow",
        ];
        grid(page, &heads, rows);
        let entries: i64 = runs.iter().flat_map(|run| &run.idle).map(|state| state.usage).sum();
        let driver = &machine.idle.driver;
        page.paragraph(&format!(
            "Idle states as the kernel requested them (driver {driver}): {:.1} idle periods a second on {}.",
            entries as f64 / wall,
            words::plural(machine.cpus as u64, "CPU")
        ));
    }
    let events: Vec<&Resident> = first.resident.iter().collect();
    if events.is_empty() {
        for lack in &machine.idle.lacks {
            page.paragraph(&format!("Not available: {}: {}.", lack.source, lack.why));
        }
        return;
    }
    let rows = events.iter().enumerate().map(|(at, event)| {
        let mean = runs.iter().filter_map(|run| run.resident.get(at)).map(|r| r.share).sum::<f64>() / runs.len() as f64;
        vec![event.event.clone(), percent_of(mean)]
    });
    grid(page, &["where the hardware was", "of the time"], rows);
}
