//! The conditions of a run, and what is wrong with its recording.

use crate::Run;
use engine::Session;
use model::words::{percent, plural};
use std::collections::BTreeMap;

/// A recording of which more than this share of the CPUs' time is unknown is said to be incomplete.
const MAX_UNKNOWN: f64 = 0.01;

/// Fills in the machine, the conditions and the defects.
pub(super) fn write(run: &mut Run, session: &Session) {
    let facts = session.facts();
    for condition in &facts.conditions {
        let value = |of: &Result<String, String>| of.as_ref().ok().cloned();
        run.conditions.insert(condition.name.clone(), [value(&condition.start), value(&condition.end)]);
    }
    for (name, value) in &facts.about {
        if ["hostname", "kernel_release", "backend"].contains(&name.as_str()) {
            run.conditions.entry(name.clone()).or_insert_with(|| [Some(value.clone()), Some(value.clone())]);
        }
    }
    machine(run, session);
    defects(run, session);
    run.lacks.clone_from(&facts.lacks);
}

/// What identifies the machine, and how fast its core types are.
fn machine(run: &mut Run, session: &Session) {
    let machine = session.machine();
    let known = [("processor", &machine.model_name), ("architecture", &machine.arch)];
    for (name, value) in known {
        if let Some(value) = value {
            run.machine.insert(name.to_owned(), value.clone());
        }
    }
    let (mut by_type, mut capacity) = (BTreeMap::<&str, u64>::new(), BTreeMap::<&'static str, Vec<f64>>::new());
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        let of = machine.core_type(cpu.id).as_str();
        *by_type.entry(of).or_default() += 1;
        capacity.entry(of).or_default().extend(cpu.capacity.map(f64::from));
    }
    let cpus = match by_type.len() {
        0 => session.summary().cpus.to_string(),
        1 => by_type.values().sum::<u64>().to_string(),
        _ => by_type.iter().map(|(of, cpus)| format!("{cpus} {of}")).collect::<Vec<_>>().join(" + "),
    };
    run.machine.insert("CPUs".to_owned(), cpus);
    let mean = |of: &Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
    let fastest = capacity.values().map(mean).fold(0.0, f64::max);
    if capacity.len() > 1 && fastest > 0.0 {
        let known = capacity.iter().filter(|(_, all)| !all.is_empty());
        run.core_speeds = known.map(|(of, all)| (*of, mean(all) / fastest)).collect();
    }
}

/// What is wrong with the recording.
fn defects(run: &mut Run, session: &Session) {
    let summary = session.summary();
    if let Some(why) = &summary.stopped {
        run.defects.push(format!("reading stopped early: {why}"));
    }
    if summary.lost_events > 0 || summary.losses > 0 {
        let counted = if summary.lost_events > 0 {
            plural(summary.lost_events.unsigned_abs(), "event")
        } else {
            "an unknown number of events".to_owned()
        };
        run.defects.push(format!("the recording lost {counted}"));
    }
    if !summary.laws_hold() {
        run.defects.push("its time accounting is inconsistent (corewise verify)".to_owned());
    }
    let all = summary.cpu_time_ns();
    if summary.unknown_ns as f64 > MAX_UNKNOWN * all as f64 {
        run.defects.push(format!("{} of its CPU time is unknown", percent(summary.unknown_ns, all)));
    }
}
