//! The machine as the rest of corewise sees it.

use model::{CoreType, CpuId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a fact comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The user said so (`--machine FILE`).
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
    /// What `lscpu` printed.
    Lscpu,
    /// LISA's `plat_info.yml`.
    PlatInfo,
    /// No source says anything; the neutral value is assumed.
    Assumed,
}

impl Source {
    /// The word in tables and drawings, as in JSON.
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

/// A fact and who says so.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim<T> {
    /// The fact.
    pub value: T,
    /// Who says so.
    pub source: Source,
}

/// The claim believed, and those that say otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Judged<T> {
    /// Believed.
    pub best: Claim<T>,
    /// Differing claims of other sources.
    pub against: Vec<Claim<T>>,
}

/// The kinds of fact that are kept of a CPU, named as the fields of [`Cpu`].
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
    /// All of them, in the order of the drawing.
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

    /// The field's name.
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

/// A logical processor. What no source tells is `None`, never guessed from numbers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cpu {
    /// The kernel's number.
    pub id: CpuId,
    /// Whether it was online.
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
    /// Logical processors of the same core, itself included; empty where unknown.
    pub siblings: Vec<CpuId>,
    /// Logical processors that share its L2 cache, itself included; empty where unknown.
    pub l2: Vec<CpuId>,
    /// Logical processors that share its L3 cache, itself included; empty where unknown.
    pub l3: Vec<CpuId>,
    /// NUMA node.
    pub node: Option<u32>,
    /// The kernel's `cpu_capacity`, 0–1024.
    pub capacity: Option<u32>,
    /// CPPC highest performance, in the firmware's own scale.
    #[serde(default)]
    pub highest_perf: Option<u32>,
    /// Highest frequency, kHz.
    pub max_khz: Option<u32>,
    /// The vendor's word for its type (`cpu_core`, `big`, `Cortex-A76`), where a source has one.
    pub vendor_type: Option<String>,
    /// Its idle states by number (cpuidle); empty where unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_states: Vec<IdleState>,
}

/// An idle state of a CPU, as the kernel's driver describes it (`cpuidle/stateN`).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IdleState {
    /// What the driver calls it: POLL, C1E, C6, …
    pub name: String,
    /// How long a CPU must stay in it for it to save energy, µs.
    pub target_residency_us: Option<u32>,
    /// How long it takes to leave it, µs.
    pub exit_latency_us: Option<u32>,
}

impl Cpu {
    /// An online CPU of which only the number is known.
    #[must_use]
    pub fn new(id: CpuId) -> Self {
        Self { id, online: true, ..Self::default() }
    }

    /// Whether a fact is known.
    #[must_use]
    pub fn knows(&self, fact: Fact) -> bool {
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

/// A machine. Its JSON (`corewise topo --json`) has these fields by these names.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model, where told.
    pub model_name: Option<String>,
    /// `x86_64`, `aarch64`, …, where told.
    pub arch: Option<String>,
    /// Its logical processors, in the order of their numbers.
    pub cpus: Vec<Cpu>,
    /// For each of `cpus`: the class of its core (0 = slowest), judged from all sources. Claims against it are in the same
    /// numbering.
    pub class: Vec<Judged<u32>>,
    /// Names of the classes, slowest first; `[Uniform]` where there is one or nothing tells them apart.
    pub class_names: Vec<CoreType>,
    /// Who told each kind of fact; a kind that nobody told is absent.
    #[serde(default)]
    pub sources: BTreeMap<Fact, Source>,
    /// What the sources say beyond the judgement, or in conflict with each other, in words.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What was asked for and could not be read, and why.
    pub unknown: Vec<String>,
}

impl Machine {
    /// A machine of which only the CPU numbers are known.
    #[must_use]
    pub fn of_cpus(ids: impl IntoIterator<Item = CpuId>) -> Self {
        let mut ids: Vec<CpuId> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { cpus: ids.into_iter().map(Cpu::new).collect(), ..Self::default() }.judged(&[])
    }

    /// The CPU of a number, where the machine lists it.
    #[must_use]
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus.binary_search_by_key(&id, |c| c.id).ok().and_then(|i| self.cpus.get(i))
    }

    /// Class of a CPU's core, 0 = slowest; 0 for a CPU that the machine does not list.
    #[must_use]
    pub fn core_class(&self, cpu: CpuId) -> u32 {
        let at = self.cpus.binary_search_by_key(&cpu, |c| c.id);
        at.ok().and_then(|i| self.class.get(i)).map_or(0, |j| j.best.value)
    }

    /// Type of a CPU's core.
    #[must_use]
    pub fn core_type(&self, cpu: CpuId) -> CoreType {
        self.class_names.get(self.core_class(cpu) as usize).copied().unwrap_or(CoreType::Uniform)
    }
}
