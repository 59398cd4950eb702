//! At which priorities threads ran, and which classes of them had the CPUs over time.

use super::Section;
use crate::grid::{Column, push};
use crate::page::Page;
use crate::picture::{Bar, Bars, Stack, Tone};
use crate::seen::{Seen, Top, add, of};
use crate::words::{ms, share};
use engine::EngineError;
use model::Column as Col;
use model::tables;
use model::tables::{priority_classes, priority_residency};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "priorities",
    about: "at which priorities threads ran, and which classes of priority had the CPUs over time",
    tables: &[&tables::PRIORITY_RESIDENCY, &tables::PRIORITY_CLASSES],
    write,
};

/// The kernel's priority of nice 0.
const USUAL: i64 = 120;
/// Priorities that have a colour of their own in the picture; all others share one.
const COLOURED: usize = 5;
const TONES: [Tone; COLOURED] = [Tone::Blue, Tone::Orange, Tone::Green, Tone::Purple, Tone::Sky];
/// So many priorities of a thread are named in a row.
const NAMED: usize = 4;
const CLASSES: [(Col<priority_classes::Table, i64>, &str, Tone); 8] = [
    (priority_classes::DEADLINE_NS, "deadline", Tone::Red),
    (priority_classes::REAL_TIME_NS, "real time", Tone::Orange),
    (priority_classes::HIGH_NS, "above normal", Tone::Purple),
    (priority_classes::NORMAL_NS, "normal", Tone::Blue),
    (priority_classes::LOW_NS, "below normal", Tone::Green),
    (priority_classes::UNTOLD_NS, "priority untold", Tone::Sky),
    (priority_classes::UNKNOWN_NS, "unknown", Tone::Unknown),
    (priority_classes::IDLE_NS, "idle", Tone::Idle),
];

/// A thread's running time by priority, the best first.
#[derive(Default)]
struct Levels {
    tid: i64,
    running: i64,
    at: Vec<(Option<i64>, i64)>,
}

fn write(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    if seen.is_whole() {
        classes(page, seen)?;
    }
    levels(page, seen)
}

/// One part of the time.
struct Part {
    start: i64,
    end: i64,
    did: [i64; 8],
}

impl Part {
    fn whole(&self) -> i64 {
        self.did.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns))
    }
}

/// Where all that ran was of one class, `cpus` says the same.
fn classes(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let mut parts = Vec::new();
    seen.each(priority_classes::Table, |row| {
        let [start, end] = row.all([priority_classes::START_NS, priority_classes::END_NS]);
        parts.push(Part { start, end, did: row.all(CLASSES.map(|(col, ..)| col)) });
    })?;
    let there: Vec<usize> = (0..CLASSES.len()).filter(|at| parts.iter().any(|part| part.did[*at] > 0)).collect();
    if there.iter().filter(|at| **at < 6).count() < 2 {
        return Ok(());
    }
    page.heading("CPU time by class of priority");
    page.picture(Stack {
        title: "What all CPUs did over time, by class of the priority of who ran".to_owned(),
        legend: there.iter().map(|at| (CLASSES[*at].2, CLASSES[*at].1.to_owned())).collect(),
        begin_ns: parts.first().map_or(0, |part| part.start),
        end_ns: parts.last().map_or(0, |part| part.end),
        parts: parts.iter().map(|part| there.iter().map(|at| part_of(part.did[*at], part.whole())).collect()).collect(),
    });
    let mut columns = vec![Column::numbers("from s", 0), Column::numbers("to s", 1)];
    columns.extend(there.iter().map(|at| Column::numbers(&format!("{} %", CLASSES[*at].1), 0)));
    let seconds = |ns: i64| format!("{:.6}", ns as f64 / 1e9);
    for part in &parts {
        let shares = there.iter().map(|at| share(part.did[*at], part.whole()));
        push(&mut columns, [seconds(part.start), seconds(part.end)].into_iter().chain(shares));
    }
    page.grid(columns, 0);
    Ok(())
}

fn part_of(ns: i64, whole: i64) -> f64 {
    if whole > 0 { ns as f64 / whole as f64 } else { 0.0 }
}

