//! The conditions of the run, which are needed to compare two recordings. A value that cannot be read is unknown, with the
//! reason.

use ingest::Condition;
use std::collections::BTreeMap;
use std::path::Path;

/// Names and values (or why a value is unknown), in the order of the manifest.
pub type Values = Vec<(String, Result<String, String>)>;

/// Reads a file's text, trimmed; the error is the reason.
fn text(path: &str) -> Result<String, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(format!("{path} does not exist")),
        Err(e) => Err(format!("{path}: {e}")),
    }
}

/// Returns the names in a folder that begin with `prefix`, sorted; none if it cannot be read.
fn entries(folder: &str, prefix: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort_by_key(|n| (n.len(), n.clone()));
    names
}

/// Returns all files of a folder as `name=value` lines, without files that have no value (write-only).
fn folder(path: &str) -> Result<String, String> {
    let names = entries(path, "");
    if names.is_empty() {
        return Err(format!("{path} does not exist or is not readable"));
    }
    let values = names.iter().filter(|n| Path::new(&format!("{path}/{n}")).is_file()).filter_map(|name| {
        let value = text(&format!("{path}/{name}")).ok()?;
        (value.len() < 4096).then(|| format!("{name}={}", value.replace('\n', " ")))
    });
    Ok(values.collect::<Vec<_>>().join("\n"))
}

