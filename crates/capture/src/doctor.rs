//! Checks what corewise can record on this machine, and how to enable the rest.

use crate::RecordOptions;
use crate::hidden::Switches;
use crate::trace_marker::TraceMarker;
use crate::{rights, tracer};
use std::path::Path;

/// The result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Available.
    Good,
    /// Not available: recordings lack some data.
    Partial,
    /// Not available: recording is impossible.
    Bad,
}

/// One check and its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was checked.
    pub name: &'static str,
    /// The result.
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
    /// How to fix it, if possible.
    pub remedy: Option<String>,
}

fn finding(name: &'static str, good: bool, otherwise: Verdict, detail: impl Into<String>, remedy: &str) -> Finding {
    let verdict = if good { Verdict::Good } else { otherwise };
    let remedy = (!good && !remedy.is_empty()).then(|| remedy.to_owned());
    Finding { name, verdict, detail: detail.into(), remedy }
}

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|t| t.trim().to_owned())
}

fn there(path: &str) -> bool {
    Path::new(path).exists()
}

/// Checks everything that recording depends on. Loads the BPF programs briefly if permitted.
#[must_use]
pub fn doctor() -> Vec<Finding> {
    let release = text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut all = vec![
        kernel(&release),
        finding(
            "kernel type information (BTF)",
            there("/sys/kernel/btf/vmlinux"),
            Verdict::Bad,
            if there("/sys/kernel/btf/vmlinux") {
                "/sys/kernel/btf/vmlinux"
            } else {
                "/sys/kernel/btf/vmlinux is missing"
            },
            "use a kernel built with CONFIG_DEBUG_INFO_BTF (the default in all major distributions)",
        ),
        finding(
            "permission",
            rights::may_load(),
            Verdict::Bad,
            if rights::may_load() {
                "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN"
            } else {
                "CAP_BPF and CAP_PERFMON are missing"
            },
            "run corewise with sudo, or grant the capabilities once: sudo setcap \
             cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep $(command -v corewise)",
        ),
    ];
    if rights::may_load() {
        all.extend(programs());
    }
    all.extend(marks());
    all.extend(perf());
    all.extend(hardware());
    all
}

fn kernel(release: &str) -> Finding {
    let mut numbers = release.split(['.', '-']).filter_map(|n| n.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    finding(
        "kernel",
        version >= (5, 10),
        Verdict::Bad,
        format!("Linux {release}"),
        "use Linux 5.10 or later: the recorder must be able to run BPF programs on each CPU",
    )
}

/// Loads and attaches the BPF programs briefly.
fn programs() -> Vec<Finding> {
    let options = RecordOptions { ring_bytes: 1 << 20, irq: true, ..RecordOptions::new("") };
    match tracer::Tracer::start(&options, &[]) {
        Ok(tracer) => {
            let mut all = vec![finding("BPF programs", true, Verdict::Bad, "loaded and attached", "")];
            all.push(finding(
                "context switches",
                tracer.switches == Switches::Delivered,
                Verdict::Partial,
                match tracer.switches {
                    Switches::Delivered => "all switches in the test were delivered",
                    Switches::Hidden => {
                        "this kernel hides the events of some tasks, as in some virtual machines: their switches are inferred"
                    }
                    Switches::NotSeen => "unknown: the CPUs are too busy to test whether this kernel hides switches",
                },
                if tracer.switches == Switches::NotSeen {
                    "run corewise doctor again when the machine is less busy"
                } else {
                    ""
                },
            ));
            all.push(finding(
                "changes of priority and affinity",
                !tracer.polls_settings,
                Verdict::Partial,
                if tracer.polls_settings { tracer::POLLED_SETTINGS } else { "recorded as they happen" },
                "",
            ));
            all.push(finding(
                "threads throttled by a CPU quota",
                tracer.reports_throttling(),
                Verdict::Partial,
                if tracer.reports_throttling() { "recorded as they happen" } else { tracer::NO_THROTTLES },
                "use Linux 6.18 or later",
            ));
            all.push(finding(
                "what threads wait for in system calls",
                tracer.reports_calls(),
                Verdict::Partial,
                if tracer.reports_calls() { "recorded with each switch" } else { tracer::NO_CALLS },
                "use Linux 5.15 or later on x86-64 or arm64",
            ));
            all.push(finding(
                "threads that yield",
                tracer.reports_yields(),
                Verdict::Partial,
                if tracer.reports_yields() { "recorded with each switch" } else { tracer::NO_YIELDS },
                "use Linux 5.15 or later on x86-64",
            ));
            all.push(finding(
                "locks of the kernel for which threads wait",
                tracer.reports_kernel_locks(),
                Verdict::Partial,
                if tracer.reports_kernel_locks() { "recorded, with their holders" } else { tracer::NO_KERNEL_LOCKS },
                "use Linux 6.16 or later, built with CONFIG_DETECT_HUNG_TASK_BLOCKER",
            ));
            all.push(finding(
                "callchains without frame pointers",
                tracer.unwinding().is_some(),
                Verdict::Partial,
                if tracer.unwinding().is_some() {
                    "unwound by the tables of programs (.eh_frame)"
                } else {
                    tracer::NO_UNWINDING
                },
                "use Linux 5.17 or later on x86-64",
            ));
            let listed_above = [
                tracer::POLLED_SETTINGS,
                tracer::NO_THROTTLES,
                tracer::NO_YIELDS,
                tracer::NO_CALLS,
                tracer::NO_KERNEL_LOCKS,
                tracer::NO_UNWINDING,
            ];
            for lack in tracer.lacks.iter().filter(|l| !listed_above.contains(&l.as_str())) {
                all.push(finding("tracepoints", false, Verdict::Partial, lack.as_str(), ""));
            }
            all
        }
        Err(why) => vec![finding("BPF programs", false, Verdict::Bad, why.to_string(), "")],
    }
}

/// Checks the sources of marks: `--mark` and `trace_marker`.
fn marks() -> Vec<Finding> {
    let uprobe = "/sys/bus/event_source/devices/uprobe";
    let trace_marker = TraceMarker::start().map(drop);
    vec![
        finding(
            "marked calls (--mark)",
            there(uprobe),
            Verdict::Partial,
            if there(uprobe) { uprobe } else { "this kernel does not support uprobes" },
            "use a kernel built with CONFIG_UPROBE_EVENTS",
        ),
        finding(
            "marks in trace_marker",
            trace_marker.is_ok(),
            Verdict::Partial,
            trace_marker.map_or_else(|why| why, |()| "copied to a tracefs instance during the recording".to_owned()),
            "",
        ),
    ]
}

fn perf() -> Vec<Finding> {
    let tracing =
        ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].into_iter().find(|d| there(&format!("{d}/events")));
    let paranoid = text("/proc/sys/kernel/perf_event_paranoid");
    vec![
        finding(
            "tracefs",
            tracing.is_some(),
            Verdict::Partial,
            tracing.unwrap_or("not mounted (only the perf backend needs it)"),
            "sudo mount -t tracefs nodev /sys/kernel/tracing",
        ),
        finding(
            "system-wide perf events",
            rights::may_perf(),
            Verdict::Partial,
            paranoid.map_or_else(
                || "/proc/sys/kernel/perf_event_paranoid is missing".to_owned(),
                |level| format!("perf_event_paranoid is {level}"),
            ),
            "sudo sysctl kernel.perf_event_paranoid=-1, or grant CAP_PERFMON",
        ),
    ]
}

