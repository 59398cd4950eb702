//! The machine as the rest of corewise sees it.

use model::{CoreType, CpuId};
use serde::{Deserialize, Serialize};

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

/// A logical processor. What no source tells is `None`, never guessed from numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cpu {
    /// The kernel's number.
    pub id: CpuId,
    /// Whether it was online.
    pub online: bool,
    /// Physical package.
    pub package: Option<u32>,
    /// Cluster or module within the package.
    pub cluster: Option<u32>,
    /// Core number within the package.
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
    /// Highest frequency, kHz.
    pub max_khz: Option<u32>,
    /// The vendor's word for its type (`cpu_core`, `big`, `Cortex-A76`), where a source has one.
    pub vendor_type: Option<String>,
}

/// A machine.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model, where told.
    pub model_name: Option<String>,
    /// `x86_64`, `aarch64`, …, where told.
    pub arch: Option<String>,
    /// Its logical processors, in the order of their numbers.
    pub cpus: Vec<Cpu>,
    /// For each of `cpus`: the class of its core (0 = slowest), judged from all sources.
    pub class: Vec<Judged<u32>>,
    /// Names of the classes, slowest first; `[Uniform]` where there is one or nothing tells them apart.
    pub class_names: Vec<CoreType>,
    /// What was asked for and could not be read, and why.
    pub unknown: Vec<String>,
}

impl Machine {
    /// A machine of which only the CPU numbers are known.
    #[must_use]
    pub fn of_cpus(ids: impl IntoIterator<Item = CpuId>) -> Self {
        let _ = ids;
        Self::default()
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
