//! Reads hwloc's XML (`lstopo --of xml`), versions 1, 2 and 3.
//!
//! The groups come from the `cpuset`s of the objects and not from the nesting, which changed between the versions (a NUMA node was a
//! parent and is now a child). The kinds of core come from hwloc's `cpukind`s: the vendor's names `IntelCore` and `IntelAtom` decide.
//! Capacities and frequencies of a kind become facts of its CPUs and are used like those of a kernel. `forced_efficiency` (higher is
//! faster) may come from an operating system or a user, but hwloc may also have derived it from frequencies during the export, where
//! favoured cores look like a separate kind. It is therefore only used if nothing else decides.
//!
//! hwloc has no name for low-power cores: they are `IntelAtom` too. Of two classes of Atom of different speed, the slower is low-power.
//!
//! A document with its own DTD is refused, so that no entity can expand; the number of nodes is limited.

use super::{all_from, bad};
use crate::cpulist::{self, MAX_CPUS};
use crate::header::set_groups;
use crate::judge::{Ranked, differs};
use crate::machine::{Cpu, Machine, Source};
use crate::user::BadMachine;
use model::CpuId;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeSet;

/// The maximum number of nodes; hwloc writes about ten per CPU.
const MAX_NODES: u32 = 1 << 20;
/// The maximum number of kinds of core; hwloc knows machines with about five.
const MAX_KINDS: usize = 64;

pub(super) fn read(text: &str) -> Result<Machine, BadMachine> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let before_root = text.split("<topology").next().unwrap_or_default();
    if before_root.contains('[') || before_root.contains("<!ENTITY") {
        return Err(bad("an XML file with its own DTD, which hwloc never writes: refused"));
    }
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|why| BadMachine { line: Some(why.pos().row as usize), what: format!("invalid XML: {why}") })?;
    let tree = Tree { document: &document };
    let mut machine = tree.machine()?;
    machine.sources = all_from(Source::Hwloc, &machine.cpus);
    let kinds = tree.kinds(&mut machine)?;
    if machine.cpus.iter().any(|c| c.max_khz.is_some() || c.capacity.is_some() || c.vendor_type.is_some()) {
        machine.sources = all_from(Source::Hwloc, &machine.cpus);
    }
    let ranked = ranks(&machine.cpus, &kinds, &mut machine.notes);
    Ok(machine.judged_by(ranked))
}

/// A kind of core in hwloc's XML.
struct Kind {
    cpus: Vec<CpuId>,
    efficiency: Option<u32>,
    max_khz: Option<u32>,
    capacity: Option<u32>,
    vendor_name: Option<String>,
}

/// Returns how fast a kind of core is, in some unit.
type Speed = fn(&Kind) -> Option<u32>;
/// Returns whether the second of two speeds is of another class than the first.
type Differs = fn(u32, u32) -> bool;

/// An object's number and its CPUs.
type Group = (Option<u32>, Vec<CpuId>);

struct Tree<'a, 'x> {
    document: &'a Document<'x>,
}

impl<'a, 'x> Tree<'a, 'x> {
    fn objects(&self) -> impl Iterator<Item = (&'a str, Node<'a, 'x>)> {
        let objects = self.document.descendants().filter(|n| n.has_tag_name("object"));
        objects.filter_map(|n| Some((n.attribute("type")?, n)))
    }

    fn fail(&self, node: Node<'_, '_>, what: impl Into<String>) -> BadMachine {
        let line = self.document.text_pos_at(node.range().start).row as usize;
        BadMachine { line: Some(line), what: what.into() }
    }

