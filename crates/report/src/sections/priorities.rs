//! Thread priorities, and the CPU time of priority classes over time.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::{ms, share};
use engine::EngineError;
use model::tables::{priority_classes, priority_residency};
use model::{Column as Col, Ns, ThreadKey, Tid, tables};
use page::{Bar, Bars, Column, Page, Stack, Tone, push};
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "priorities",
    about: "thread priorities, and the CPU time of priority classes over time",
    tables: &[&tables::PRIORITY_RESIDENCY, &tables::PRIORITY_CLASSES],
    write,
};

/// The kernel's priority of nice 0.
const DEFAULT_PRIO: i64 = 120;
/// The number of priorities with their own colour in the picture; all others share one.
const COLOURED: usize = 5;
const TONES: [Tone; COLOURED] = [Tone::Blue, Tone::Orange, Tone::Green, Tone::Purple, Tone::Sky];
/// The maximum number of priorities named per row.
const NAMED: usize = 4;
const CLASSES: [(Col<priority_classes::Table, Ns>, &str, Tone); 8] = [
    (priority_classes::DEADLINE_NS, "deadline", Tone::Red),
    (priority_classes::REAL_TIME_NS, "real time", Tone::Orange),
    (priority_classes::HIGH_NS, "above normal", Tone::Purple),
    (priority_classes::NORMAL_NS, "normal", Tone::Blue),
    (priority_classes::LOW_NS, "below normal", Tone::Green),
    (priority_classes::NOT_RECORDED_NS, "priority not recorded", Tone::Sky),
    (priority_classes::UNKNOWN_NS, "unknown", Tone::Unknown),
    (priority_classes::IDLE_NS, "idle", Tone::Idle),
];

/// A thread's running time by priority, best first.
#[derive(Default)]
struct Levels {
    tid: Tid,
    running: Ns,
    at: Vec<(Option<i64>, Ns)>,
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    if ctx.is_whole() {
        classes(page, ctx)?;
    }
    levels(page, ctx)
}

/// One interval of the time.
struct Part {
    start: Ns,
    end: Ns,
    by_class: [Ns; 8],
}

impl Part {
    fn whole(&self) -> Ns {
        self.by_class.iter().sum()
    }
}

/// Writes the CPU time of priority classes. With a single class, `cpus` has the same data.
fn classes(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut parts = Vec::new();
    ctx.each_row(priority_classes::Table, |row| {
        let [start, end] = row.all([priority_classes::START_NS, priority_classes::END_NS]);
        parts.push(Part { start, end, by_class: row.all(CLASSES.map(|(col, ..)| col)) });
    })?;
    let there: Vec<usize> =
        (0..CLASSES.len()).filter(|at| parts.iter().any(|part| part.by_class[*at] > Ns::ZERO)).collect();
    if there.iter().filter(|at| **at < 6).count() < 2 {
        return Ok(());
    }
    page.heading("CPU time by priority class");
    page.picture(Stack {
        title: "Time of all CPUs by priority class of the running thread".to_owned(),
        legend: there.iter().map(|at| (CLASSES[*at].2, CLASSES[*at].1.to_owned())).collect(),
        begin_ns: parts.first().map_or(0, |part| part.start.0),
        end_ns: parts.last().map_or(0, |part| part.end.0),
        parts: parts
            .iter()
            .map(|part| there.iter().map(|at| part_of(part.by_class[*at], part.whole())).collect())
            .collect(),
    });
    let mut columns = vec![Column::numbers("from s", 0), Column::numbers("to s", 1)];
    columns.extend(there.iter().map(|at| Column::numbers(&format!("{} %", CLASSES[*at].1), 0)));
    let seconds = |ns: Ns| format!("{:.6}", ns.as_f64() / 1e9);
    for part in &parts {
        let shares = there.iter().map(|at| share(part.by_class[*at], part.whole()));
        push(&mut columns, [seconds(part.start), seconds(part.end)].into_iter().chain(shares));
    }
    page.grid(columns, 0);
    Ok(())
}

