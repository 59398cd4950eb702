//! Creates a machine from the topology that a recording tool stored with its trace.

use crate::cpulist;
use crate::judge::Pmu;
use crate::machine::{Cpu, Fact, Machine, Source};
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};

/// The facts about a machine in the headers of a perf.data, in its own terms; missing facts stay empty.
///
/// | field | header of perf.data |
/// |---|---|
/// | `arch`, `cpudesc` | `HEADER_ARCH`, `HEADER_CPUDESC` |
/// | `online`, `available` | `HEADER_NRCPUS` |
/// | `core_siblings`, `thread_siblings`, `cpus` | `HEADER_CPU_TOPOLOGY` |
/// | `caches` | `HEADER_CACHE` |
/// | `nodes` | `HEADER_NUMA_TOPOLOGY` |
/// | `hybrid_pmus` | `HEADER_HYBRID_TOPOLOGY` |
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeaderTopology {
    /// `x86_64`, `aarch64`, …
    pub arch: Option<String>,
    /// Processor model.
    pub cpudesc: Option<String>,
    /// The number of CPUs online.
    pub online: Option<u32>,
    /// The number of CPUs that the kernel can have; their numbers are `0..available`.
    pub available: Option<u32>,
    /// For each package, the list of its CPUs (`0-7`). perf calls these sibling cores.
    pub core_siblings: Vec<String>,
    /// For each core, the list of its threads (`0-1`).
    pub thread_siblings: Vec<String>,
    /// The core, package and die by CPU number.
    pub cpus: Vec<HeaderCpu>,
    /// Caches of all levels.
    pub caches: Vec<HeaderCache>,
    /// NUMA nodes: number and CPU list.
    pub nodes: Vec<(u32, String)>,
    /// Hybrid PMUs: name (`cpu_core`, `cpu_atom`, `cpu_lowpower`) and CPU list.
    pub hybrid_pmus: Vec<(String, String)>,
}

/// A CPU's position, as perf stores it: `u32::MAX` (-1) if unknown, as for an offline CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeaderCpu {
    /// Core within the package.
    pub core: Option<u32>,
    /// Package.
    pub socket: Option<u32>,
    /// Die; older files have none.
    pub die: Option<u32>,
}

/// A cache and the CPUs that share it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeaderCache {
    /// 1, 2, 3, …
    pub level: u32,
    /// `Data`, `Instruction`, `Unified`.
    pub kind: String,
    /// The CPUs that share it (`0-1`).
    pub cpus: String,
}

