//! The leaves of the drawing: a line for each type of core, a box for each L2 cache.

use crate::machine::{Cpu, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// Columns of the drawing.
pub(super) const WIDTH: usize = 100;
/// Between the words of a line and its boxes, so that a wrapped line finds the column again.
const GAP: char = '\t';
/// Equal boxes in a row beyond this many are told as a range.
const MOST_BOXES: usize = 8;

/// A box: the cores that share an L2, each with its threads.
type Cell = Vec<Vec<u32>>;

/// A line for each type of core among `cpus`, fastest first; the columns of all lines are aligned.
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
        let run = even(rest);
        let (this, after) = rest.split_at(run);
        match this {
            [_, .., last] if run > MOST_BOXES => {
                let second = this.get(1).map_or_else(String::new, |c| drawn(c, framed));
                shown.push(format!("{} {second} .. {} ({run})", drawn(first, framed), drawn(last, framed)));
            }
            _ => shown.extend(this.iter().map(|cell| drawn(cell, framed))),
        }
        rest = after;
    }
    shown.join(" ")
}

/// How many cells from the first on are alike, each further by the same step.
fn even(cells: &[Cell]) -> usize {
    let step = |a: &Cell, b: &Cell| -> Option<u32> {
        let alike = a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.len() == y.len());
        let mut steps = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| y.checked_sub(*x));
        let first = steps.next().flatten().filter(|_| alike)?;
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

/// A line broken between boxes where it would pass [`WIDTH`], the boxes aligned.
pub(super) fn wrapped(line: &str, indent: usize) -> Vec<String> {
    let Some((words, boxes)) = line.split_once(GAP) else { return vec![line.to_owned()] };
    let margin = words.chars().count() + 2;
    let room = WIDTH.saturating_sub(indent + margin).max(20);
    // A box is not broken unless it is wider than a line.
    let whole = boxes.split_inclusive(']').map(|b| if b.len() > room { b.split(' ').collect() } else { vec![b] });
    let parts = if boxes.contains(']') { whole.flatten().collect() } else { boxes.split(' ').collect::<Vec<_>>() };
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
