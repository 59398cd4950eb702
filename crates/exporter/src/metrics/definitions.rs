//! The metrics: names, units, labels and meanings. `docs/watch/metrics.md` is made from this list.

use prometheus_client::metrics::MetricType;

/// A metric; its full name begins with `corewise_` and ends with the unit, and `_total` for a counter.
#[derive(Debug)]
pub struct Definition {
    /// The name without prefix, unit and suffix.
    pub name: &'static str,
    /// The base unit; `None`: a count or a fact.
    pub unit: Option<&'static str>,
    /// Counter, gauge, histogram or info.
    pub kind: MetricType,
    /// The labels of its series.
    pub labels: &'static [&'static str],
    /// What it is, with its unit.
    pub help: &'static str,
}

impl Definition {
    /// Returns the name of its series in Prometheus; of a histogram without `_bucket`, `_sum` and `_count`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let unit = self.unit.map_or_else(String::new, |unit| format!("_{unit}"));
        let suffix = match self.kind {
            MetricType::Counter => "_total",
            MetricType::Info => "_info",
            _ => "",
        };
        format!("corewise_{}{unit}{suffix}", self.name)
    }
}

const SECONDS: Option<&str> = Some("seconds");

const fn counter(
    name: &'static str,
    unit: Option<&'static str>,
    labels: &'static [&'static str],
    help: &'static str,
) -> Definition {
    Definition { name, unit, kind: MetricType::Counter, labels, help }
}

const fn gauge(
    name: &'static str,
    unit: Option<&'static str>,
    labels: &'static [&'static str],
    help: &'static str,
) -> Definition {
    Definition { name, unit, kind: MetricType::Gauge, labels, help }
}

