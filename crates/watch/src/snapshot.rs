//! What a reading returns: sums since the start of watching, as plain data.
//!
//! Every number only grows from one snapshot to the next of the same run, except the facts that describe a moment
//! ([`CpuSums::online`], [`CpuSums::current`], [`Health::groups_kept`]). Times are in ns. Sums that cannot be known here are `None` or
//! empty, never 0.

use crate::histogram::Histogram;
use serde::{Serialize, Serializer};
use std::sync::Arc;
use topology::Machine;

/// A reading of all sums.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Snapshot {
    /// When it was read, ns on CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// When watching began, ns on CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// The machine: core types and siblings.
    #[serde(serialize_with = "of_shared")]
    pub machine: Arc<Machine>,
    /// Each CPU that was online since the start, in order of their numbers.
    pub cpus: Vec<CpuSums>,
    /// The whole machine.
    pub total: GroupSums,
    /// The groups with the most running time, in descending order, then [`GroupKind::Other`] with the sum of all others. Empty if
    /// nothing was grouped. They add up to `total`.
    pub groups: Vec<GroupSums>,
    /// How complete the sums are, and what watching costs.
    pub health: Health,
    /// The identities that were checked at this reading.
    pub identities: Vec<Identity>,
    /// Energy by domain; empty if the machine has no meter that can be read.
    pub energy: Vec<EnergySums>,
    /// Counters by event, PMU and core type; empty if the machine has none.
    pub counters: Vec<CounterSums>,
    /// Energy and events that exist, but cannot be read or counted here, a sentence each.
    pub lacks: Vec<String>,
}

fn of_shared<S: Serializer>(machine: &Arc<Machine>, to: S) -> Result<S::Ok, S::Error> {
    machine.as_ref().serialize(to)
}

/// The sums of a CPU. `busy_ns` + `idle_ns` + `unknown_ns` is the time since the start.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct CpuSums {
    /// The CPU's number.
    pub cpu: u32,
    /// The class of its core: an index into [`Machine::class_names`].
    pub class: usize,
    /// Whether it is online now.
    pub online: bool,
    /// Time in which it ran a thread.
    pub busy_ns: u64,
    /// Time in which it ran its idle task.
    pub idle_ns: u64,
    /// Time that is neither: it was offline, or what it ran is not known.
    pub unknown_ns: u64,
    /// The part of `unknown_ns` in which it was offline.
    pub offline_ns: u64,
    /// The part of `offline_ns` in which all CPUs of its core were offline.
    pub core_offline_ns: u64,
    /// `busy_ns` by what its siblings did.
    pub sibling: SiblingSums,
    /// Time in which two or more hardware threads of its core were busy; only of cores with more than two.
    pub core_several_ns: Option<u64>,
    /// Switches between threads, including its idle task.
    pub switches: u64,
    /// Switch-ins of threads that had been woken.
    pub wakeups: u64,
    /// Switch-ins of threads that last ran on another CPU, by the class of that CPU's core.
    pub migrations_from: Vec<u64>,
    /// Interrupts and softirqs by kind, as the kernel counts them itself (`/proc/interrupts`, `/proc/softirqs`).
    pub interrupts: Vec<InterruptCount>,
    /// Periods in idle states; empty if the machine's states are not known.
    pub idle_states: Vec<IdleSums>,
    /// What it runs now; `None`: its idle task, or not known.
    pub current: Option<CurrentThread>,
}

/// Running time by what the siblings (the other hardware threads of the core) did at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SiblingSums {
    /// A sibling ran a thread.
    pub busy_ns: u64,
    /// All siblings were idle or offline.
    pub idle_ns: u64,
    /// The core has no other hardware thread, or none that has been online since the start.
    pub none_ns: u64,
    /// The siblings are not known.
    pub unknown_ns: u64,
}

/// How many interrupts of a kind a CPU has handled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InterruptCount {
    /// The source of the interrupt.
    pub kind: InterruptKind,
    /// The name of a device's interrupt or of a softirq, as the kernel prints it.
    pub name: String,
    /// How many since the start.
    pub count: u64,
}