    /// Returns the CPUs of an attribute; none if it is missing.
    fn set(&self, node: Node<'_, '_>, name: &str) -> Result<Vec<CpuId>, BadMachine> {
        match node.attribute(name) {
            Some(text) => cpuset(text).ok_or_else(|| {
                self.fail(node, format!("`{}` is not a cpuset such as 0x000000ff", cpulist::shortened(text)))
            }),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the number and the CPUs of the objects of a type.
    fn groups(&self, is: impl Fn(&str, Node<'_, '_>) -> bool) -> Result<Vec<Group>, BadMachine> {
        let mut groups = Vec::new();
        for (_, node) in self.objects().filter(|(kind, node)| is(kind, *node)).take(MAX_CPUS as usize) {
            let number = node.attribute("os_index").and_then(|n| n.parse().ok());
            groups.push((number, self.set(node, "cpuset")?));
        }
        Ok(groups)
    }

    fn machine(&self) -> Result<Machine, BadMachine> {
        let mut machine = Machine::default();
        let mut ids = BTreeSet::new();
        for (_, node) in self.objects().filter(|(kind, _)| *kind == "PU") {
            let id = node.attribute("os_index").and_then(|n| n.parse().ok()).filter(|n| *n < MAX_CPUS);
            let id = id.ok_or_else(|| self.fail(node, "a PU without a valid os_index"))?;
            ids.insert(CpuId(id));
        }
        let root = self.objects().find(|(kind, _)| *kind == "Machine").map(|(_, node)| node);
        let root = root.ok_or_else(|| bad("an hwloc XML without a Machine object"))?;
        let (usable, complete) = (self.set(root, "cpuset")?, self.set(root, "complete_cpuset")?);
        if ids.is_empty() {
            return Err(self.fail(root, "no PUs: the topology was exported without CPUs"));
        }
        machine.cpus =
            ids.iter().chain(&complete).copied().collect::<BTreeSet<_>>().into_iter().map(Cpu::new).collect();
        for cpu in &mut machine.cpus {
            cpu.online = ids.contains(&cpu.id) && (usable.is_empty() || usable.binary_search(&cpu.id).is_ok());
        }
        let out: Vec<CpuId> = machine.cpus.iter().filter(|c| !c.online).map(|c| c.id).collect();
        if !out.is_empty() {
            let out = cpulist::format(out);
            machine.unknown.push(format!("CPU {out}: offline, or not available to the program that exported this"));
        }
        self.places(&mut machine.cpus)?;
        let info = |name: &str| info(self.document, name).map(str::to_owned);
        machine.arch = info("Architecture").or_else(|| info("CPUVendor").filter(|v| x86(v)).map(|_| "x86".to_owned()));
        machine.model_name = info("CPUModel").map(|m| m.trim().to_owned()).filter(|m| !m.is_empty());
        Ok(machine)
    }

    fn places(&self, cpus: &mut [Cpu]) -> Result<(), BadMachine> {
        for (number, of) in self.groups(|kind, _| kind == "Package" || kind == "Socket")? {
            each(cpus, &of, |c| c.package = number);
        }
        for (number, of) in self.groups(|kind, _| kind == "Die")? {
            each(cpus, &of, |c| c.die = number);
        }
        for (number, of) in self.groups(|kind, n| kind == "Group" && n.attribute("subtype") == Some("Cluster"))? {
            each(cpus, &of, |c| c.cluster = number);
        }
        for (number, of) in self.groups(|kind, _| kind == "NUMANode" || kind == "Node")? {
            each(cpus, &of, |c| c.node = number);
        }
        for (number, of) in self.groups(|kind, _| kind == "Core")? {
            each(cpus, &of, |c| c.core = number);
            set_groups(cpus, &[of], |c| &mut c.siblings);
        }
        for level in [2, 3] {
            // Version 1 has `Cache` with a depth; an instruction cache has cache_type 2.
            let name = format!("L{level}Cache");
            let is = |kind: &str, n: Node<'_, '_>| {
                let depth = n.attribute("depth").and_then(|d| d.parse::<u32>().ok());
                kind == name || (kind == "Cache" && depth == Some(level) && n.attribute("cache_type") != Some("2"))
            };
            for (_, of) in self.groups(is)? {
                set_groups(cpus, &[of], |c| if level == 2 { &mut c.l2 } else { &mut c.l3 });
            }
        }
        Ok(())
    }

    /// Returns the kinds of core; their names, capacities and frequencies become facts of their CPUs.
    fn kinds(&self, machine: &mut Machine) -> Result<Vec<Kind>, BadMachine> {
        let mut kinds = Vec::new();
        for node in self.document.descendants().filter(|n| n.has_tag_name("cpukind")) {
            if kinds.len() >= MAX_KINDS {
                return Err(self.fail(node, "more kinds of core than possible"));
            }
            let info_value = |name: &str| {
                let infos = node.children().filter(|n| n.has_tag_name("info"));
                infos.filter(|n| n.attribute("name") == Some(name)).find_map(|n| n.attribute("value"))
            };
            let mut kind = Kind {
                max_khz: None,
                capacity: None,
                cpus: self.set(node, "cpuset")?,
                efficiency: node.attribute("forced_efficiency").and_then(|n| n.parse().ok()),
                vendor_name: info_value("CoreType").map(str::to_owned),
            };
            let khz = info_value("FrequencyMaxMHz").and_then(super::cpu_table::khz);
            let capacity = info_value("LinuxCapacity").and_then(|n| n.parse::<u32>().ok()).filter(|n| *n <= 1024);
            (kind.max_khz, kind.capacity) = (khz, capacity);
            each(&mut machine.cpus, &kind.cpus, |c| {
                c.max_khz = c.max_khz.or(khz);
                c.capacity = c.capacity.or(capacity);
                c.vendor_type = c.vendor_type.take().or_else(|| kind.vendor_name.clone());
            });
            kinds.push(kind);
        }
        Ok(kinds)
    }
}

fn each(cpus: &mut [Cpu], of: &[CpuId], mut what: impl FnMut(&mut Cpu)) {
    for id in of {
        if let Ok(at) = cpus.binary_search_by_key(id, |c| c.id)
            && let Some(cpu) = cpus.get_mut(at)
        {
            what(cpu);
        }
    }
}

/// Returns the value of the first `<info name=… value=…>` with a name.
fn info<'a>(document: &'a Document<'_>, name: &str) -> Option<&'a str> {
    let infos = document.descendants().filter(|n| n.has_tag_name("info"));
    infos.filter(|n| n.attribute("name") == Some(name)).find_map(|n| n.attribute("value"))
}

fn x86(vendor: &str) -> bool {
    matches!(vendor.trim(), "GenuineIntel" | "AuthenticAMD" | "HygonGenuine" | "CentaurHauls" | "Shanghai")
}

/// Returns the rank of each CPU's kind, by the vendor's names or else by efficiency.
fn ranks(cpus: &[Cpu], kinds: &[Kind], notes: &mut Vec<String>) -> Option<Ranked> {
    let intel = |kind: &Kind| match kind.vendor_name.as_deref() {
        Some("IntelAtom") => Some(0),
        Some("IntelCore") => Some(1),
        _ => None,
    };
    let by_vendor = rank_by(cpus, kinds, true, &intel);
    let by_efficiency = rank_by(cpus, kinds, false, &|k: &Kind| k.efficiency);
    if let (Some(vendor), Some(efficiency)) = (&by_vendor, &by_efficiency) {
        // Where the vendor's names order two CPUs, the efficiencies must not reverse the order.
        let pairs: Vec<(u32, u32)> = vendor.rank.iter().zip(&efficiency.rank).filter_map(|(a, b)| a.zip(*b)).collect();
        let fastest_atom = pairs.iter().filter(|(rank, _)| *rank == 0).map(|(_, e)| *e).max();
        let slowest_core = pairs.iter().filter(|(rank, _)| *rank == 1).map(|(_, e)| *e).min();
        if fastest_atom >= slowest_core {
            notes
                .push("hwloc: the efficiencies of the kinds contradict their names IntelAtom and IntelCore".to_owned());
        }
    }
    by_low_power(cpus, kinds, &intel).or(by_vendor).or(by_efficiency)
}

/// Returns the ranks of three classes, if the vendor's names are known and the Atoms have two speeds: by capacity, maximum frequency or
/// efficiency, the first by which they are two.
fn by_low_power(cpus: &[Cpu], kinds: &[Kind], intel: &dyn Fn(&Kind) -> Option<u32>) -> Option<Ranked> {
    let atoms = || kinds.iter().filter(|kind| intel(kind) == Some(0));
    // Frequencies and capacities may vary a little within a class. An efficiency is a rank, of which any difference counts; hwloc may have
    // derived it from the frequencies, so it is not used where these are known.
    let efficiency: Speed = |k| k.efficiency.filter(|_| k.max_khz.is_none());
    let of_rank = |slow: u32, fast: u32| slow < fast;
    let speeds: [(Speed, Differs); 3] = [(|k| k.capacity, differs), (|k| k.max_khz, differs), (efficiency, of_rank)];
    let two = |(speed, differ): &(Speed, Differs)| {
        let all: BTreeSet<u32> = atoms().map(speed).collect::<Option<_>>()?;
        let [slow, fast] = all.into_iter().collect::<Vec<_>>().try_into().ok()?;
        differ(slow, fast).then_some((*speed, slow))
    };
    let (speed, slow) = speeds.iter().find_map(two)?;
    let class = |kind: &Kind| match intel(kind)? {
        0 if speed(kind) == Some(slow) => Some(0),
        rank => Some(rank + 1),
    };
    let ranked = rank_by(cpus, kinds, true, &class)?;
    (ranked.classes == 3).then_some(Ranked { low_power: true, ..ranked })
}

/// Returns the ranks by a value of each kind; `None` unless every kind has one and at least two differ.
fn rank_by(cpus: &[Cpu], kinds: &[Kind], from_vendor: bool, of: &dyn Fn(&Kind) -> Option<u32>) -> Option<Ranked> {
    let values: Vec<u32> = kinds.iter().map(of).collect::<Option<_>>()?;
    let distinct: Vec<u32> = values.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut rank: Vec<Option<u32>> = vec![None; cpus.len()];
    for (kind, value) in kinds.iter().zip(&values) {
        let class = distinct.iter().position(|v| v == value).and_then(|n| u32::try_from(n).ok());
        for id in &kind.cpus {
            if let Ok(at) = cpus.binary_search_by_key(id, |c| c.id)
                && let Some(slot) = rank.get_mut(at)
            {
                *slot = class;
            }
        }
    }
    let classes = u32::try_from(distinct.len()).ok().filter(|n| *n > 1)?;
    Some(Ranked { from_vendor, source: Source::Hwloc, rank, classes, low_power: false })
}

/// Parses a set of hwloc: 32-bit words, the highest first, `0x000000ff,0xffffffff`. Infinite sets (`0xf...f`) are refused.
fn cpuset(text: &str) -> Option<Vec<CpuId>> {
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    if words.len() > MAX_CPUS as usize / 32 {
        return None;
    }
    let mut ids = Vec::new();
    for (at, word) in (0_u32..).zip(words.iter().rev()) {
        // Words of zeros are empty.
        let bits = match word.strip_prefix("0x").unwrap_or(word) {
            "" => 0,
            hex => u32::from_str_radix(hex, 16).ok()?,
        };
        ids.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| CpuId(at * 32 + bit)));
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpusets_are_parsed() {
        let ids = |text| cpuset(text).map(cpulist::format);
        assert_eq!(ids("0x0000000f"), Some("0-3".to_owned()));
        assert_eq!(ids("0x00000001,,0x80000000"), Some("31,64".to_owned()));
        assert_eq!(ids("0x0"), Some(String::new()));
        for not in ["0xf...f", "0x1ffffffff", "x", "0xffffffff,-1"] {
            assert_eq!(ids(not), None, "{not}");
        }
        assert_eq!(cpuset(&"0xffffffff,".repeat(300)), None);
    }
}
