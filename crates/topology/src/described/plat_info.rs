//! Reads LISA's platform files, `plat_info.yml`: capacities, frequencies and frequency domains, as read by devlib on the target.
//!
//! The file has Python objects (`!!python/object:…`), which are read as texts. The kernel's capacity (`orig`) is used; a note is added if
//! LISA's own measurement (`rtapp`) differs.

use super::yaml::{self, Node};
use super::{all_from, bad};
use crate::cpulist::{self, MAX_CPUS};
use crate::machine::{Cpu, Machine, Source};
use crate::user::BadMachine;
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn read(text: &str) -> Result<Machine, BadMachine> {
    let tree = yaml::read(text)?;
    // The values are in `platform-info: conf:`, or at the top level in older and hand-written files.
    let mut conf = &tree;
    for level in ["platform-info", "conf"] {
        conf = conf.get(level).unwrap_or(conf);
    }
    let capacities = conf.get("cpu-capacities").map(|c| c.get("orig").unwrap_or(c)).map(by_cpu).unwrap_or_default();
    let frequencies: BTreeMap<CpuId, u32> =
        conf.get("freqs").map(Node::entries).unwrap_or_default().iter().filter_map(highest).collect();
    let domains: Vec<Vec<CpuId>> =
        conf.get("freq-domains").map(Node::items).unwrap_or_default().iter().map(list).collect();
    let mut ids: BTreeSet<CpuId> = capacities.keys().chain(frequencies.keys()).copied().collect();
    ids.extend(domains.iter().flatten());
    let count = conf.get("cpus-count").and_then(Node::number).filter(|n| *n <= MAX_CPUS);
    ids.extend((0..count.unwrap_or(0)).map(CpuId));
    if ids.is_empty() {
        return Err(bad("a platform file without CPUs: it has no cpu-capacities, freqs or cpus-count"));
    }
    let mut machine = Machine { cpus: ids.into_iter().map(Cpu::new).collect(), ..Machine::default() };
    for cpu in &mut machine.cpus {
        cpu.capacity = capacities.get(&cpu.id).copied().filter(|n| *n <= 1024);
        cpu.max_khz = frequencies.get(&cpu.id).copied();
    }
    machine.sources = all_from(Source::PlatInfo, &machine.cpus);
    let text = |key: &str| conf.get(key).and_then(Node::text).filter(|t| *t != "null").map(str::to_owned);
    machine.model_name = text("name");
    machine.arch = text("abi").map(|abi| match abi.as_str() {
        "arm64" => "aarch64".to_owned(),
        "armeabi" => "arm".to_owned(),
        _ => abi,
    });
    machine.notes = notes(conf, &capacities, &domains);
    Ok(machine.judged(&[]))
}

/// Reads entries such as `0: 446`.
fn by_cpu(node: &Node) -> BTreeMap<CpuId, u32> {
    node.entries().iter().filter_map(|(cpu, value)| Some((id(cpu)?, value.number()?))).collect()
}

fn id(node: &Node) -> Option<CpuId> {
    node.number().filter(|n| *n < MAX_CPUS).map(CpuId)
}

/// Reads the highest frequency of `0: [450000, 850000]`, in kHz.
fn highest((cpu, list): &(Node, Node)) -> Option<(CpuId, u32)> {
    Some((id(cpu)?, list.items().iter().filter_map(Node::number).max()?))
}

fn list(node: &Node) -> Vec<CpuId> {
    node.items().iter().filter_map(id).collect()
}

fn notes(conf: &Node, capacities: &BTreeMap<CpuId, u32>, domains: &[Vec<CpuId>]) -> Vec<String> {
    let mut notes = Vec::new();
    let measured = conf.get("cpu-capacities").and_then(|c| c.get("rtapp")).map(by_cpu).unwrap_or_default();
    for (cpu, own) in measured.iter().filter(|(cpu, own)| capacities.get(cpu).is_some_and(|c| c != *own)) {
        let kernel = capacities.get(cpu).copied().unwrap_or(0);
        notes.push(format!("capacity of CPU {}: {kernel} from the kernel is used, LISA measured {own}", cpu.0));
    }
    if domains.len() > 1 {
        let domains: Vec<String> = domains.iter().map(|d| cpulist::format(d.iter().copied())).collect();
        notes.push(format!("frequency domains: {}", domains.join(" | ")));
    }
    let release = conf.get("kernel").and_then(|k| k.get("version")).and_then(|v| v.get("release"));
    notes.extend(release.and_then(Node::text).map(|release| format!("kernel {release}")));
    notes
}
