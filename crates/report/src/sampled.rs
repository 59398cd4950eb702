//! Samples by thread, by CPU and over time: what a recording shows that has samples and no context switches.

use crate::context::{Top, count_of};
use crate::profile::Profile;
use crate::words::{TIE, grouped, ms, plain, plural, share, short};
use engine::{EngineError, Sampled, Session};
use model::{CpuId, EventKind, Ns, Span, Tid};
use page::{Column, Page, push};
use std::collections::{BTreeMap, BTreeSet};

/// The number of parts of the recording whose samples are counted.
const PARTS: i64 = 20;
/// Characters of the longest bar.
const BAR: i64 = 30;
/// The maximum number of characters of a thread's name.
const MAX_NAME: usize = 32;

/// The event of the samples, if it is known, or those of each type of core: ` of cycles`, ` of cpu_core/cycles/ and cpu_atom/cycles/`.
pub fn of_event(sampled: Option<&Sampled>) -> String {
    match sampled {
        Some(Sampled { by_core, .. }) if !by_core.is_empty() => {
            let names: Vec<String> = by_core.iter().map(|(_, event)| plain(event)).collect();
            format!(" of {}", names.join(" and "))
        }
        Some(Sampled { event, .. }) if !event.is_empty() => format!(" of {}", plain(event)),
        _ => String::new(),
    }
}

/// Writes the samples of each thread, under each name that it had.
pub fn by_thread(page: &mut Page, profile: &Profile, top: usize) {
    let mut threads = BTreeMap::<(&str, Tid), i64>::new();
    for (stack, count) in &profile.stacks {
        *threads.entry((&stack.thread, stack.tid)).or_default() += count;
    }
    let (all, names) = (threads.keys().map(|(_, tid)| tid).collect::<BTreeSet<_>>().len(), threads.len());
    let mut largest = Top::new(top);
    threads.into_iter().for_each(|(thread, count)| largest.push(count, (thread, count)));
    let mut columns = [
        Column::text("thread", 0),
        Column::numbers("tid", 0),
        Column::numbers("samples", 0),
        Column::numbers("samples %", 0),
    ];
    let largest = largest.finish();
    // A thread has a row for each name that it had.
    let of = if names == all { String::new() } else { format!(" of {}", plural(all as u64, "thread")) };
    let what = if names == all { "thread" } else { "name" };
    page.heading(&format!("Samples by thread: {}{of}", count_of(largest.len(), names, what)));
    for ((name, tid), count) in largest {
        let cells = [short(name, MAX_NAME), tid.to_string(), grouped(count), share(count, profile.samples)];
        push(&mut columns, cells);
    }
    page.grid(columns.into(), 0);
}

/// How many samples each CPU and each part of the time has.
#[derive(Default)]
struct Counts {
    cpus: BTreeMap<CpuId, i64>,
    parts: BTreeMap<i64, i64>,
    all: i64,
}

impl Counts {
    fn read(session: &Session, span: Span) -> Result<Self, EngineError> {
        let (mut counts, until) = (Self::default(), session.events_until(session.range()));
        let length = i128::from(span.len().0.max(1));
        session.events(&mut |events, _| {
            for event in events.iter().filter(|event| event.at >= span.start && event.at < until) {
                let EventKind::CpuSample { tid, .. } = event.what else { continue };
                if tid.0 > 0 {
                    let part = i128::from((event.at - span.start).0) * i128::from(PARTS) / length;
                    *counts.parts.entry((part as i64).min(PARTS - 1)).or_default() += 1;
                    *counts.cpus.entry(event.cpu).or_default() += 1;
                    counts.all += 1;
                }
            }
            Ok(())
        })?;
        Ok(counts)
    }
}

/// Writes the samples of each CPU, and those of each part of the time.
///
/// # Errors
/// The trace cannot be read.
pub fn by_cpu_and_time(page: &mut Page, session: &Session, top: usize) -> Result<(), EngineError> {
    let whole = Span { start: Ns::ZERO, end: Ns(session.full_summary().span_ns) };
    let span = session.range().unwrap_or(whole);
    let counts = Counts::read(session, span)?;
    if !counts.cpus.keys().all(|cpu| *cpu == CpuId::UNKNOWN) {
        let (mut largest, all) = (Top::new(top), counts.cpus.len());
        counts.cpus.iter().for_each(|(cpu, count)| largest.push(*count, (*cpu, *count)));
        let largest = largest.finish();
        page.heading(&format!("Samples by CPU: {}", count_of(largest.len(), all, "CPU")));
        let mut columns = vec![Column::numbers("CPU", 0)];
        let machine = session.machine();
        let is_hybrid = machine.class_names.len() > 1;
        columns.extend(is_hybrid.then(|| Column::text("type", 0)));
        columns.extend([Column::numbers("samples", 0), Column::numbers("samples %", 0)]);
        for (cpu, count) in largest {
            let number = if cpu == CpuId::UNKNOWN { "unknown".to_owned() } else { cpu.0.to_string() };
            let core_type = is_hybrid.then(|| machine.core_type(cpu).as_str().replace('_', " "));
            let counts = [grouped(count), share(count, counts.all)];
            push(&mut columns, [number].into_iter().chain(core_type).chain(counts));
        }
        page.grid(columns, 0);
    }
    if counts.all > 1 && span.len() > Ns::ZERO {
        page.heading("Samples over time");
        let mut columns = [Column::numbers("from ms", 0), Column::numbers("samples", 0), Column::drawn("", 1)];
        let most = counts.parts.values().copied().max().unwrap_or(1).max(1);
        let length = span.len().0;
        for part in 0..PARTS {
            let count = counts.parts.get(&part).copied().unwrap_or(0);
            let from = span.start.0 + (i128::from(length) * i128::from(part) / i128::from(PARTS)) as i64;
            let bar = usize::try_from(count * BAR / most).unwrap_or(0);
            push(&mut columns, [ms(Ns(from)), grouped(count), "#".repeat(bar)]);
        }
        page.grid(columns.into(), 0);
        page.note(&format!("{PARTS} parts of {}{TIE}ms", ms(Ns(length / PARTS))));
    }
    Ok(())
}
