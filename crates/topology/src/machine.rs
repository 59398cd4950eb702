//! The machine model that the rest of corewise uses.

use crate::costs::Costs;
use model::{CoreType, CpuId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The source of a fact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The user's machine file (`--machine FILE`).
    User,
    /// `/sys/devices/cpu_{core,atom,lowpower}/cpus`, or the hybrid PMUs that perf recorded.
    PmuCpuList,
    /// `cpu_capacity`.
    CpuCapacity,
    /// CPPC highest performance.
    CppcHighestPerf,
    /// `cpuinfo_max_freq`.
    MaxFrequency,
    /// The topology that the recording tool stored with the trace.
    TraceHeader,
    /// `/sys/devices/system/cpu/cpu*/{topology,cache}`.
    Sysfs,
    /// `/proc/cpuinfo`.
    CpuInfo,
    /// An XML that hwloc exported.
    Hwloc,
    /// The output of `lscpu`.
    Lscpu,
    /// LISA's `plat_info.yml`.
    PlatInfo,
    /// No source has the fact; a neutral value is assumed.
    Assumed,
}

impl Source {
    /// Returns the name in tables, drawings and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::PmuCpuList => "pmu_cpu_list",
            Self::CpuCapacity => "cpu_capacity",
            Self::CppcHighestPerf => "cppc_highest_perf",
            Self::MaxFrequency => "max_frequency",
            Self::TraceHeader => "trace_header",
            Self::Sysfs => "sysfs",
            Self::CpuInfo => "cpu_info",
            Self::Hwloc => "hwloc",
            Self::Lscpu => "lscpu",
            Self::PlatInfo => "plat_info",
            Self::Assumed => "assumed",
        }
    }
}

/// A fact and its source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim<T> {
    /// The fact.
    pub value: T,
    /// The source.
    pub source: Source,
}

/// The accepted claim, and the claims that differ from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Judged<T> {
    /// The accepted claim.
    pub best: Claim<T>,
    /// Differing claims of other sources.
    pub against: Vec<Claim<T>>,
}

/// The kinds of fact about a CPU, named as the fields of [`Cpu`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// [`Cpu::package`].
    Package,
    /// [`Cpu::die`].
    Die,
    /// [`Cpu::cluster`].
    Cluster,
    /// [`Cpu::core`].
    Core,
    /// [`Cpu::siblings`].
    Siblings,
    /// [`Cpu::l2`].
    L2,
    /// [`Cpu::l3`].
    L3,
    /// [`Cpu::node`].
    Node,
    /// [`Cpu::capacity`].
    Capacity,
    /// [`Cpu::highest_perf`].
    HighestPerf,
    /// [`Cpu::max_khz`].
    MaxKhz,
    /// [`Cpu::vendor_type`].
    VendorType,
}

impl Fact {
    /// All facts, in the order of the drawing.
    pub const ALL: [Self; 12] = [
        Self::Package,
        Self::Die,
        Self::Cluster,
        Self::Core,
        Self::Siblings,
        Self::L2,
        Self::L3,
        Self::Node,
        Self::Capacity,
        Self::HighestPerf,
        Self::MaxKhz,
        Self::VendorType,
    ];

    /// Returns the field's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Die => "die",
            Self::Cluster => "cluster",
            Self::Core => "core",
            Self::Siblings => "siblings",
            Self::L2 => "l2",
            Self::L3 => "l3",
            Self::Node => "node",
            Self::Capacity => "capacity",
            Self::HighestPerf => "highest_perf",
            Self::MaxKhz => "max_khz",
            Self::VendorType => "vendor_type",
        }
    }
}

/// A logical processor. A fact without a source is `None`, never guessed from CPU numbers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cpu {
    /// The kernel's CPU number.
    pub id: CpuId,
    /// Whether the CPU was online.
    pub online: bool,
    /// Physical package.
    pub package: Option<u32>,
    /// Die within the package.
    #[serde(default)]
    pub die: Option<u32>,
    /// Cluster or module within the package.
    pub cluster: Option<u32>,
    /// Core number within the package (on some machines, within the die or cluster).
    pub core: Option<u32>,
    /// The logical processors of the same core, including this one; empty if unknown.
    pub siblings: Vec<CpuId>,
    /// The logical processors that share its L2 cache, including this one; empty if unknown.
    pub l2: Vec<CpuId>,
    /// The logical processors that share its L3 cache, including this one; empty if unknown.
    pub l3: Vec<CpuId>,
    /// NUMA node.
    pub node: Option<u32>,
    /// The kernel's `cpu_capacity`, 0–1024.
    pub capacity: Option<u32>,
    /// CPPC highest performance, on the firmware's own scale.
    #[serde(default)]
    pub highest_perf: Option<u32>,
    /// Highest frequency, kHz.
    pub max_khz: Option<u32>,
    /// The vendor's name for the core type (`cpu_core`, `big`, `Cortex-A76`), if a source has one.
    pub vendor_type: Option<String>,
    /// The idle states by number (cpuidle); empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_states: Vec<IdleState>,
}

