//! The facts that the metadata states about the recording.

use super::Ctf;
use super::kinds;
use super::states;
use super::types::Metadata;
use super::ust;
use ingest::{Facts, Importer, StateSource};
use model::CpuId;

/// Entries of `env` under LTTng's and perf's names, and their names here.
const ENV_KEYS: &[(&str, &str)] = &[
    ("hostname", "hostname"),
    ("host", "hostname"),
    ("sysname", "sysname"),
    ("kernel_release", "kernel_release"),
    ("release", "kernel_release"),
    ("kernel_version", "kernel_version"),
    ("machine", "arch"),
    ("architecture_bit_width", "architecture_bit_width"),
    ("domain", "domain"),
    ("tracer_name", "tracer"),
    ("trace_name", "trace_name"),
    ("trace_creation_datetime", "trace_creation_datetime"),
];

/// Returns the facts; `cpus` are those that have a file.
pub(super) fn read(metadata: &Metadata, cpus: &[CpuId]) -> Facts {
    // Events of user-space programs may have any names, so they are not taken for the kernel's.
    let has = |name| !ust::is_ust(metadata) && kinds::has(metadata.events.iter().map(|e| e.name.as_str()), name);
    let switches = has("sched_switch");
    let clock = metadata.clocks.first();
    let mut about: Vec<(String, String)> = Vec::new();
    for (name, ours) in ENV_KEYS {
        if let Some(value) = metadata.env(name) {
            let value = if *name == "tracer_name" { tracer(metadata, value) } else { value.to_owned() };
            about.push(((*ours).to_owned(), value));
        }
    }
    if let Some(offset) = clock.map(offset_ns).filter(|offset| *offset != 0) {
        about.push(("clock_offset_ns".to_owned(), offset.to_string()));
    }
    Facts {
        format: Ctf.id().to_owned(),
        clock: clock.map_or_else(|| "unknown".to_owned(), |c| c.name.clone()),
        // Tracers declare only the events that were enabled.
        has_waking: Some(has("sched_waking")),
        has_wakeup: Some(has("sched_wakeup")),
        has_yields: has("sys_enter_sched_yield"),
        has_charges: has("sched_stat_runtime"),
        whole_machine: switches,
        states: match states::release_of(metadata) {
            _ if !switches => StateSource::Certain,
            Some(_) => StateSource::Release,
            None => StateSource::Assumed,
        },
        online: cpus.to_vec(),
        about,
        lacks: lacks(metadata, &has, cpus),
        ..Facts::default()
    }
}

fn tracer(metadata: &Metadata, name: &str) -> String {
    let parts: Vec<&str> =
        ["tracer_major", "tracer_minor", "tracer_patchlevel"].iter().filter_map(|part| metadata.env(part)).collect();
    if parts.is_empty() { name.to_owned() } else { format!("{name} {}", parts.join(".")) }
}

/// Returns the time in ns of the clock's reading 0.
fn offset_ns(clock: &super::types::ClockDecl) -> i128 {
    let ticks = i128::from(clock.offset) * 1_000_000_000 / i128::from(clock.freq);
    i128::from(clock.offset_s) * 1_000_000_000 + ticks
}

fn lacks(metadata: &Metadata, has: &dyn Fn(&'static str) -> bool, cpus: &[CpuId]) -> Vec<String> {
    let mut lacks = vec!["A CTF trace does not contain thread affinity.".to_owned()];
    if !has("sched_switch") {
        lacks.push("No context switches were recorded: lttng enable-event -k sched_switch.".to_owned());
    } else if !has("sched_waking") && !has("sched_wakeup") {
        lacks.push(
            "Neither sched_waking nor sched_wakeup was recorded: lttng enable-event -k sched_waking,sched_wakeup."
                .to_owned(),
        );
    }
    if metadata.env("tracer_name") == Some("perf") {
        lacks.push("A CTF trace does not state whether perf recorded the whole machine or single threads.".to_owned());
    } else if cpus.is_empty() {
        lacks.push("This trace does not contain the CPUs of its events.".to_owned());
    }
    if states::release_of(metadata).is_none() {
        lacks.push(
            "The kernel release was not recorded: thread states are read as written by Linux 4.14 and later."
                .to_owned(),
        );
    }
    lacks
}