/// Sources of interrupts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptKind {
    /// A device.
    Device,
    /// The CPU's own timer.
    Timer,
    /// Another CPU (inter-processor interrupt).
    Processor,
    /// A softirq.
    Softirq,
    /// Anything else, such as machine checks.
    Other,
}

impl InterruptKind {
    /// Returns the value in texts and labels.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Timer => "timer",
            Self::Processor => "processor",
            Self::Softirq => "softirq",
            Self::Other => "other",
        }
    }
}

/// The periods that a CPU spent in an idle state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct IdleSums {
    /// The driver's name for the state: POLL, C1E, C6, …
    pub state: String,
    /// The minimum time in the state that saves energy (its target residency), ns; `None`: not known.
    pub break_even_ns: Option<u64>,
    /// Periods that have ended.
    pub periods: u64,
    /// The time in them.
    pub ns: u64,
    /// Periods that were shorter than `break_even_ns`.
    pub short_periods: u64,
}

/// A thread that runs on a CPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CurrentThread {
    /// Its TID.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Since when it runs, ns on CLOCK_MONOTONIC.
    pub since_ns: u64,
}

/// What a group is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// The whole machine.
    Machine,
    /// The threads of a cgroup (a container, a systemd unit), without those of its subgroups.
    Cgroup,
    /// The threads of all processes of a name.
    Process,
    /// All groups that are not listed.
    Other,
}

impl GroupKind {
    /// Returns the value in texts and labels.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Cgroup => "cgroup",
            Self::Process => "process",
            Self::Other => "other",
        }
    }
}

/// The sums of a group of threads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GroupSums {
    /// What the group is.
    pub kind: GroupKind,
    /// The cgroup's path or the process's name; empty for the machine and for all others.
    pub name: String,
    /// The sums on each class of cores, in the order of [`Machine::class_names`] (slowest first).
    pub by_class: Vec<ClassSums>,
    /// Throttling by the cgroup's CPU quota, as the kernel counts it (`cpu.stat`); `None`: not a cgroup, or it has no quota.
    pub throttled: Option<Throttled>,
}

impl GroupSums {
    /// Returns the sums on all classes of cores together.
    #[must_use]
    pub fn all_classes(&self) -> ClassSums {
        let mut all = ClassSums::default();
        self.by_class.iter().for_each(|class| all.add_all(class));
        all
    }

    /// Returns the running time on all classes together, ns.
    #[must_use]
    pub fn running_ns(&self) -> u64 {
        self.by_class.iter().map(|class| class.running_ns).sum()
    }
}

/// Sums on one class of cores.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ClassSums {
    /// Time running.
    pub running_ns: u64,
    /// `running_ns` by what the siblings did.
    pub sibling: SiblingSums,
    /// Time ready (waiting in the run queue of a CPU of this class), by what that CPU did meanwhile.
    pub ready: ReadySums,
    /// How long threads had been ready when they were switched in here.
    pub ready_latency: Histogram,
    /// How long threads had run when they were switched out here.
    pub run_length: Histogram,
    /// Switch-ins of threads that had been woken.
    pub wakeups: u64,
    /// Switch-outs of threads that were still runnable: preempted, at the end of their time slice, or by `sched_yield`.
    pub preemptions: u64,
    /// Switch-ins of threads that last ran on another CPU, by the class of that CPU's core.
    pub migrations_from: Vec<u64>,
}

impl ClassSums {
    /// Adds the sums of another class or group.
    pub fn add_all(&mut self, other: &Self) {
        self.running_ns += other.running_ns;
        self.sibling.add_all(&other.sibling);
        self.ready.add_all(&other.ready);
        self.ready_latency.add_all(&other.ready_latency);
        self.run_length.add_all(&other.run_length);
        self.wakeups += other.wakeups;
        self.preemptions += other.preemptions;
        if self.migrations_from.len() < other.migrations_from.len() {
            self.migrations_from.resize(other.migrations_from.len(), 0);
        }
        for (own, more) in self.migrations_from.iter_mut().zip(&other.migrations_from) {
            *own += more;
        }
    }
}

