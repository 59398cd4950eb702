//! What of a manifest stays when it is redacted.

use crate::Manifest;
use serde_json::Value as Json;

/// The text that replaces what was redacted.
pub const REDACTED: &str = "redacted";

/// The facts whose values stay: they are about the machine's hardware and kernel, or about how was recorded. Any other one, as a label or what a
/// tool of others wrote, may be anything.
const FACTS: [&str; 37] = [
    "android_build",
    "arch",
    "architecture_bit_width",
    "backend",
    "captured_on",
    "clock_offset_ns",
    "cpu_model",
    "cpus",
    "domain",
    "ended",
    "energy",
    "events",
    "kernel_release",
    "kernel_version",
    "losses",
    "made_by",
    "mangohud",
    "manufacturer",
    "numbers",
    "os_release",
    "perf_version",
    "processor",
    "ram_bytes",
    "resolution",
    "runs",
    "soc_model",
    "source_format",
    "started",
    "switches_inferred_from_next",
    "sysname",
    "thread_states",
    "trace_creation_datetime",
    "trace_type",
    "tracer",
    "tracing_service_version",
    "unwind_tables",
    "written_by",
];

/// The conditions whose values stay, by the part of their names before the first dot.
const CONDITIONS: [&str; 40] = [
    "affected_cpus",
    "autogroup",
    "boost",
    "clocksource",
    "corewise_build",
    "corewise_version",
    "driver",
    "energy_performance_preference",
    "governor",
    "hypervisor",
    "idle_driver",
    "idle_governor",
    "isolated_cpus",
    "kernel_release",
    "kernel_version",
    "load_average",
    "max_khz",
    "microcode",
    "min_khz",
    "mitigation",
    "no_turbo",
    "nohz_full_cpus",
    "numa_balancing",
    "online_cpus",
    "power_supply",
    "preemption",
    "pstate_status",
    "psi_cpu",
    "psi_io",
    "psi_memory",
    "rt_runtime_us",
    "sched_ext",
    "scheduler_features",
    "scheduler_tunables",
    "smt_active",
    "smt_control",
    "steal_ns",
    "thermal",
    "thermal_millicelsius",
    "transparent_hugepage",
];

/// The key of an anomaly's text, a line of the source as it stands there ([`crate::AnomalyRow::first_text`]).
const FIRST_TEXT: &str = "first_text";

/// Removes command lines, paths, host names, labels and lines of the source from a manifest. Numbers are kept.
pub fn redact(manifest: &mut Manifest) {
    let hosts: Vec<String> = manifest
        .facts
        .about
        .iter()
        .filter(|(name, value)| name.to_lowercase().contains("host") && !value.is_empty() && value != "(none)")
        .map(|(_, value)| value.clone())
        .collect();
    // The value of any entry may contain a path or the host name.
    let is_private = |text: &str| has_path(text) || hosts.iter().any(|host| text.contains(host));
    let hide = |text: &mut String| REDACTED.clone_into(text);
    for (_, value) in
        manifest.facts.about.iter_mut().filter(|(name, value)| !FACTS.contains(&name.as_str()) || is_private(value))
    {
        hide(value);
    }
    let is_condition = |name: &str| CONDITIONS.contains(&name.split('.').next().unwrap_or(name));
    for condition in &mut manifest.conditions {
        for side in [&mut condition.start, &mut condition.end] {
            let (Ok(text) | Err(text)) = side;
            if !is_condition(&condition.name) || is_private(text) {
                hide(text);
            }
        }
    }
    let Manifest { facts, machine, .. } = manifest;
    let sentences = facts.lacks.iter_mut().chain(&mut facts.nameless).chain(&mut machine.unknown);
    sentences.chain(&mut machine.notes).filter(|text| is_private(text)).for_each(hide);
    let measured = manifest.machine.costs.iter_mut().flat_map(|costs| &mut costs.measured.conditions);
    measured.filter(|(name, value)| !is_condition(name) || is_private(value)).for_each(|(_, value)| hide(value));
    manifest.sources.iter_mut().for_each(|source| hide(&mut source.path));
    manifest.anomalies.iter_mut().for_each(|anomaly| anomaly.first_text = None);
    manifest.summary.values_mut().for_each(|value| redact_json(value, &is_private));
}

/// Whether a text has a path, other than one of the kernel's own files: these identify nothing, unless they have the name of a cgroup.
#[must_use]
pub fn has_path(text: &str) -> bool {
    let of_kernel = |word: &str| {
        let word = word.trim_start_matches(['(', '`', '"', '\'']);
        ["/sys/", "/proc/sys/"].iter().any(|begin| word.starts_with(begin)) && !word.starts_with("/sys/fs/cgroup")
    };
    let is_text = |word: &str| word.contains(char::is_alphabetic);
    text.split_whitespace().any(|word| word.contains('/') && is_text(word) && !of_kernel(word))
}

/// Of the summary, words that corewise wrote stay; other texts are lines of the source, or of commands.
fn redact_json(value: &mut Json, is_private: &impl Fn(&str) -> bool) {
    match value {
        Json::String(text) if is_private(text) => REDACTED.clone_into(text),
        Json::Array(all) => all.iter_mut().for_each(|value| redact_json(value, is_private)),
        Json::Object(all) => {
            all.remove(FIRST_TEXT);
            all.values_mut().for_each(|value| redact_json(value, is_private));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceFile;
    use ingest::{Anomalies, Condition, Facts};

    #[test]
    fn redacting_leaves_no_path_host_or_command() {
        let mut manifest = Manifest::new(1, Facts::default());
        manifest.facts.about = vec![
            ("hostname".into(), "secrethost".into()),
            ("command_line".into(), "perf record secretgame".into()),
            ("kernel_release".into(), "6.18".into()),
            ("note".into(), "secret".into()),
            ("label.customer".into(), "secret".into()),
            ("energy".into(), "read by secrethost".into()),
        ];
        let both = |text: &str| (Ok(text.to_owned()), Err(text.to_owned()));
        let (start, end) = both("/home/secretuser/x");
        manifest.conditions = vec![Condition { name: "governor".into(), start, end }];
        let (start, end) = both("BOOT=secret");
        manifest.conditions.push(Condition { name: "kernel_command_line".into(), start, end });
        manifest.machine.notes = vec!["From /home/secretuser/x.toml.".into()];
        manifest.facts.lacks = vec!["No file in /sys/secretly, nor data/secret.".into(), "/sys/x is missing".into()];
        manifest.sources = vec![SourceFile { path: "/secret/p".into(), hash: None, bytes: 1, format: "perf".into() }];
        manifest.summary.insert("note".into(), serde_json::json!(["of /secret/game"]));
        manifest
            .summary
            .insert("anomalies".into(), serde_json::json!([{ "what": "a line", "first_text": "secret line" }]));
        let mut anomalies = Anomalies::default();
        ingest::Ledger::not_understood(&mut anomalies, "a line", 0, b"secret line");
        manifest.set_anomalies(&anomalies);
        assert_eq!(manifest.anomalies[0].first_text.as_deref(), Some("secret line"));
        redact(&mut manifest);
        let text = String::from_utf8(manifest.to_json().unwrap()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("6.18") && text.contains("/sys/x is missing"));
    }
}
