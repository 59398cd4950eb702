//! Draws the leaves: a line for each type of core, a box for each L2 cache.

use crate::machine::{Cpu, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// The width of the drawing in columns.
pub(super) const WIDTH: usize = 100;
/// Separates the words of a line from its boxes, to align wrapped lines.
const GAP: char = '\t';
/// More equal boxes in a row than this are drawn as a range.
const MAX_BOXES: usize = 8;

/// A box: the cores that share an L2, each with its threads.
type Cell = Vec<Vec<u32>>;

/// Returns a line for each type of core among `cpus`, fastest first, with aligned columns.
pub(super) fn lines(machine: &Machine, cpus: &[&Cpu]) -> Vec<String> {
    let mut kinds: BTreeMap<(std::cmp::Reverse<u32>, &str), Vec<&Cpu>> = BTreeMap::new();
    for cpu in cpus {
        let class = std::cmp::Reverse(machine.core_class(cpu.id));
        kinds.entry((class, cpu.vendor_type.as_deref().unwrap_or(""))).or_default().push(cpu);
    }
    let rows: Vec<([String; 5], String)> = kinds
        .iter()
        .map(|((_, vendor), of)| {
            let name = of.first().map_or("", |c| machine.core_type(c.id).as_str());
            let capacity = range(of, |c| c.capacity).map_or_else(String::new, |r| format!("capacity {r}"));
            let mhz = range(of, |c| c.max_khz.map(|khz| khz / 1000)).map_or_else(String::new, |r| format!("{r} MHz"));
            let perf = range(of, |c| c.highest_perf).map_or_else(String::new, |r| format!("cppc {r}"));
            ([name.to_owned(), (*vendor).to_owned(), capacity, perf, mhz], boxes(of))
        })
        .collect();
    let width = |column: usize| rows.iter().filter_map(|(w, _)| w.get(column)).map(|w| w.chars().count()).max();
    let widths: Vec<usize> = (0..5).map(|c| width(c).unwrap_or(0)).collect();
    rows.into_iter()
        .map(|(words, boxes)| {
            let words = words.iter().zip(&widths).filter(|(_, w)| **w > 0).map(|(word, w)| format!("{word:w$}"));
            format!("{}{GAP}{boxes}", words.collect::<Vec<_>>().join("  "))
        })
        .collect()
}

fn range(cpus: &[&Cpu], value: impl Fn(&Cpu) -> Option<u32>) -> Option<String> {
    let values: BTreeSet<u32> = cpus.iter().filter_map(|c| value(c)).collect();
    let (low, high) = (values.first()?, values.last()?);
    Some(if low == high { low.to_string() } else { format!("{low}-{high}") })
}

fn boxes(cpus: &[&Cpu]) -> String {
    let framed = cpus.iter().any(|c| !c.l2.is_empty());
    let mut caches: BTreeMap<u32, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
    for cpu in cpus {
        let core = cpu.siblings.first().unwrap_or(&cpu.id).0;
        let cache = cpu.l2.first().map_or(core, |first| first.0);
        caches.entry(cache).or_default().entry(core).or_default().push(cpu.id.0);
    }
    let cells: Vec<Cell> = caches.into_values().map(|cores| cores.into_values().collect()).collect();
    let mut shown: Vec<String> = Vec::new();
    let mut rest = cells.as_slice();
    while let [first, ..] = rest {
        let run = equal_boxes(rest);
        let (this, after) = rest.split_at(run);
        match this {
            [_, .., last] if run > MAX_BOXES => {
                let second = this.get(1).map_or_else(String::new, |c| drawn(c, framed));
                shown.push(format!("{} {second} .. {} ({run})", drawn(first, framed), drawn(last, framed)));
            }
            _ => shown.extend(this.iter().map(|cell| drawn(cell, framed))),
        }
        rest = after;
    }
    shown.join(" ")
}

/// Returns the number of cells, from the first on, that are equal except for a constant step in their numbers.
fn equal_boxes(cells: &[Cell]) -> usize {
    let step = |a: &Cell, b: &Cell| -> Option<u32> {
        let same_shape = a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.len() == y.len());
        let mut steps = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| y.checked_sub(*x));
        let first = steps.next().flatten().filter(|_| same_shape)?;
        steps.all(|s| s == Some(first)).then_some(first)
    };
    let pairs = cells.iter().zip(cells.iter().skip(1));
    let mut steps = pairs.map(|(a, b)| step(a, b));
    match steps.next().flatten() {
        Some(first) => 2 + steps.take_while(|s| *s == Some(first)).count(),
        None => 1,
    }
}

fn drawn(cell: &Cell, framed: bool) -> String {
    let core = |threads: &Vec<u32>| threads.iter().map(u32::to_string).collect::<Vec<_>>().join("+");
    let cores = cell.iter().map(core).collect::<Vec<_>>().join(" ");
    if framed { format!("[{cores}]") } else { cores }
}

/// Breaks a line between boxes if it is longer than [`WIDTH`], and aligns the boxes.
pub(super) fn wrapped(line: &str, indent: usize) -> Vec<String> {
    let Some((words, boxes)) = line.split_once(GAP) else { return vec![line.to_owned()] };
    let margin = words.chars().count() + 2;
    let room = WIDTH.saturating_sub(indent + margin).max(20);
    // A box is only split if it is wider than a line.
    let unbroken = boxes.split_inclusive(']').map(|b| if b.len() > room { b.split(' ').collect() } else { vec![b] });
    let parts = if boxes.contains(']') { unbroken.flatten().collect() } else { boxes.split(' ').collect::<Vec<_>>() };
    let mut out: Vec<String> = Vec::new();
    let mut line = String::new();
    for part in parts.into_iter().map(str::trim).filter(|p| !p.is_empty()) {
        if !line.is_empty() && line.len() + 1 + part.len() > room {
            out.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(part);
    }
    out.push(line);
    let blank = " ".repeat(margin - 2);
    let with = |(i, boxes): (usize, String)| format!("{}  {boxes}", if i == 0 { words } else { &blank });
    out.into_iter().enumerate().map(with).collect()
}
