//! What this machine lets corewise record, and what to do about the rest.

use crate::hidden::Switches;
use crate::trace_marker::TraceMarker;
use crate::{rights, tracer};
use std::path::Path;

/// How a check came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It works.
    Good,
    /// Something is not recorded without it; the rest is.
    Partial,
    /// No recording without it.
    Bad,
}

/// One check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was looked at.
    pub name: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
    /// What to do about it, where something can be done.
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

/// Looks at everything that recording depends on. Loads the BPF programs for a moment where that is permitted.
#[must_use]
pub fn doctor() -> Vec<Finding> {
    let release = text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut all = vec![
        kernel(&release),
        finding(
            "kernel type information (BTF)",
            there("/sys/kernel/btf/vmlinux"),
            Verdict::Bad,
            if there("/sys/kernel/btf/vmlinux") { "/sys/kernel/btf/vmlinux" } else { "not there" },
            "use a kernel built with CONFIG_DEBUG_INFO_BTF (all large distributions' are)",
        ),
        finding(
            "permission",
            rights::may_load(),
            Verdict::Bad,
            if rights::may_load() { "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN" } else { "missing" },
            "run with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep \
             $(command -v corewise)",
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
        "Linux 5.10 or later is needed: BPF programs that the recorder runs on each CPU",
    )
}

/// Loads and attaches the programs for a moment.
fn programs() -> Vec<Finding> {
    match tracer::Tracer::start(1 << 20, true, false, &[], None) {
        Ok(tracer) => {
            let mut all = vec![finding("BPF programs", true, Verdict::Bad, "load and attach", "")];
            all.push(finding(
                "context switches",
                tracer.switches == Switches::Delivered,
                Verdict::Partial,
                match tracer.switches {
                    Switches::Delivered => "all that were looked at are delivered",
                    Switches::Hidden => {
                        "this kernel hides what some tasks do (some virtual machines do): switches by them are inferred"
                    }
                    Switches::NotSeen => "CPUs are too busy to see whether this kernel hides any",
                },
                if tracer.switches == Switches::NotSeen { "look again while the machine is less busy" } else { "" },
            ));
            all.push(finding(
                "changes of priority and affinity",
                !tracer.look_for_changes,
                Verdict::Partial,
                if tracer.look_for_changes {
                    "this kernel lets no program attach to functions: affinity is told when a thread next switches, priority \
                     once a second"
                } else {
                    "told as they happen"
                },
                "",
            ));
            all.push(finding(
                "threads held by a CPU quota",
                tracer.tells_throttles(),
                Verdict::Partial,
                if tracer.tells_throttles() { "told as they happen" } else { tracer::NO_THROTTLES },
                "use Linux 6.18 or later",
            ));
            all.push(finding(
                "preempted told from yielded",
                tracer.tells_yields(),
                Verdict::Partial,
                if tracer.tells_yields() { "told with each switch" } else { tracer::NO_YIELDS },
                "use Linux 5.15 or later on x86-64",
            ));
            let told = [tracer::NO_THROTTLES, tracer::NO_YIELDS];
            let own = |l: &&String| l.starts_with("Changes of priority") || told.contains(&l.as_str());
            for lack in tracer.lacks.iter().filter(|l| !own(l)) {
                all.push(finding("tracepoints", false, Verdict::Partial, lack.as_str(), ""));
            }
            all
        }
        Err(why) => vec![finding("BPF programs", false, Verdict::Bad, why.to_string(), "")],
    }
}

/// What programs mark by themselves, and what is marked for them.
fn marks() -> Vec<Finding> {
    let uprobe = "/sys/bus/event_source/devices/uprobe";
    let trace_marker = TraceMarker::start().map(drop);
    vec![
        finding(
            "marked calls (--mark)",
            there(uprobe),
            Verdict::Partial,
            if there(uprobe) { uprobe } else { "this kernel has no uprobes" },
            "use a kernel built with CONFIG_UPROBE_EVENTS",
        ),
        finding(
            "marks in trace_marker",
            trace_marker.is_ok(),
            Verdict::Partial,
            trace_marker.map_or_else(|why| why, |()| "copied to an instance of tracefs while recording".to_owned()),
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
            tracing.unwrap_or("not mounted (only perf needs it)"),
            "sudo mount -t tracefs nodev /sys/kernel/tracing",
        ),
        finding(
            "perf events of the whole machine",
            rights::may_perf(),
            Verdict::Partial,
            format!("perf_event_paranoid is {}", paranoid.as_deref().unwrap_or("not there")),
            "sudo sysctl kernel.perf_event_paranoid=-1, or CAP_PERFMON",
        ),
    ]
}

fn hardware() -> Vec<Finding> {
    let idle = text("/sys/devices/system/cpu/cpuidle/current_driver").filter(|d| d != "none");
    let frequency = there("/sys/devices/system/cpu/cpufreq/policy0");
    let core = ["cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0"];
    let counters = core.into_iter().find(|pmu| there(&format!("/sys/bus/event_source/devices/{pmu}")));
    let steal = crate::samples::steal().iter().any(|(_, ns)| *ns > 0);
    vec![
        finding(
            "idle states",
            idle.is_some(),
            Verdict::Partial,
            idle.map_or("no idle driver: only that a CPU is idle is recorded, not how deep".into(), |d| {
                format!("driver {d}")
            }),
            "",
        ),
        finding(
            "frequencies",
            frequency,
            Verdict::Partial,
            if frequency { "cpufreq" } else { "no frequency driver (usual in virtual machines)" },
            "",
        ),
        finding(
            "hardware counters",
            counters.is_some(),
            Verdict::Partial,
            counters.unwrap_or("no core PMU (usual in virtual machines)"),
            "",
        ),
        finding(
            "energy (RAPL)",
            there("/sys/bus/event_source/devices/power") || there("/sys/class/powercap/intel-rapl:0"),
            Verdict::Partial,
            "powercap or the power PMU",
            "only on real machines with RAPL: sudo modprobe intel_rapl_msr",
        ),
        finding(
            "debugfs (scheduler features and tunables)",
            there("/sys/kernel/debug/sched"),
            Verdict::Partial,
            "/sys/kernel/debug/sched",
            "sudo mount -t debugfs nodev /sys/kernel/debug, and root",
        ),
        finding(
            "stolen time",
            !steal,
            Verdict::Partial,
            if steal { "this machine has had time stolen by its hypervisor since boot" } else { "none since boot" },
            "compare running_ns with exec_ns; prefer a machine of your own for fine measurements",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_are_named() {
        assert_eq!(kernel("4.19.0-1").verdict, Verdict::Bad);
        assert_eq!(kernel("6.18.44-fc").verdict, Verdict::Good);
        assert_eq!(kernel("").verdict, Verdict::Bad);
    }
}