const fn histogram(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Definition {
    Definition { name, unit: SECONDS, kind: MetricType::Histogram, labels, help }
}

const fn info(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Definition {
    Definition { name, unit: None, kind: MetricType::Info, labels, help }
}

/// The sums on a class of cores, of the machine or of groups.
#[derive(Debug)]
pub struct ClassMetrics {
    pub running: Definition,
    pub ready: Definition,
    pub ready_latency: Definition,
    pub run_length: Definition,
    pub wakeups: Definition,
    pub preemptions: Definition,
    pub migrations: Definition,
}

impl ClassMetrics {
    const fn all(&self) -> [&Definition; 7] {
        let Self { running, ready, ready_latency, run_length, wakeups, preemptions, migrations } = self;
        [running, ready, ready_latency, run_length, wakeups, preemptions, migrations]
    }
}

/// Of the whole machine.
pub static MACHINE: ClassMetrics = ClassMetrics {
    running: counter(
        "running",
        SECONDS,
        &["core_type", "sibling"],
        "CPU time of all threads in seconds, by type of core and by what the core's other hardware threads did: busy, idle, none (there is no other one), unknown.",
    ),
    ready: counter(
        "ready",
        SECONDS,
        &["core_type", "ran_meanwhile"],
        "Time in seconds in which threads were ready and did not run, by the type of core that they waited for and by what that CPU did: same_group, other_group, kernel, idle, unknown.",
    ),
    ready_latency: histogram(
        "ready_latency",
        &["core_type"],
        "Time in seconds from ready to running, by the type of core on which the thread then ran.",
    ),
    run_length: histogram(
        "run_length",
        &["core_type"],
        "Time in seconds from switch-in to switch-out, by the type of core.",
    ),
    wakeups: counter("wakeups", None, &["core_type"], "Switch-ins of threads that had been woken."),
    preemptions: counter("preemptions", None, &["core_type"], "Switch-outs of threads that were still runnable."),
    migrations: counter(
        "migrations",
        None,
        &["edge"],
        "Switch-ins of threads that last ran on another CPU, by the types of both cores (efficient_to_performance).",
    ),
};

/// Of groups.
pub static GROUPS: ClassMetrics = ClassMetrics {
    running: counter(
        "group_running",
        SECONDS,
        &["kind", "group", "core_type", "sibling"],
        "CPU time of a group's threads in seconds, by type of core and by what the core's other hardware threads did.",
    ),
    ready: counter(
        "group_ready",
        SECONDS,
        &["kind", "group", "core_type", "ran_meanwhile"],
        "Time in seconds in which a group's threads were ready and did not run, by the type of core that they waited for and by what that CPU did.",
    ),
    ready_latency: histogram(
        "group_ready_latency",
        &["kind", "group", "core_type"],
        "Time in seconds from ready to running of a group's threads, by the type of core on which they then ran.",
    ),
    run_length: histogram(
        "group_run_length",
        &["kind", "group", "core_type"],
        "Time in seconds from switch-in to switch-out of a group's threads, by the type of core.",
    ),
    wakeups: counter(
        "group_wakeups",
        None,
        &["kind", "group", "core_type"],
        "Switch-ins of a group's threads that had been woken.",
    ),
    preemptions: counter(
        "group_preemptions",
        None,
        &["kind", "group", "core_type"],
        "Switch-outs of a group's threads that were still runnable.",
    ),
    migrations: counter(
        "group_migrations",
        None,
        &["kind", "group", "edge"],
        "Switch-ins of a group's threads that last ran on another CPU, by the types of both cores.",
    ),
};

pub static GROUP_THROTTLED: Definition = counter(
    "group_throttled",
    SECONDS,
    &["kind", "group"],
    "Time in seconds for which a CPU quota held a cgroup, summed over CPUs. Only cgroups with a quota have it.",
);
pub static GROUP_THROTTLED_PERIODS: Definition = counter(
    "group_throttled_periods",
    None,
    &["kind", "group"],
    "Periods of a CPU quota in which the cgroup was held. Only cgroups with a quota have it.",
);

pub static CPU: Definition = info(
    "cpu",
    &["cpu", "core_type", "package", "die", "cluster", "core"],
    "Where a CPU is in the machine; what is not known is empty.",
);
pub static CPU_ONLINE: Definition = gauge("cpu_online", None, &["cpu", "core_type"], "1 if the CPU is online, else 0.");
pub static CPU_BUSY: Definition = counter(
    "cpu_busy",
    SECONDS,
    &["cpu", "core_type", "sibling"],
    "Time in seconds in which the CPU ran threads, by what the core's other hardware threads did: busy, idle, none, unknown.",
);
pub static CPU_IDLE: Definition =
    counter("cpu_idle", SECONDS, &["cpu", "core_type"], "Time in seconds in which the CPU ran its idle task.");
pub static CPU_UNKNOWN: Definition = counter(
    "cpu_unknown",
    SECONDS,
    &["cpu", "core_type"],
    "Time in seconds in which the CPU was offline or of which it is not known what it ran. Busy, idle and unknown time add up to the time since watching began.",
);
pub static CPU_SWITCHES: Definition =
    counter("cpu_switches", None, &["cpu", "core_type"], "Switches between threads, including the idle task.");
pub static CPU_WAKEUPS: Definition =
    counter("cpu_wakeups", None, &["cpu", "core_type"], "Switch-ins of threads that had been woken.");
pub static CPU_INTERRUPTS: Definition = counter(
    "cpu_interrupts",
    None,
    &["cpu", "core_type", "kind"],
    "Interrupts by kind: device, timer, processor (of another CPU), softirq, other.",
);
pub static CORE: Definition = counter(
    "core",
    SECONDS,
    &["core_type", "busy_threads"],
    "Time in seconds of cores by how many of their hardware threads were busy: none (the core was free), one, several, unknown. Summed over the cores of a type.",
);
pub static IDLE_STATE: Definition = counter(
    "idle_state",
    SECONDS,
    &["core_type", "state"],
    "Time in seconds in an idle state, summed over the CPUs of a type.",
);
pub static IDLE_PERIODS: Definition =
    counter("idle_state_periods", None, &["core_type", "state"], "Periods in an idle state that have ended.");
pub static IDLE_SHORT: Definition = counter(
    "idle_state_short_periods",
    None,
    &["core_type", "state"],
    "Periods in an idle state that were too short to save energy: shorter than its break-even time.",
);
pub static IDLE_BREAK_EVEN: Definition = gauge(
    "idle_state_break_even",
    SECONDS,
    &["core_type", "state"],
    "The minimum time in seconds in an idle state that saves energy (its target residency).",
);
const DOMAIN: &[&str] = &["domain", "part", "method"];
pub static ENERGY: Definition = counter(
    "energy",
    Some("joules"),
    DOMAIN,
    "Energy in joules of the time for which it is known. Domains may contain others: add up those of one part (package, core, dram, battery, …) only. method: counted, or sampled (an estimate from the power at each reading).",
);
pub static ENERGY_KNOWN: Definition = counter(
    "energy_known",
    SECONDS,
    DOMAIN,
    "Time in seconds for which the energy is known: joules divided by it are the mean power. It does not grow while a meter is gone, was reset, or stands still.",
);
pub static ENERGY_RANGE: Definition = gauge(
    "energy_range",
    Some("joules"),
    DOMAIN,
    "Width of the range of the energy that agrees with the readings, in joules.",
);
pub static ENERGY_LIVE: Definition =
    gauge("energy_meter_live", None, DOMAIN, "1 if the meter could be read at the last reading and changes, else 0.");
const EVENT: &[&str] = &["event", "core_type", "pmu"];
pub static HARDWARE_EVENTS: Definition = counter(
    "hardware_events",
    None,
    EVENT,
    "Events that the CPUs counted, by type of core and PMU; the part of the estimated time is an estimate.",
);
pub static HARDWARE_EVENT_TIME: Definition = counter(
    "hardware_event",
    SECONDS,
    &["event", "core_type", "pmu", "counted"],
    "CPU time in seconds for which an event was to be counted: yes (it was), estimated (others had its counter meanwhile), no (the count has nothing of it).",
);

pub static BUILD: Definition = info("build", &["version"], "The version of corewise.");
pub static WATCHED: Definition =
    counter("watch_elapsed", SECONDS, &[], "Time in seconds since watching began; all sums are since then.");
pub static GROUPS_SEEN: Definition =
    counter("watch_groups_seen", None, &[], "Groups that were seen since watching began.");
pub static GROUPS_KEPT: Definition =
    gauge("watch_groups", None, &[], "Groups that have sums of their own in the kernel.");
pub static GROUPS_LIMIT: Definition =
    gauge("watch_groups_limit", None, &[], "The most groups that can have sums of their own in the kernel.");
pub static GROUPS_SHOWN: Definition = gauge("watch_groups_shown", None, &[], "Groups that have series of their own.");
pub static GROUPS_SHOWN_LIMIT: Definition =
    gauge("watch_groups_shown_limit", None, &[], "The most groups that can have series of their own (--top).");
pub static GROUPS_REPLACED: Definition = counter(
    "watch_groups_replaced",
    None,
    &[],
    "Groups that lost their series, because they ended or another one ran more; their sums are part of kind other since.",
);
pub static OVERFLOWS: Definition = counter(
    "watch_group_overflows",
    None,
    &[],
    "Switch-ins of threads whose group found no free place in the kernel; their time is part of kind other.",
);
pub static MISSED_EVENTS: Definition =
    counter("watch_missed_events", None, &[], "Events that the kernel did not pass to the programs.");
pub static INFERRED: Definition = counter(
    "watch_inferred_switches",
    None,
    &[],
    "Switches that the kernel did not pass to the programs, but that are known: some virtual machines hide those of a few threads.",
);
pub static INCONSISTENT: Definition = counter(
    "watch_inconsistent_switches",
    None,
    &[],
    "Switches that showed that earlier ones were missed; the time between is unknown.",
);
pub static FORGOTTEN: Definition = counter(
    "watch_forgotten_waits",
    None,
    &[],
    "Waits whose start was forgotten for lack of a place; they are in no sum of ready time.",
);
pub static KERNEL_MEMORY: Definition =
    gauge("watch_kernel_memory", Some("bytes"), &[], "Memory of the sums in the kernel, in bytes.");
pub static BPF_TIME: Definition = counter(
    "watch_bpf",
    SECONDS,
    &[],
    "Run time of the BPF programs in seconds. Missing unless sysctl kernel.bpf_stats_enabled is 1.",
);
pub static READING: Definition =
    gauge("watch_reading", SECONDS, &[], "How long the last reading of the sums took, in seconds.");
pub static IDENTITY_HOLDS: Definition = gauge(
    "watch_identity_holds",
    None,
    &["identity"],
    "1 if the sums obeyed the identity at the last reading, else 0. cpu_time: busy, idle and unknown time of each CPU are the time since the start.",
);
pub static IDENTITY_RESIDUAL: Definition = gauge(
    "watch_identity_residual",
    SECONDS,
    &["identity"],
    "By how much the two sides of the identity differed at the last reading, in seconds.",
);
pub static IDENTITY_VIOLATIONS: Definition =
    counter("watch_identity_violations", None, &["identity"], "Readings at which the identity did not hold.");

/// All metrics, in the order of the answers.
pub static DEFINITIONS: &[&[&Definition]] = &[
    &MACHINE.all(),
    &GROUPS.all(),
    &[&GROUP_THROTTLED, &GROUP_THROTTLED_PERIODS],
    &[&CPU, &CPU_ONLINE, &CPU_BUSY, &CPU_IDLE, &CPU_UNKNOWN, &CPU_SWITCHES, &CPU_WAKEUPS, &CPU_INTERRUPTS],
    &[&CORE, &IDLE_STATE, &IDLE_PERIODS, &IDLE_SHORT, &IDLE_BREAK_EVEN, &ENERGY],
    &[&ENERGY_KNOWN, &ENERGY_RANGE, &ENERGY_LIVE, &HARDWARE_EVENTS, &HARDWARE_EVENT_TIME],
    &[&BUILD, &WATCHED, &GROUPS_SEEN, &GROUPS_KEPT, &GROUPS_LIMIT, &GROUPS_SHOWN, &GROUPS_SHOWN_LIMIT],
    &[
        &GROUPS_REPLACED,
        &OVERFLOWS,
        &MISSED_EVENTS,
        &INFERRED,
        &INCONSISTENT,
        &FORGOTTEN,
        &KERNEL_MEMORY,
        &BPF_TIME,
        &READING,
    ],
    &[&IDENTITY_HOLDS, &IDENTITY_RESIDUAL, &IDENTITY_VIOLATIONS],
];