fn part_of(ns: Ns, whole: Ns) -> f64 {
    if whole > Ns::ZERO { ns.as_f64() / whole.as_f64() } else { 0.0 }
}

/// Writes threads that ran at several priorities, or at a non-default one.
fn levels(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut top = Top::new(ctx.top);
    let mut push_thread = |(key, levels): (ThreadKey, Levels)| {
        let is_default = levels.at.iter().all(|(prio, _)| prio.is_none_or(|prio| prio == DEFAULT_PRIO));
        if !is_default {
            top.push(levels.running, (key, levels));
        }
    };
    // The rows of a thread are adjacent.
    let mut now: Option<(ThreadKey, Levels)> = None;
    ctx.each_row(priority_residency::Table, |row| {
        let (key, running) = row.all((priority_residency::THREAD, priority_residency::RUNNING_NS));
        if running <= Ns::ZERO {
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
    page.heading(&format!("Threads with non-default priority: {}", count_of(threads.len(), count, "thread")));
    page.paragraph(
        "Dynamic priority on the kernel's scale, lower is better: -1 deadline, 0–99 real time, 100–139 fair (120 is nice 0). Shares \
         are of each thread's running time.",
    );
    let order = by_time(&threads);
    page.picture(Bars {
        title: "Running time by priority".to_owned(),
        legend: legend(&order),
        bars: threads.iter().map(|(key, levels)| bar(ctx, *key, levels, &order)).collect(),
    });
    let mut columns = vec![
        Column::text("thread", 0),
        Column::numbers("tid", 1),
        Column::numbers("running ms", 0),
        Column::text("% by priority", 0),
    ];
    for (key, levels) in &threads {
        let mut at = levels.at.clone();
        at.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let more = at.len().saturating_sub(NAMED);
        let words = at.iter().take(NAMED).map(|(prio, ns)| format!("{}: {}", word(*prio), share(*ns, levels.running)));
        let words: Vec<String> = words.chain((more > 0).then(|| format!("{more} more"))).collect();
        push(&mut columns, [ctx.name(Some(*key)), levels.tid.to_string(), ms(levels.running), words.join(", ")]);
    }
    page.grid(columns, 0);
    Ok(())
}

fn word(prio: Option<i64>) -> String {
    prio.map_or_else(|| "not recorded".to_owned(), |prio| prio.to_string())
}

/// The priorities with their own colour: those with the most time.
fn by_time(threads: &[(ThreadKey, Levels)]) -> Vec<Option<i64>> {
    let mut times: BTreeMap<Option<i64>, Ns> = BTreeMap::new();
    for (prio, ns) in threads.iter().flat_map(|(_, levels)| &levels.at) {
        add(times.entry(*prio).or_default(), *ns);
    }
    let mut order: Vec<(Option<i64>, Ns)> = times.into_iter().collect();
    order.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    order.truncate(COLOURED);
    order.into_iter().map(|(prio, _)| prio).collect()
}

fn legend(order: &[Option<i64>]) -> Vec<(Tone, String)> {
    let of = order.iter().zip(TONES).map(|(prio, tone)| (tone, word(*prio)));
    of.chain([(Tone::Red, "others".to_owned())]).collect()
}

fn bar(ctx: &SectionContext<'_>, key: ThreadKey, levels: &Levels, order: &[Option<i64>]) -> Bar {
    let mut parts = vec![Ns::ZERO; order.len() + 1];
    for (prio, ns) in &levels.at {
        add(&mut parts[order.iter().position(|of| of == prio).unwrap_or(order.len())], *ns);
    }
    Bar::new(
        format!("{} {}", ctx.name(Some(key)), levels.tid),
        format!("running {} ms", ms(levels.running)),
        parts,
        levels.running,
    )
}
