//! Writes the text above and below the tree: a summary of the machine, the sources of the facts, and what is missing.

use super::cells::WIDTH;
use crate::cpulist;
use crate::machine::{Cpu, Fact, Machine, Source};
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

fn plural(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// Returns the model, the architecture, and the numbers of CPUs, cores and packages.
pub(super) fn head(machine: &Machine) -> String {
    let names = [&machine.model_name, &machine.arch].into_iter().flatten().map(String::as_str);
    let names: Vec<&str> = names.collect();
    let mut out = if names.is_empty() { "unknown machine".to_owned() } else { names.join(", ") };
    let online: Vec<&Cpu> = machine.cpus.iter().filter(|c| c.online).collect();
    let _ = write!(out, "\n{} online", plural(online.len(), "CPU"));
    let offline = machine.cpus.iter().filter(|c| !c.online).map(|c| c.id);
    let offline = cpulist::format(offline);
    if !offline.is_empty() {
        let _ = write!(out, " (offline: {offline})");
    }
    if !online.is_empty() && online.iter().all(|c| !c.siblings.is_empty()) {
        let cores: BTreeSet<&[CpuId]> = online.iter().map(|c| c.siblings.as_slice()).collect();
        let _ = write!(out, ", {}", plural(cores.len(), "core"));
    }
    let packages: BTreeSet<u32> = online.iter().filter_map(|c| c.package).collect();
    if !packages.is_empty() {
        let _ = write!(out, ", {}", plural(packages.len(), "package"));
    }
    if machine.class_names.len() > 1 {
        let _ = write!(out, ", {} core types", machine.class_names.len());
    }
    out.push('\n');
    out
}

/// Returns the meaning of the marks that occur.
pub(super) fn legend(online: &[&Cpu]) -> String {
    let mut marks = Vec::new();
    if online.iter().any(|c| c.l2.len() > 1) {
        marks.push("[...] share an L2 cache");
    }
    if online.iter().any(|c| c.siblings.len() > 1) {
        marks.push("a+b are threads of one core");
    }
    if marks.is_empty() { String::new() } else { format!("\n{}\n", marks.join(", ")) }
}

/// Returns the sources of the facts, the claims that differ, and the missing facts.
pub(super) fn sources(machine: &Machine) -> String {
    let mut out = String::new();
    write_section(&mut out, "core types", &types(machine));
    let mut by: BTreeMap<Source, Vec<&str>> = BTreeMap::new();
    for (fact, source) in &machine.sources {
        by.entry(*source).or_default().push(fact.as_str());
    }
    write_section(
        &mut out,
        "facts",
        &by.iter().map(|(s, f)| format!("{}: {}", s.as_str(), f.join(", "))).collect::<Vec<_>>(),
    );
    let missing = Fact::ALL.into_iter().filter(|f| !machine.cpus.iter().any(|c| c.has(*f)));
    let missing: Vec<&str> = missing.map(Fact::as_str).collect();
    if !missing.is_empty() {
        write_section(&mut out, "missing", &[missing.join(", ")]);
    }
    write_section(&mut out, "costs", &costs(machine));
    write_section(&mut out, "notes", &machine.notes);
    write_section(&mut out, "unknown", &machine.unknown);
    out
}

/// Returns when costs were measured, and the main ones.
fn costs(machine: &Machine) -> Vec<String> {
    let Some(costs) = &machine.costs else { return Vec::new() };
    let us = |ns: f64| format!("{:.1}", ns / 1000.0);
    let mut main = Vec::new();
    if let Some(of) = costs.switch_ns() {
        main.push(format!("a switch {} us ({} to {})", us(of.value), us(of.low), us(of.high)));
    }
    if let Some(of) = costs.smt_gain(None) {
        main.push(format!("two siblings {:.2} times one ({:.2} to {:.2})", of.value, of.low, of.high));
    }
    if let Some(of) = machine.slower_speed() {
        main.push(format!("a slower core {:.2} of the fastest ({:.2} to {:.2})", of.value, of.low, of.high));
    }
    let of = &costs.measured;
    let when = format!("measured {} by corewise {}: {}", of.day(), of.corewise, plural(costs.figures.len(), "figure"));
    let mut lines = vec![when];
    if !main.is_empty() {
        lines.push(main.join(", "));
    }
    lines
}

fn types(machine: &Machine) -> Vec<String> {
    let name = |class: u32| machine.class_names.get(class as usize).map_or("uniform", |n| n.as_str());
    let mut decided: BTreeMap<(Source, std::cmp::Reverse<u32>), Vec<CpuId>> = BTreeMap::new();
    let mut against: BTreeMap<(Source, u32), Vec<CpuId>> = BTreeMap::new();
    for (cpu, judged) in machine.cpus.iter().zip(&machine.class) {
        decided.entry((judged.best.source, std::cmp::Reverse(judged.best.value))).or_default().push(cpu.id);
        for claim in &judged.against {
            against.entry((claim.source, claim.value)).or_default().push(cpu.id);
        }
    }
    let list = |of: &[CpuId]| cpulist::format(of.iter().copied());
    if decided.keys().all(|(source, _)| *source == Source::Assumed) {
        return vec![format!("{}: {}", name(0), why_uniform(machine))];
    }
    let mut out: Vec<String> = Vec::new();
    let sources: BTreeSet<Source> = decided.keys().map(|(s, _)| *s).collect();
    for source in sources {
        let of = decided.iter().filter(|((s, _), _)| *s == source);
        let of: Vec<String> = of.map(|((_, class), ids)| format!("{} {}", name(class.0), list(ids))).collect();
        out.push(format!("{} (source: {})", of.join("; "), source.as_str()));
    }
    out.extend(
        against
            .iter()
            .map(|((s, class), ids)| format!("differs: {} {} (source: {})", name(*class), list(ids), s.as_str())),
    );
    out
}

/// Returns why there is only one core type.
fn why_uniform(machine: &Machine) -> String {
    let online = || machine.cpus.iter().filter(|c| c.online);
    let mut equal = Vec::new();
    for (word, value) in [
        ("capacity", (|c| c.capacity) as fn(&Cpu) -> Option<u32>),
        ("highest_perf", |c| c.highest_perf),
        ("max_khz", |c| c.max_khz),
    ] {
        let values: BTreeSet<Option<u32>> = online().map(value).collect();
        if let (1, Some(Some(v))) = (values.len(), values.first()) {
            equal.push(format!("{word} {v}"));
        }
    }
    if equal.is_empty() {
        "no source distinguishes the cores".to_owned()
    } else {
        format!("no source distinguishes the cores ({} on every CPU)", equal.join(", "))
    }
}

fn write_section(out: &mut String, title: &str, lines: &[String]) {
    let mut title = title;
    for line in lines {
        let mut text = String::new();
        let mut start = 12;
        for word in line.split(' ') {
            if !text.is_empty() && start + text.len() + 1 + word.len() > WIDTH {
                let _ = writeln!(out, "{title:12}{}{text}", " ".repeat(start - 12));
                (title, start) = ("", 14);
                text.clear();
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        let _ = writeln!(out, "{title:12}{}{text}", " ".repeat(start - 12));
        title = "";
    }
}
