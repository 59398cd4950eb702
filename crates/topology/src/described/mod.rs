//! Reads machines described by other tools. The format is detected from the text, never from the name of the file.
//!
//! | text | written by | contains |
//! |---|---|---|
//! | hwloc XML, versions 1 to 3 | `lstopo --of xml` | packages, dies, caches, cores, nodes, kinds of core |
//! | a table of CPUs | `lscpu -e`, `lscpu -p`, `lscpu -J -e` | sockets, cores, caches, nodes, frequencies |
//! | a summary | `lscpu`, `lscpu -J` | CPU numbers, nodes, the number of cores |
//! | `/proc/cpuinfo` | the kernel | x86: packages and cores; Arm: each core's name |
//! | a platform's YAML | LISA (`plat_info.yml`) | capacities, frequencies, frequency domains |
//! | the JSON of `corewise topo --json` | corewise | everything |
//! | TOML | the user | see [`Machine::from_user`] |

mod cpu_table;
mod hwloc;
mod lscpu;
mod pepc;
mod plat_info;
mod yaml;

use crate::cpuinfo;
use crate::machine::{Cpu, Fact, Machine, Source};
use crate::user::BadMachine;
use model::CpuId;
use std::collections::BTreeMap;

/// The number of bytes in which the format must be recognisable.
const HEAD_BYTES: usize = 8192;

/// The format of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Hwloc,
    CorewiseJson,
    LscpuJson,
    Lscpu,
    CpuInfo,
    PlatInfo,
}

impl Kind {
    /// Detects the format of a text; `None` if it is unknown, or the user's TOML.
    fn of(text: &str) -> Option<Self> {
        let start = text.trim_start_matches('\u{feff}').trim_start();
        // A description is recognisable by its beginning; a large trace is not searched.
        let end = start.char_indices().map(|(at, _)| at).find(|at| *at >= HEAD_BYTES).unwrap_or(start.len());
        let head = start.get(..end).unwrap_or_default();
        if start.starts_with('<') {
            return head.contains("<topology").then_some(Self::Hwloc);
        }
        if start.starts_with('{') {
            let has = |key: &str| head.contains(key);
            return if has("\"model_name\"") && has("\"cpus\"") {
                Some(Self::CorewiseJson)
            } else {
                (has("\"lscpu\"") || (has("\"cpus\"") && has("\"cpu\""))).then_some(Self::LscpuJson)
            };
        }
        let key = |line: &str, wanted: &str| line.split_once(':').is_some_and(|(key, _)| key.trim() == wanted);
        let any = |is: &dyn Fn(&str) -> bool| head.lines().any(is);
        if any(&|l| key(l, "processor") && cpuinfo::processor(l).is_some()) {
            Some(Self::CpuInfo)
        } else if any(&|l| key(l, "CPU(s)")) || any(&cpu_table::is_header) {
            Some(Self::Lscpu)
        } else if any(&|l| key(l, "platform-info") || key(l, "cpu-capacities")) {
            Some(Self::PlatInfo)
        } else {
            None
        }
    }
}

/// Returns whether a text describes a machine in a format of another tool or as the user's TOML (with `[[cpus]]`), and is not a trace.
/// The first few kilobytes are enough.
#[must_use]
pub fn is_description(text: &str) -> bool {
    Kind::of(text).is_some() || text.lines().take(1000).any(|l| l.trim_start().starts_with("[[cpus]]"))
}

impl Machine {
    /// Reads a description of a supported tool: hwloc's XML, `lscpu`'s outputs, `/proc/cpuinfo`, LISA's platform file, corewise's JSON, or
    /// else the user's TOML ([`Machine::from_user`]).
    ///
    /// # Errors
    /// If the text is invalid, with the line if known.
    pub fn from_text(text: &str) -> Result<Self, BadMachine> {
        match Kind::of(text) {
            Some(Kind::Hwloc) => hwloc::read(text),
            Some(Kind::CorewiseJson) => read_json(text),
            Some(Kind::LscpuJson) => lscpu::read_json(text),
            Some(Kind::Lscpu) => lscpu::read_text(text),
            Some(Kind::CpuInfo) => of_cpuinfo(text),
            Some(Kind::PlatInfo) => plat_info::read(text),
            None => match text.trim_start().chars().next() {
                Some('<') => Err(bad("an XML file, but not from hwloc: it has no <topology>")),
                Some('{') => Err(bad("a JSON file, but neither from `lscpu -J` nor from `corewise topo --json`")),
                _ => Self::from_user(text),
            },
        }
    }

    /// Reads an emulated machine of pepc: its `sys/inlinefiles.txt`, and `proc/cpuinfo` if it has one.
    #[must_use]
    pub fn from_pepc(inline_files: &str, cpuinfo: Option<String>) -> Self {
        Self::from_sysfs(&pepc::files(inline_files, cpuinfo))
    }
}

fn bad(what: impl Into<String>) -> BadMachine {
    BadMachine { line: None, what: what.into() }
}

/// Reads a `/proc/cpuinfo` without any other file.
fn of_cpuinfo(text: &str) -> Result<Machine, BadMachine> {
    let files = BTreeMap::from([("/proc/cpuinfo", text)]);
    let machine = Machine::from_sysfs(&files);
    if machine.cpus.is_empty() { Err(bad("a /proc/cpuinfo without any `processor`")) } else { Ok(machine) }
}

/// Reads the JSON of `corewise topo --json`, and checks that it is consistent.
fn read_json(text: &str) -> Result<Machine, BadMachine> {
    let machine: Machine = serde_json::from_str(text).map_err(|why| of_json(&why))?;
    let classes = machine.class_names.len();
    let sorted = machine.cpus.is_sorted_by(|a, b| a.id < b.id);
    let possible = machine.cpus.iter().all(|c| c.id.0 < crate::cpulist::MAX_CPUS);
    let classed = machine.class.iter().flat_map(|j| std::iter::once(&j.best).chain(&j.against));
    if !sorted || !possible {
        return Err(bad("the CPUs in `cpus` are not in order of `id`, or have too large numbers"));
    }
    if machine.class.len() != machine.cpus.len() || !classed.into_iter().all(|c| (c.value as usize) < classes) {
        return Err(bad("`class` and `class_names` do not match `cpus`"));
    }
    machine.costs.as_ref().map_or(Ok(()), crate::Costs::check).map_err(|why| bad(format!("`costs`: {why}")))?;
    Ok(machine)
}

fn of_json(why: &serde_json::Error) -> BadMachine {
    let line = why.line();
    BadMachine { line: (line > 0).then_some(line), what: format!("invalid JSON: {why}") }
}

/// Groups the CPUs with the same key; CPUs without a key are in no group.
fn group_by_key<K: Ord>(of: impl Iterator<Item = (CpuId, Option<K>)>) -> Vec<Vec<CpuId>> {
    let mut groups: BTreeMap<K, Vec<CpuId>> = BTreeMap::new();
    for (id, key) in of {
        if let Some(key) = key {
            groups.entry(key).or_default().push(id);
        }
    }
    groups.into_values().collect()
}

/// Returns the facts that any CPU has, all with one source.
fn all_from(source: Source, cpus: &[Cpu]) -> BTreeMap<Fact, Source> {
    let known = |fact: &Fact| cpus.iter().any(|c| c.has(*fact));
    Fact::ALL.into_iter().filter(known).map(|fact| (fact, source)).collect()
}
