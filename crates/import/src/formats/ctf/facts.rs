//! What the metadata says of the recording.

use super::Ctf;
use super::kinds;
use super::types::Metadata;
use super::ust;
use ingest::{Facts, Importer};
use model::CpuId;

/// What `env` tells, by LTTng's name and perf's, and what it is called here.
const TOLD: &[(&str, &str)] = &[
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

/// The facts; `cpus` are those that have a file.
pub(super) fn read(told: &Metadata, cpus: &[CpuId]) -> Facts {
    // A program may give its own events any names.
    let has = |name| !ust::is_ust(told) && kinds::has(told.events.iter().map(|e| e.name.as_str()), name);
    let switches = has("sched_switch");
    let clock = told.clocks.first();
    let mut about: Vec<(String, String)> = Vec::new();
    for (name, ours) in TOLD {
        if let Some(value) = told.env(name) {
            let value = if *name == "tracer_name" { tracer(told, value) } else { value.to_owned() };
            about.push(((*ours).to_owned(), value));
        }
    }
    if let Some(offset) = clock.map(offset_ns).filter(|offset| *offset != 0) {
        about.push(("clock_offset_ns".to_owned(), offset.to_string()));
    }
    Facts {
        format: Ctf.id().to_owned(),
        clock: clock.map_or_else(|| "not named".to_owned(), |c| c.name.clone()),
        // Tracers describe the events that were enabled, and no others.
        has_waking: Some(has("sched_waking")),
        has_wakeup: Some(has("sched_wakeup")),
        has_yields: has("sys_enter_sched_yield"),
        has_charges: has("sched_stat_runtime"),
        whole_machine: switches,
        online: cpus.to_vec(),
        about,
        lacks: lacks(told, &has, cpus),
        ..Facts::default()
    }
}

fn tracer(told: &Metadata, name: &str) -> String {
    let parts: Vec<&str> =
        ["tracer_major", "tracer_minor", "tracer_patchlevel"].iter().filter_map(|part| told.env(part)).collect();
    if parts.is_empty() { name.to_owned() } else { format!("{name} {}", parts.join(".")) }
}

/// Ns at the clock's reading 0.
fn offset_ns(clock: &super::types::ClockDecl) -> i128 {
    let ticks = i128::from(clock.offset) * 1_000_000_000 / i128::from(clock.freq);
    i128::from(clock.offset_s) * 1_000_000_000 + ticks
}

fn lacks(told: &Metadata, has: &dyn Fn(&'static str) -> bool, cpus: &[CpuId]) -> Vec<String> {
    let mut lacks = vec!["Which CPUs a thread may use is not in a CTF trace.".to_owned()];
    if !has("sched_switch") {
        lacks.push("No context switches were recorded: lttng enable-event -k sched_switch.".to_owned());
    } else if !has("sched_waking") && !has("sched_wakeup") {
        lacks.push(
            "Neither sched_waking nor sched_wakeup was recorded: ready time after a wait is unknown \
             (lttng enable-event -k sched_waking,sched_wakeup)."
                .to_owned(),
        );
    }
    if told.env("tracer_name") == Some("perf") {
        lacks
            .push("Whether perf recorded the whole machine, or single threads only, is not in a CTF trace.".to_owned());
    } else if cpus.is_empty() {
        lacks.push("On which CPU anything ran is not in this trace.".to_owned());
    }
    if told.env("kernel_release").or_else(|| told.env("release")).is_none() {
        lacks.push("The kernel's release is not told: states are read as Linux 4.14 and later write them.".to_owned());
    }
    lacks
}