/// An idle state of a CPU, as the kernel's driver describes it (`cpuidle/stateN`).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IdleState {
    /// The driver's name for it: POLL, C1E, C6, …
    pub name: String,
    /// The minimum time in the state that saves energy, µs.
    pub target_residency_us: Option<u32>,
    /// The time to leave the state, µs.
    pub exit_latency_us: Option<u32>,
}

impl Cpu {
    /// Returns an online CPU with only a number.
    #[must_use]
    pub fn new(id: CpuId) -> Self {
        Self { id, online: true, ..Self::default() }
    }

    /// Returns whether a fact is known.
    #[must_use]
    pub fn has(&self, fact: Fact) -> bool {
        match fact {
            Fact::Package => self.package.is_some(),
            Fact::Die => self.die.is_some(),
            Fact::Cluster => self.cluster.is_some(),
            Fact::Core => self.core.is_some(),
            Fact::Siblings => !self.siblings.is_empty(),
            Fact::L2 => !self.l2.is_empty(),
            Fact::L3 => !self.l3.is_empty(),
            Fact::Node => self.node.is_some(),
            Fact::Capacity => self.capacity.is_some(),
            Fact::HighestPerf => self.highest_perf.is_some(),
            Fact::MaxKhz => self.max_khz.is_some(),
            Fact::VendorType => self.vendor_type.is_some(),
        }
    }
}

/// A machine. Its JSON (`corewise topo --json`) has fields with these names.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The processor model, if recorded.
    pub model_name: Option<String>,
    /// `x86_64`, `aarch64`, …, if recorded.
    pub arch: Option<String>,
    /// The logical processors, in order of their numbers.
    pub cpus: Vec<Cpu>,
    /// For each of `cpus`: the class of its core (0 = slowest), determined from all sources. Differing claims have the same
    /// numbering.
    pub class: Vec<Judged<u32>>,
    /// The names of the classes, slowest first; `[Uniform]` if there is only one.
    pub class_names: Vec<CoreType>,
    /// The source of each kind of fact; unknown kinds are absent.
    #[serde(default)]
    pub sources: BTreeMap<Fact, Source>,
    /// Notes on conflicts between sources, and on what they show beyond the core classes.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What could not be read or determined, and why.
    pub unknown: Vec<String>,
    /// What its cores cost, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
}

impl Machine {
    /// Returns a machine of which only the CPU numbers are known.
    #[must_use]
    pub fn of_cpus(ids: impl IntoIterator<Item = CpuId>) -> Self {
        let mut ids: Vec<CpuId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { cpus: ids.into_iter().map(Cpu::new).collect(), ..Self::default() }.judged(&[])
    }

    /// Returns the CPU with a number, if the machine has it.
    #[must_use]
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |c| c.id).ok().and_then(|i| self.cpus.get(i))
    }

    /// Returns the class of a CPU's core, 0 = slowest; 0 for an unknown CPU.
    #[must_use]
    pub fn core_class(&self, cpu: CpuId) -> u32 {
        let at = self.cpus.binary_search_by_key(&cpu, |c| c.id);
        at.ok().and_then(|i| self.class.get(i)).map_or(0, |j| j.best.value)
    }

    /// Returns the type of a CPU's core.
    #[must_use]
    pub fn core_type(&self, cpu: CpuId) -> CoreType {
        self.class_names.get(self.core_class(cpu) as usize).copied().unwrap_or(CoreType::Uniform)
    }

    /// Returns the type of the cores that a PMU counts on: that of the CPUs that a source lists for it, or else by its name. `None` if it
    /// is not one of a type of cores.
    #[must_use]
    pub fn core_type_of_pmu(&self, pmu: &str) -> Option<CoreType> {
        let mut of_pmu = self.cpus.iter().filter(|cpu| cpu.vendor_type.as_deref() == Some(pmu));
        let Some(first) = of_pmu.next().map(|cpu| self.core_type(cpu.id)) else { return crate::core_type_of_pmu(pmu) };
        of_pmu.all(|cpu| self.core_type(cpu.id) == first).then_some(first)
    }
}
