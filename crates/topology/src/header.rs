//! A machine from what a recording tool stored with its trace.

use crate::cpulist;
use crate::judge::Pmu;
use crate::machine::{Cpu, Fact, Machine, Source};
use model::CpuId;
use std::collections::{BTreeMap, BTreeSet};

/// What the headers of a perf.data say of the machine, in their own words; what a file lacks stays empty.
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
    /// How many CPUs were online.
    pub online: Option<u32>,
    /// How many CPUs the kernel could have; their numbers are `0..available`.
    pub available: Option<u32>,
    /// A list per package: the CPUs in it (`0-7`). perf calls these sibling cores.
    pub core_siblings: Vec<String>,
    /// A list per core: the CPUs that are its threads (`0-1`).
    pub thread_siblings: Vec<String>,
    /// By CPU number: its core, package and die.
    pub cpus: Vec<HeaderCpu>,
    /// Caches of all levels.
    pub caches: Vec<HeaderCache>,
    /// NUMA nodes: number and CPU list.
    pub nodes: Vec<(u32, String)>,
    /// Hybrid PMUs: name (`cpu_core`, `cpu_atom`, `cpu_lowpower`) and CPU list.
    pub hybrid_pmus: Vec<(String, String)>,
}

/// A CPU's place, as perf stores it: `u32::MAX` (-1) where it knows none, as for an offline CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeaderCpu {
    /// Core within the package.
    pub core: Option<u32>,
    /// Package.
    pub socket: Option<u32>,
    /// Die; older files have none.
    pub die: Option<u32>,
}

/// A cache and who shares it.
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
    /// Describes the machine of a recording. Lists that are not lists are noted in [`Machine::unknown`] and left out.
    #[must_use]
    pub fn from_trace_header(header: &HeaderTopology) -> Self {
        let mut unknown = Vec::new();
        // No machine has more lists of a kind than CPUs, and nobody reads a note for each of thousands.
        let most = cpulist::MAX_CPUS as usize;
        let mut list = |what: &str, text: &str| {
            cpulist::parse(text).unwrap_or_else(|why| {
                if unknown.len() < 50 {
                    unknown.push(format!("trace header, {what}: {why}"));
                }
                Vec::new()
            })
        };
        let packages: Vec<_> = header.core_siblings.iter().take(most).map(|t| list("sibling cores", t)).collect();
        let cores: Vec<_> = header.thread_siblings.iter().take(most).map(|t| list("sibling threads", t)).collect();
        let pmus: Vec<_> = header.hybrid_pmus.iter().take(16).map(|(name, t)| (name, list(name, t))).collect();
        let nodes: Vec<_> = header.nodes.iter().take(most).map(|(node, t)| (*node, list("NUMA node", t))).collect();
        let caches: Vec<_> = header
            .caches
            .iter()
            .filter(|c| c.kind != "Instruction" && (c.level == 2 || c.level == 3))
            .take(2 * most)
            .map(|c| (c.level, list("cache", &c.cpus)))
            .collect();

        // The lists name online CPUs only; the counts say how many there are, whatever their numbers.
        let named: BTreeSet<CpuId> = packages.iter().chain(&cores).flatten().copied().collect();
        let most = header.available.or(header.online).unwrap_or(0);
        let most = most.max(u32::try_from(header.cpus.len()).unwrap_or(u32::MAX));
        if most > cpulist::MAX_CPUS {
            unknown.push(format!("trace header: {most} CPUs are too many to be believed"));
        }
        let numbered = if most > cpulist::MAX_CPUS { 0..0 } else { 0..most };
        let ids: BTreeSet<CpuId> = numbered.map(CpuId).chain(named.iter().copied()).collect();
        if named.is_empty() && header.online.is_some_and(|n| n < most) {
            unknown.push(format!("which {} of {most} CPUs were online", header.online.unwrap_or(0)));
        }

        let mut cpus: Vec<Cpu> = ids.into_iter().map(Cpu::new).collect();
        for cpu in &mut cpus {
            cpu.online = named.is_empty() || named.contains(&cpu.id);
            if let Some(place) = header.cpus.get(cpu.id.0 as usize) {
                let known = |n: Option<u32>| n.filter(|n| *n < u32::from(u16::MAX));
                (cpu.core, cpu.package, cpu.die) = (known(place.core), known(place.socket), known(place.die));
            }
        }
        spread(&mut cpus, &cores, |cpu| &mut cpu.siblings);
        for (level, of) in caches {
            spread(&mut cpus, &[of], |cpu| if level == 2 { &mut cpu.l2 } else { &mut cpu.l3 });
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
                *slot = slot.or(Pmu::of_name(name));
                cpu.vendor_type.get_or_insert_with(|| name.clone());
            }
        }
        let source = |fact| if fact == Fact::VendorType { Source::PmuCpuList } else { Source::TraceHeader };
        let known = |fact: &Fact| cpus.iter().any(|c| c.knows(*fact));
        let sources: BTreeMap<_, _> = Fact::ALL.into_iter().filter(known).map(|f| (f, source(f))).collect();
        let (arch, model_name) = (header.arch.clone(), header.cpudesc.clone());
        Self { model_name, arch, cpus, sources, unknown, ..Self::default() }.judged(&pmu)
    }
}

impl Machine {
    /// Describes the machine of a recording that tells of each CPU by itself (capacity, highest frequency, type).
    #[must_use]
    pub fn of_trace(mut cpus: Vec<Cpu>, arch: Option<String>) -> Self {
        cpus.sort_by_key(|c| c.id);
        cpus.dedup_by_key(|c| c.id);
        let known = |fact: &Fact| cpus.iter().any(|c| c.knows(*fact));
        let sources = Fact::ALL.into_iter().filter(known).map(|f| (f, Source::TraceHeader)).collect();
        Self { arch, cpus, sources, ..Self::default() }.judged(&[])
    }
}

/// Gives each CPU of a group the whole group; a CPU that has one already keeps it, so that groups that overlap cannot grow,
/// and a group beyond belief is nobody's.
pub(crate) fn spread(cpus: &mut [Cpu], groups: &[Vec<CpuId>], field: impl Fn(&mut Cpu) -> &mut Vec<CpuId>) {
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