impl SiblingSums {
    /// Adds the times of another one.
    pub fn add_all(&mut self, other: &Self) {
        self.busy_ns += other.busy_ns;
        self.idle_ns += other.idle_ns;
        self.none_ns += other.none_ns;
        self.unknown_ns += other.unknown_ns;
    }

    /// Returns the sum of all parts.
    #[must_use]
    pub fn all_ns(&self) -> u64 {
        self.busy_ns + self.idle_ns + self.none_ns + self.unknown_ns
    }
}

/// Ready time by what the CPU did, in whose run queue the thread waited. A wait counts when it ends, and when its thread is moved to
/// another queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ReadySums {
    /// It ran threads of the same group. Of the machine: of all groups' own.
    pub same_group_ns: u64,
    /// It ran threads of other groups.
    pub other_group_ns: u64,
    /// It ran kernel threads.
    pub kernel_ns: u64,
    /// It was idle.
    pub idle_ns: u64,
    /// Not known.
    pub unknown_ns: u64,
}

impl ReadySums {
    /// Adds the times of another one.
    pub fn add_all(&mut self, other: &Self) {
        self.same_group_ns += other.same_group_ns;
        self.other_group_ns += other.other_group_ns;
        self.kernel_ns += other.kernel_ns;
        self.idle_ns += other.idle_ns;
        self.unknown_ns += other.unknown_ns;
    }

    /// Returns the sum of all parts.
    #[must_use]
    pub fn all_ns(&self) -> u64 {
        self.same_group_ns + self.other_group_ns + self.kernel_ns + self.idle_ns + self.unknown_ns
    }
}

/// What a CPU quota did to a cgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Throttled {
    /// Time throttled, summed over CPUs.
    pub ns: u64,
    /// Periods in which it was throttled.
    pub periods: u64,
}

/// How complete the sums are, and what watching costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Health {
    /// Groups that have been seen since the start.
    pub groups_seen: u64,
    /// Groups that have sums of their own now.
    pub groups_kept: u64,
    /// The most groups that can have sums of their own.
    pub groups_max: u64,
    /// How often a thread was switched in whose group found no free place; its time is part of [`GroupKind::Other`].
    pub overflows: u64,
    /// Events that the kernel did not pass to the programs.
    pub missed_events: u64,
    /// Switches that were not passed to the programs, but are known: some virtual machines hide those of a few threads.
    pub inferred_switches: u64,
    /// Switches after which it was noticed that earlier ones had not been passed to the programs. The time since is unknown.
    pub inconsistent_switches: u64,
    /// Waits of threads whose start was forgotten, since another thread needed the same place. They are in no sum of ready time.
    pub forgotten_waits: u64,
    /// The memory of the sums in the kernel, bytes.
    pub kernel_bytes: u64,
    /// Run time of the BPF programs, ns; `None`: the kernel does not measure it (sysctl kernel.bpf_stats_enabled).
    pub bpf_ns: Option<u64>,
    /// How long this reading took, ns.
    pub reading_ns: u64,
}

/// A law that the sums must obey, and by how much they differ from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Identity {
    /// Its name: a word for labels.
    pub name: &'static str,
    /// What is compared, in words.
    pub meaning: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// By how much the two sides differ, ns.
    pub residual_ns: u64,
    /// By how much they may differ because the machine went on while they were read, ns.
    pub slack_ns: u64,
}

/// How the energy of a domain is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EnergyMethod {
    /// A counter of energy, or what is left in a battery.
    Counted,
    /// Its power at each reading, which is an estimate of the power between them.
    Sampled,
}

impl EnergyMethod {
    /// Returns the value in texts and labels.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Sampled => "sampled",
        }
    }
}

