//! Where each thread ran: by core type and by CPU.

use crate::gather::Group;
use crate::select::Thread;
use crate::words::{ms, share, short};
use engine::{EngineError, Session};
use model::tables::{thread_by_core_type, thread_by_cpu};
use model::{Ns, ThreadKey};
use page::{Bar, Bars, Column, Page, Tone};
use std::collections::{BTreeMap, BTreeSet};

/// If there are more CPUs, they have no columns of their own.
const MAX_COLUMNS: usize = 8;
/// The number of CPUs that are named per row if they have no columns.
const NAMED: usize = 4;

/// The running time of each thread, by CPU or core type.
type Places<K> = BTreeMap<ThreadKey, BTreeMap<K, Ns>>;

/// Writes the shares of each thread's running time.
pub fn write(page: &mut Page, session: &Session, groups: &[Group]) -> Result<(), EngineError> {
    let Some(group) = groups.first().filter(|g| g.all.running > Ns::ZERO) else { return Ok(()) };
    let keys: BTreeSet<ThreadKey> = group.shown.iter().map(|t| t.key).collect();
    let mut types = BTreeSet::new();
    let mut by_cpu = Places::new();
    session.each(thread_by_cpu::Table, |row| {
        let (thread, cpu, ns) = row.all((thread_by_cpu::THREAD, thread_by_cpu::CPU, thread_by_cpu::RUNNING_NS));
        add(&mut by_cpu, &keys, thread, cpu, ns);
    })?;
    let mut by_type = Places::new();
    session.each(thread_by_core_type::Table, |row| {
        use thread_by_core_type::{CORE_CLASS, CORE_TYPE, RUNNING_NS, THREAD};
        let (thread, class, ns) = row.all((THREAD, CORE_CLASS, RUNNING_NS));
        let class = (class, row.get(CORE_TYPE).to_owned());
        if !types.contains(&class) {
            types.insert(class.clone());
        }
        add(&mut by_type, &keys, thread, class, ns);
    })?;
    let threads: Vec<_> = group.shown.iter().filter(|t| t.running > Ns::ZERO).collect();
    let place = if types.len() > 1 { "core type and CPU" } else { "CPU" };
    page.heading(&format!("Running time by {place}, % of each thread's running time"));
    let (mut name, mut tid, mut running) =
        (Column::text("thread", 0), Column::numbers("tid", 1), Column::numbers("running ms", 2));
    for thread in &threads {
        name.push(short(&thread.name, 16));
        tid.push(thread.number());
        running.push(ms(thread.running));
    }
    let mut columns = vec![name, tid, running];
    if types.len() > 1 {
        page.picture(Bars {
            title: "Running time by core type".to_owned(),
            legend: types.iter().rev().map(|(_, word)| (Tone::of_type(word), head_of(word).to_owned())).collect(),
            bars: threads.iter().map(|t| bar(t, &types, &by_type)).collect(),
        });
        for class in types.iter().rev() {
            let mut column = Column::numbers(head_of(&class.1), 0);
            threads.iter().for_each(|t| column.push(share_of(&by_type, t.key, class, t.running)));
            columns.push(column);
        }
    }
    let cpus: BTreeSet<i64> =
        threads.iter().filter_map(|t| by_cpu.get(&t.key)).flat_map(|p| p.keys().copied()).collect();
    if cpus.len() <= MAX_COLUMNS {
        for cpu in cpus {
            let mut column = Column::numbers(&format!("CPU {cpu}"), 3);
            threads.iter().for_each(|t| column.push(share_of(&by_cpu, t.key, &cpu, t.running)));
            columns.push(column);
        }
    } else {
        let mut column = Column::text("CPUs", 0);
        threads
            .iter()
            .for_each(|t| column.push(by_cpu.get(&t.key).map(|p| largest_shares(p, t.running)).unwrap_or_default()));
        columns.push(column);
    }
    page.grid(columns, 0);
    Ok(())
}

fn bar(thread: &Thread, types: &BTreeSet<(i64, String)>, by_type: &Places<(i64, String)>) -> Bar {
    let of = by_type.get(&thread.key);
    Bar::new(
        format!("{} {}", short(&thread.name, 16), thread.number()),
        format!("running {} ms", ms(thread.running)),
        types.iter().rev().map(|class| of.and_then(|p| p.get(class)).copied().unwrap_or(Ns::ZERO)),
        thread.running,
    )
}

/// Adds the time of a row if it belongs to one of the threads.
fn add<K: Ord>(places: &mut Places<K>, threads: &BTreeSet<ThreadKey>, thread: ThreadKey, place: K, ns: Ns) {
    if threads.contains(&thread) {
        let sum = places.entry(thread).or_default().entry(place).or_default();
        *sum += ns;
    }
}

fn share_of<K: Ord>(places: &Places<K>, thread: ThreadKey, place: &K, running: Ns) -> String {
    let ns = places.get(&thread).and_then(|p| p.get(place)).copied().unwrap_or(Ns::ZERO);
    if ns == Ns::ZERO { ".".to_owned() } else { share(ns, running) }
}

/// Formats the CPUs with the largest shares: `3: 61.0  12: 20.4  and 5 more`.
fn largest_shares(places: &BTreeMap<i64, Ns>, running: Ns) -> String {
    let mut all: Vec<(i64, Ns)> = places.iter().map(|(cpu, ns)| (*cpu, *ns)).filter(|(_, ns)| *ns > Ns::ZERO).collect();
    all.sort_by_key(|(cpu, ns)| (std::cmp::Reverse(*ns), *cpu));
    let mut named: Vec<String> =
        all.iter().take(NAMED).map(|(cpu, ns)| format!("{cpu}: {}", share(*ns, running))).collect();
    if all.len() > NAMED {
        named.push(format!("and {} more", all.len() - NAMED));
    }
    named.join("  ")
}

fn head_of(core_type: &str) -> &'static str {
    match core_type {
        "performance" => "performance",
        "middle" => "middle",
        "efficient" => "efficient",
        "low_power" => "low power",
        _ => "uniform",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_with_the_largest_shares_are_named() {
        let places: BTreeMap<i64, Ns> = (0..9).map(|cpu| (cpu, Ns(cpu * 10))).collect();
        assert_eq!(largest_shares(&places, Ns(360)), "8: 22.2  7: 19.4  6: 16.7  5: 13.9  and 4 more");
    }
}