/// Threads that ran at several priorities, or at an unusual one.
fn levels(page: &mut Page, seen: &Seen<'_>) -> Result<(), EngineError> {
    let mut top = Top::new(seen.top);
    let mut push_thread = |(key, levels): (i64, Levels)| {
        let usual = levels.at.iter().all(|(prio, _)| prio.is_none_or(|prio| prio == USUAL));
        if !usual {
            top.push(levels.running, (key, levels));
        }
    };
    // Rows of a thread stand together.
    let mut now: Option<(i64, Levels)> = None;
    seen.each(priority_residency::Table, |row| {
        let [key, running] = row.all([priority_residency::THREAD, priority_residency::RUNNING_NS]);
        if running <= 0 {
            return;
        }
        if now.as_ref().is_none_or(|(of, _)| *of != key)
            && let Some(thread) =
                now.replace((key, Levels { tid: row.get(priority_residency::TID), ..Levels::default() }))
        {
            push_thread(thread);
        }
        if let Some((_, levels)) = &mut now {
            add(&mut levels.running, running);
            levels.at.push((row.get(priority_residency::PRIO), running));
        }
    })?;
    now.into_iter().for_each(&mut push_thread);
    let (count, threads) = (top.count, top.finish());
    if threads.is_empty() {
        return Ok(());
    }
    page.heading(&format!("Threads of other priorities than the usual: {}", of(threads.len(), count, "thread")));
    page.words(
        "Dynamic priority on the kernel's scale, lower is better: -1 deadline, 0–99 real time, 100–139 fair (120 is nice 0). Shares \
         of each thread's running time.",
    );
    let order = most_first(&threads);
    page.picture(Bars {
        title: "Running time by priority".to_owned(),
        legend: legend(&order),
        bars: threads.iter().map(|(key, levels)| bar(seen, *key, levels, &order)).collect(),
    });
    let mut columns = vec![
        Column::words("thread", 0),
        Column::numbers("tid", 1),
        Column::numbers("running ms", 0),
        Column::words("% of it at priority", 0),
    ];
    for (key, levels) in &threads {
        let mut at = levels.at.clone();
        at.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let more = at.len().saturating_sub(NAMED);
        let words = at.iter().take(NAMED).map(|(prio, ns)| format!("{}: {}", word(*prio), share(*ns, levels.running)));
        let words: Vec<String> = words.chain((more > 0).then(|| format!("{more} more"))).collect();
        push(&mut columns, [seen.name(Some(*key)), levels.tid.to_string(), ms(levels.running), words.join(", ")]);
    }
    page.grid(columns, 0);
    Ok(())
}

fn word(prio: Option<i64>) -> String {
    prio.map_or_else(|| "untold".to_owned(), |prio| prio.to_string())
}

/// The priorities that have a colour: those with most time.
fn most_first(threads: &[(i64, Levels)]) -> Vec<Option<i64>> {
    let mut times: BTreeMap<Option<i64>, i64> = BTreeMap::new();
    for (prio, ns) in threads.iter().flat_map(|(_, levels)| &levels.at) {
        add(times.entry(*prio).or_default(), *ns);
    }
    let mut order: Vec<(Option<i64>, i64)> = times.into_iter().collect();
    order.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    order.truncate(COLOURED);
    order.into_iter().map(|(prio, _)| prio).collect()
}

fn legend(order: &[Option<i64>]) -> Vec<(Tone, String)> {
    let of = order.iter().zip(TONES).map(|(prio, tone)| (tone, word(*prio)));
    of.chain([(Tone::Red, "others".to_owned())]).collect()
}

fn bar(seen: &Seen<'_>, key: i64, levels: &Levels, order: &[Option<i64>]) -> Bar {
    let mut parts = vec![0; order.len() + 1];
    for (prio, ns) in &levels.at {
        add(&mut parts[order.iter().position(|of| of == prio).unwrap_or(order.len())], *ns);
    }
    Bar {
        label: format!("{} {}", seen.name(Some(key)), levels.tid),
        value: format!("running {} ms", ms(levels.running)),
        parts,
        whole: levels.running,
    }
}