/// The energy that a domain used. Domains may contain others: only those of the same `part` may be added up.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EnergySums {
    /// The domain's name: package-0, package-0/core, BAT0, …
    pub domain: String,
    /// What part of the machine it is: platform, package, core, uncore, dram, battery, sensor, other.
    pub part: &'static str,
    /// How its energy is known.
    pub method: EnergyMethod,
    /// The domain that contains it.
    pub parent: Option<String>,
    /// The domain that is the same by another reading.
    pub same_as: Option<String>,
    /// Joules since the start, of the time for which they are known.
    pub joules: f64,
    /// The least energy that agrees with the readings, J. It may become smaller.
    pub low_joules: f64,
    /// The greatest energy that agrees with the readings, J.
    pub high_joules: f64,
    /// The time for which the energy is known, ns. It ends with the last change of the value.
    pub known_ns: u64,
    /// How often its counter wrapped.
    pub wraps: u64,
    /// Whether it could be read now, and changes.
    pub is_live: bool,
    /// Why its energy was not known the last time that it was not: it could not be read, was reset, stopped, …
    pub unknown: Option<String>,
}

/// The sum of a counter on one class of cores. The three times add up to the time of these CPUs for which the event was enabled.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CounterSums {
    /// The event's name.
    pub event: String,
    /// The PMU that counts it; `software`: the kernel.
    pub pmu: String,
    /// The class of cores: an index into [`Machine::class_names`].
    pub class: usize,
    /// The count since the start, with the estimated part.
    pub count: u64,
    /// The CPU time in which it was counted, ns.
    pub counted_ns: u64,
    /// The CPU time in which other events had its counter, ns: the count has it at the rate of the counted time before or after it.
    pub estimated_ns: u64,
    /// The CPU time of which the count has nothing, ns: the event got no counter, or its CPU was offline.
    pub missing_ns: u64,
}

/// How long the hardware threads of a core were busy at the same time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CoreSums {
    /// The core's CPUs.
    pub cpus: Vec<u32>,
    /// The class of the core.
    pub class: usize,
    /// Two or more of its CPUs ran threads.
    pub several_busy_ns: u64,
    /// One of its CPUs ran a thread.
    pub one_busy_ns: u64,
    /// None ran a thread: the whole core was free.
    pub free_ns: u64,
    /// Not known.
    pub unknown_ns: u64,
}

impl Snapshot {
    /// Returns the time since watching began, ns.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.started_ns)
    }

    /// Returns how long each core was busy with one or several of its hardware threads. A core that is half busy is not half free: the
    /// headroom of a machine is `free_ns`, and what a second thread adds to a busy core (`topology::Costs`, about a quarter).
    #[must_use]
    pub fn cores(&self) -> Vec<CoreSums> {
        let mut cores: Vec<CoreSums> = Vec::new();
        for cpu in &self.cpus {
            let known = self.machine.cpu(model::CpuId(cpu.cpu));
            let siblings: Vec<u32> = known.map_or_else(Vec::new, |c| c.siblings.iter().map(|s| s.0).collect());
            if cores.iter().any(|core| core.cpus.contains(&cpu.cpu)) {
                continue;
            }
            let cpus = if siblings.is_empty() { vec![cpu.cpu] } else { siblings };
            let of: Vec<&CpuSums> = self.cpus.iter().filter(|c| cpus.contains(&c.cpu)).collect();
            let sum = |part: fn(&SiblingSums) -> u64| of.iter().map(|c| part(&c.sibling)).sum::<u64>();
            // Each of two busy threads sees the other one. Of more threads, any number may be busy.
            let of_core = of.iter().find_map(|c| c.core_several_ns);
            let several = of_core.unwrap_or_else(|| sum(|s| s.busy_ns) / 2);
            let one = sum(|s| s.idle_ns) + sum(|s| s.none_ns);
            // A hardware thread that is offline runs nothing; a core of which all are offline is not free.
            let most = |part: fn(&CpuSums) -> u64| of.iter().map(|c| part(c)).max().unwrap_or(0);
            let unknown = sum(|s| s.unknown_ns).max(most(|c| c.unknown_ns.saturating_sub(c.offline_ns)));
            let unknown = unknown + most(|c| c.core_offline_ns);
            let free = self.elapsed_ns().saturating_sub(several + one + unknown);
            let (class, several_busy_ns, one_busy_ns) = (cpu.class, several, one);
            cores.push(CoreSums { cpus, class, several_busy_ns, one_busy_ns, free_ns: free, unknown_ns: unknown });
        }
        cores
    }
}