/// Returns the PMUs that count for threads: x86's `cpu`, and those with a list of their CPUs, whose names differ by processor
/// (`cpu_core`, `armv8_cortex_a53`). PMUs outside of cores have a `cpumask`, which names the CPUs that read them.
fn core_pmus(devices: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(devices).into_iter().flatten().flatten();
    let core = entries.filter(|pmu| pmu.file_name() == "cpu" || pmu.path().join("cpus").exists());
    let mut names: Vec<_> = core.map(|pmu| pmu.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn hardware() -> Vec<Finding> {
    let idle = text("/sys/devices/system/cpu/cpuidle/current_driver").filter(|d| d != "none");
    let frequency = there("/sys/devices/system/cpu/cpufreq/policy0");
    let counters = core_pmus(Path::new("/sys/bus/event_source/devices"));
    let energy = there("/sys/bus/event_source/devices/power") || there("/sys/class/powercap/intel-rapl:0");
    let debugfs = there("/sys/kernel/debug/sched");
    let steal = crate::samples::steal().iter().any(|(_, ns)| *ns > 0);
    vec![
        finding(
            "idle states",
            idle.is_some(),
            Verdict::Partial,
            idle.map_or("no idle driver: idle times are recorded without the depth of the idle state".into(), |d| {
                format!("driver {d}")
            }),
            "",
        ),
        finding(
            "frequencies",
            frequency,
            Verdict::Partial,
            if frequency { "cpufreq" } else { "no frequency driver (common in virtual machines)" },
            "",
        ),
        finding(
            "hardware counters",
            !counters.is_empty(),
            Verdict::Partial,
            if counters.is_empty() {
                "no core PMU (common in virtual machines)".to_owned()
            } else {
                counters.join(", ")
            },
            "",
        ),
        finding(
            "energy (RAPL)",
            energy,
            Verdict::Partial,
            if energy { "powercap or the power PMU" } else { "neither powercap nor the power PMU is available" },
            "on physical machines with RAPL: sudo modprobe intel_rapl_msr",
        ),
        finding(
            "debugfs (scheduler features and tunables)",
            debugfs,
            Verdict::Partial,
            if debugfs { "/sys/kernel/debug/sched" } else { "/sys/kernel/debug/sched is missing or not readable" },
            "sudo mount -t debugfs nodev /sys/kernel/debug, and run corewise as root",
        ),
        finding(
            "stolen time",
            !steal,
            Verdict::Partial,
            if steal { "the hypervisor has taken CPU time from this machine since boot" } else { "none since boot" },
            "compare running_ns with exec_ns; use a dedicated machine for precise measurements",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_before_5_10_are_rejected() {
        assert_eq!(kernel("4.19.0-1").verdict, Verdict::Bad);
        assert_eq!(kernel("6.18.44-fc").verdict, Verdict::Good);
        assert_eq!(kernel("").verdict, Verdict::Bad);
    }

    #[test]
    fn pmus_of_cores_are_found_by_their_list_of_cpus() {
        let devices = tempfile::tempdir().unwrap();
        let files = [
            "armv8_cortex_a72/cpus",
            "armv8_cortex_a53/cpus",
            "arm_spe_0/cpumask",
            "power/cpumask",
            "cpu/type",
            "software/type",
        ];
        for file in files {
            let path = devices.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "0-1").unwrap();
        }
        assert_eq!(core_pmus(devices.path()), ["armv8_cortex_a53", "armv8_cortex_a72", "cpu"]);
        assert!(core_pmus(Path::new("/missing")).is_empty());
    }
}