impl Machine {
    /// Creates the machine of a recording. Invalid lists are noted in [`Machine::unknown`] and ignored.
    #[must_use]
    pub fn from_trace_header(header: &HeaderTopology) -> Self {
        let mut unknown = Vec::new();
        // No machine has more lists of a kind than CPUs. The number of notes is limited.
        let max_lists = cpulist::MAX_CPUS as usize;
        let mut list = |what: &str, text: &str| {
            cpulist::parse(text).unwrap_or_else(|why| {
                if unknown.len() < 50 {
                    unknown.push(format!("trace header, {what}: {why}"));
                }
                Vec::new()
            })
        };
        let packages: Vec<_> = header.core_siblings.iter().take(max_lists).map(|t| list("sibling cores", t)).collect();
        let cores: Vec<_> = header.thread_siblings.iter().take(max_lists).map(|t| list("sibling threads", t)).collect();
        let pmus: Vec<_> = header.hybrid_pmus.iter().take(16).map(|(name, t)| (name, list(name, t))).collect();
        let nodes: Vec<_> =
            header.nodes.iter().take(max_lists).map(|(node, t)| (*node, list("NUMA node", t))).collect();
        let caches: Vec<_> = header
            .caches
            .iter()
            .filter(|c| c.kind != "Instruction" && (c.level == 2 || c.level == 3))
            .take(2 * max_lists)
            .map(|c| (c.level, list("cache", &c.cpus)))
            .collect();

        // The lists only have online CPUs; the counts give the number of all CPUs.
        let named: BTreeSet<CpuId> = packages.iter().chain(&cores).flatten().copied().collect();
        let count = header.available.or(header.online).unwrap_or(0);
        let count = count.max(u32::try_from(header.cpus.len()).unwrap_or(u32::MAX));
        if count > cpulist::MAX_CPUS {
            unknown.push(format!("trace header: {count} CPUs are more than possible"));
        }
        let numbered = if count > cpulist::MAX_CPUS { 0..0 } else { 0..count };
        let ids: BTreeSet<CpuId> = numbered.map(CpuId).chain(named.iter().copied()).collect();
        if named.is_empty() && header.online.is_some_and(|n| n < count) {
            unknown.push(format!("which {} of {count} CPUs were online", header.online.unwrap_or(0)));
        }

        let mut cpus: Vec<Cpu> = ids.into_iter().map(Cpu::new).collect();
        for cpu in &mut cpus {
            cpu.online = named.is_empty() || named.contains(&cpu.id);
            if let Some(position) = header.cpus.get(cpu.id.0 as usize) {
                let known = |n: Option<u32>| n.filter(|n| *n < u32::from(u16::MAX));
                (cpu.core, cpu.package, cpu.die) = (known(position.core), known(position.socket), known(position.die));
            }
        }
        set_groups(&mut cpus, &cores, |cpu| &mut cpu.siblings);
        for (level, of) in caches {
            set_groups(&mut cpus, &[of], |cpu| if level == 2 { &mut cpu.l2 } else { &mut cpu.l3 });
        }
        if cpus.iter().all(|c| c.package.is_none()) {
            for (number, package) in (0..).zip(&packages) {
                cpus.iter_mut().filter(|c| package.binary_search(&c.id).is_ok()).for_each(|c| c.package = Some(number));
            }
        }
        for (node, of) in nodes {
            cpus.iter_mut().filter(|c| of.binary_search(&c.id).is_ok()).for_each(|c| c.node = Some(node));
        }
        let mut pmu: Vec<Option<Pmu>> = vec![None; if pmus.is_empty() { 0 } else { cpus.len() }];
        for (name, of) in pmus {
            for (cpu, slot) in cpus.iter_mut().zip(&mut pmu).filter(|(c, _)| of.binary_search(&c.id).is_ok()) {
                *slot = slot.or(Pmu::from_name(name));
                cpu.vendor_type.get_or_insert_with(|| name.clone());
            }
        }
        let source = |fact| if fact == Fact::VendorType { Source::PmuCpuList } else { Source::TraceHeader };
        let known = |fact: &Fact| cpus.iter().any(|c| c.has(*fact));
        let sources: BTreeMap<_, _> = Fact::ALL.into_iter().filter(known).map(|f| (f, source(f))).collect();
        let (arch, model_name) = (header.arch.clone(), header.cpudesc.clone());
        Self { model_name, arch, cpus, sources, unknown, ..Self::default() }.judged(&pmu)
    }
}

impl Machine {
    /// Creates the machine of a recording that has separate facts for each CPU (capacity, highest frequency, type).
    #[must_use]
    pub fn of_trace(mut cpus: Vec<Cpu>, arch: Option<String>) -> Self {
        cpus.sort_by_key(|c| c.id);
        cpus.dedup_by_key(|c| c.id);
        let known = |fact: &Fact| cpus.iter().any(|c| c.has(*fact));
        let sources = Fact::ALL.into_iter().filter(known).map(|f| (f, Source::TraceHeader)).collect();
        Self { arch, cpus, sources, ..Self::default() }.judged(&[])
    }
}

/// Sets the group of each CPU in a group. A CPU that already has a group keeps it, so that overlapping groups cannot grow. Groups
/// larger than possible are ignored.
pub(crate) fn set_groups(cpus: &mut [Cpu], groups: &[Vec<CpuId>], field: impl Fn(&mut Cpu) -> &mut Vec<CpuId>) {
    for group in groups.iter().filter(|g| g.len() <= cpulist::MAX_GROUP) {
        for id in group {
            let Ok(at) = cpus.binary_search_by_key(id, |c| c.id) else { continue };
            if let Some(slot) = cpus.get_mut(at).map(&field)
                && slot.is_empty()
            {
                slot.clone_from(group);
            }
        }
    }
}
