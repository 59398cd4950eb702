//! The conditions of a run, and what is wrong with its recording.

use crate::{Run, ThreadFacts};
use engine::{LABEL, Session};
use model::Process;
use model::words::{percent, plural};
use std::collections::{BTreeMap, BTreeSet};

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
    let label = |(name, value): &(String, String)| Some((name.strip_prefix(LABEL)?.to_owned(), value.clone()));
    run.labels = facts.about.iter().filter_map(label).collect();
    machine(run, session);
    defects(run, session);
    run.lacks.clone_from(&facts.lacks);
    run.lacks.extend(session.restated());
}

/// Adds the command line of the recorded command, and the version of each program that its processes ran.
pub(super) fn programs(run: &mut Run, session: &Session) {
    let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
    let pids = |of: fn(&ThreadFacts) -> bool| -> BTreeSet<i64> {
        run.threads.iter().filter(|thread| of(thread) && !thread.is_kernel).filter_map(|thread| thread.pid).collect()
    };
    // Without a recorded command every process counts as the program's.
    let focus = pids(|thread| thread.is_focus);
    let own = if focus.is_empty() { BTreeSet::new() } else { pids(|thread| thread.is_own) };
    let processes = session.processes().unwrap_or_else(|why| {
        run.defects.push(format!("its list of programs is not used: {why}"));
        Vec::new()
    });
    // Before it starts the command, the recorder's child has the recorder's program.
    let recorder = session.facts().recorder.map(i64::from);
    let of_recorder = processes.iter().find(|of| Some(i64::from(of.pid)) == recorder).and_then(|of| of.exe.clone());
    let arguments = run.conditions.get("corewise_arguments").and_then(|[start, _]| start.clone());
    let mut command = arguments.and_then(|of| Some(of.split_once(" -- ")?.1.to_owned()));
    let is_own = |of: &Process| own.contains(&i64::from(of.pid)) && (of.exe.is_none() || of.exe != of_recorder);
    for process in processes.into_iter().filter(is_own) {
        if command.is_none() && focus.contains(&i64::from(process.pid)) && !process.command_line.is_empty() {
            command = Some(process.command_line.join(" "));
        }
        if let (Some(exe), Some(id)) = (process.exe, process.build_id) {
            let name = exe.rsplit('/').next().unwrap_or_default();
            versions.entry(format!("program {name}")).or_default().insert(format!("{exe} (build ID {id})"));
        }
    }
    let versions = versions.into_iter().map(|(name, all)| (name, all.into_iter().collect::<Vec<_>>().join(", ")));
    let command = command.map(|line| ("command".to_owned(), line));
    run.conditions.extend(versions.chain(command).map(|(name, value)| (name, [Some(value.clone()), Some(value)])));
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
    let Some(costs) = &machine.costs else { return };
    // Two siblings do the work of `gain`, so each does half of it.
    run.sibling_speed = costs.smt_gain(None).map(|gain| gain.value / 2.0);
    if run.core_speeds.is_empty() && machine.class_names.len() > 1 {
        let speed = |of: &model::CoreType| Some((of.as_str(), costs.core_speed(*of)?.value.min(1.0)));
        run.core_speeds = machine.class_names.iter().filter_map(speed).collect();
        run.core_speeds_measured = !run.core_speeds.is_empty();
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