/// Reads all conditions. `build`: that of corewise, empty if unknown.
#[must_use]
pub fn read(arguments: &[String], build: &str) -> Values {
    let mut all = Values::new();
    let mut put = |name: &str, value: Result<String, String>| all.push((name.to_owned(), value));
    put("corewise_version", Ok(env!("CARGO_PKG_VERSION").into()));
    if !build.is_empty() {
        put("corewise_build", Ok(build.to_owned()));
    }
    put("corewise_arguments", Ok(arguments.join(" ")));
    put("kernel_release", text("/proc/sys/kernel/osrelease"));
    put("kernel_version", text("/proc/sys/kernel/version"));
    put("kernel_command_line", text("/proc/cmdline"));
    put("boot_id", text("/proc/sys/kernel/random/boot_id"));
    put("hypervisor", hypervisor());
    put("microcode", microcode());
    put("online_cpus", text("/sys/devices/system/cpu/online"));
    put("isolated_cpus", text("/sys/devices/system/cpu/isolated"));
    put("nohz_full_cpus", text("/sys/devices/system/cpu/nohz_full"));
    put("smt_control", text("/sys/devices/system/cpu/smt/control"));
    put("smt_active", text("/sys/devices/system/cpu/smt/active"));
    put("no_turbo", text("/sys/devices/system/cpu/intel_pstate/no_turbo"));
    put("boost", text("/sys/devices/system/cpu/cpufreq/boost"));
    put("pstate_status", text("/sys/devices/system/cpu/intel_pstate/status"));
    put("idle_driver", text("/sys/devices/system/cpu/cpuidle/current_driver"));
    put("idle_governor", text("/sys/devices/system/cpu/cpuidle/current_governor"));
    let policies = entries("/sys/devices/system/cpu/cpufreq", "policy");
    if policies.is_empty() {
        put("governor", Err("no frequency driver: /sys/devices/system/cpu/cpufreq has no policy".into()));
    }
    for policy in &policies {
        let base = format!("/sys/devices/system/cpu/cpufreq/{policy}");
        for (name, file) in [
            ("affected_cpus", "affected_cpus"),
            ("driver", "scaling_driver"),
            ("governor", "scaling_governor"),
            ("energy_performance_preference", "energy_performance_preference"),
            ("min_khz", "scaling_min_freq"),
            ("max_khz", "scaling_max_freq"),
        ] {
            put(&format!("{name}.{policy}"), text(&format!("{base}/{file}")));
        }
    }
    for name in entries("/sys/devices/system/cpu/vulnerabilities", "") {
        put(&format!("mitigation.{name}"), text(&format!("/sys/devices/system/cpu/vulnerabilities/{name}")));
    }
    put("scheduler_features", text("/sys/kernel/debug/sched/features"));
    put("scheduler_tunables", folder("/sys/kernel/debug/sched"));
    put("preemption", text("/sys/kernel/debug/sched/preempt").or_else(|why| preemption().ok_or(why)));
    put("sched_ext", sched_ext());
    put("autogroup", text("/proc/sys/kernel/sched_autogroup_enabled"));
    put("rt_runtime_us", text("/proc/sys/kernel/sched_rt_runtime_us"));
    put("numa_balancing", text("/proc/sys/kernel/numa_balancing"));
    put("transparent_hugepage", text("/sys/kernel/mm/transparent_hugepage/enabled"));
    put("clocksource", text("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    let supplies = entries("/sys/class/power_supply", "");
    if supplies.is_empty() {
        put("power_supply", Err("/sys/class/power_supply is empty".into()));
    }
    for name in supplies {
        let base = format!("/sys/class/power_supply/{name}");
        for file in ["type", "online", "status", "capacity"] {
            put(&format!("power_supply.{name}.{file}"), text(&format!("{base}/{file}")));
        }
    }
    let zones = entries("/sys/class/thermal", "thermal_zone");
    if zones.is_empty() {
        put("thermal", Err("/sys/class/thermal has no zone".into()));
    }
    for zone in zones {
        let base = format!("/sys/class/thermal/{zone}");
        let kind = text(&format!("{base}/type")).unwrap_or_default();
        put(&format!("thermal_millicelsius.{zone}.{kind}"), text(&format!("{base}/temp")));
    }
    put(
        "steal_ns",
        Ok(crate::samples::steal().iter().map(|(c, n)| format!("cpu{c}={n}")).collect::<Vec<_>>().join(" ")),
    );
    for what in ["cpu", "io", "memory"] {
        put(&format!("psi_{what}"), text(&format!("/proc/pressure/{what}")));
    }
    put("load_average", text("/proc/loadavg"));
    all
}

/// The conditions on which costs depend, by name or by the part of it before the first dot.
const OF_COSTS: [&str; 16] = [
    "kernel_release",
    "microcode",
    "hypervisor",
    "online_cpus",
    "smt_control",
    "smt_active",
    "no_turbo",
    "boost",
    "idle_driver",
    "idle_governor",
    "driver",
    "governor",
    "energy_performance_preference",
    "mitigation",
    "preemption",
    "clocksource",
];

/// Reads the conditions on which the costs of this machine depend: those of a recording's manifest, by the same names, that can be read.
#[must_use]
pub fn of_costs() -> BTreeMap<String, String> {
    let is_of_costs = |name: &str| OF_COSTS.contains(&name.split('.').next().unwrap_or_default());
    read(&[], "")
        .into_iter()
        .filter(|(name, _)| is_of_costs(name))
        .filter_map(|(name, value)| Some((name, value.ok()?)))
        .collect()
}

/// Joins the values read at the start with those read at the end.
#[must_use]
pub fn join(start: Values, end: Option<Values>) -> Vec<Condition> {
    let unread = if end.is_some() { "did not exist at the end" } else { "the recording has not ended" };
    let mut ends: BTreeMap<String, Result<String, String>> = end.unwrap_or_default().into_iter().collect();
    let mut all: Vec<Condition> = start
        .into_iter()
        .map(|(name, start)| {
            let end = ends.remove(&name).unwrap_or_else(|| Err(unread.into()));
            Condition { name, start, end }
        })
        .collect();
    all.extend(ends.into_iter().map(|(name, end)| Condition {
        name,
        start: Err("did not exist at the start".into()),
        end,
    }));
    all
}

/// Whether this is known to be a physical machine.
pub fn is_bare() -> bool {
    hypervisor().is_ok_and(|kind| kind == "none")
}

/// Returns the version of the first CPU's microcode, as in `/proc/cpuinfo`: `0x1000065`.
fn microcode() -> Result<String, String> {
    text("/sys/devices/system/cpu/cpu0/microcode/version").or_else(|_| {
        let cpuinfo = text("/proc/cpuinfo")?;
        let line = cpuinfo.lines().find_map(|line| line.strip_prefix("microcode")?.split_once(':'));
        line.map(|(_, version)| version.trim().to_owned())
            .ok_or_else(|| "neither /sys/devices/system/cpu/cpu0/microcode nor /proc/cpuinfo has it".to_owned())
    })
}

fn hypervisor() -> Result<String, String> {
    if let Ok(kind) = text("/sys/hypervisor/type") {
        return Ok(kind);
    }
    let cpuinfo = text("/proc/cpuinfo")?;
    let flagged = cpuinfo.lines().any(|l| l.starts_with("flags") && l.split(' ').any(|f| f == "hypervisor"));
    let product = text("/sys/class/dmi/id/product_name").unwrap_or_default();
    match (flagged, product.is_empty()) {
        (true, true) => Ok("yes (cpuid)".into()),
        (true, false) => Ok(format!("yes (cpuid; {product})")),
        (false, _) if cpuinfo.lines().any(|l| l.starts_with("flags")) => Ok("none".into()),
        (false, _) => Err("/proc/cpuinfo does not show it on this architecture".into()),
    }
}

/// Returns the preemption model from the kernel's version string, for machines without debugfs.
fn preemption() -> Option<String> {
    let version = text("/proc/sys/kernel/version").ok()?;
    let word = version.split(' ').find(|w| w.starts_with("PREEMPT"))?;
    Some(format!("{word} (from the kernel's build)"))
}

fn sched_ext() -> Result<String, String> {
    let state = text("/sys/kernel/sched_ext/state")?;
    let ops = text("/sys/kernel/sched_ext/root/ops").unwrap_or_default();
    Ok(if ops.is_empty() { state } else { format!("{state}: {ops}") })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn conditions_of_costs_are_a_part_of_those_of_a_recording() {
        let all: BTreeMap<String, Result<String, String>> = read(&[], "").into_iter().collect();
        let of_costs = of_costs();
        assert!(of_costs.contains_key("kernel_release") && !of_costs.contains_key("boot_id"), "{of_costs:?}");
        assert!(!of_costs.contains_key("load_average") && !of_costs.contains_key("kernel_version"), "{of_costs:?}");
        for (name, value) in of_costs {
            assert_eq!(all.get(&name), Some(&Ok(value)), "{name}");
        }
    }

    #[test]
    fn every_unknown_value_has_a_reason() {
        let all = join(read(&["corewise".into()], ""), None);
        assert!(all.iter().any(|c| c.name == "kernel_release" && c.start.is_ok()));
        for c in &all {
            assert!(c.start.as_ref().err().is_none_or(|why| !why.is_empty()));
            assert_eq!(c.end.as_ref().unwrap_err(), "the recording has not ended");
        }
    }
}
