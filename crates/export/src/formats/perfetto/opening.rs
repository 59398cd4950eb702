//! What stands before the events: clock, machine, threads, and what corewise says of the trace.

use super::Pen;
use super::programs::{OWN_TRACK, packet, track, track_event};
use super::proto::Proto;
use crate::directory::Directory;
use crate::{ExportError, Job, about};
use model::Ns;

/// The version of what corewise says beside the kernel's events.
const VERSION: i64 = 1;

/// `common/builtin_clock.proto`.
mod clock {
    pub(super) const REALTIME: u64 = 1;
    pub(super) const MONOTONIC: u64 = 3;
    pub(super) const MONOTONIC_RAW: u64 = 5;
    pub(super) const BOOTTIME: u64 = 6;
    pub(super) const PERF: u64 = 10;
}

/// The clock's number for a name of [`Facts::clock`](engine::Facts).
fn clock_id(name: &str) -> u64 {
    match name {
        n if n.contains("MONOTONIC_RAW") => clock::MONOTONIC_RAW,
        n if n.contains("MONOTONIC") => clock::MONOTONIC,
        n if n.contains("REALTIME") => clock::REALTIME,
        n if n.contains("perf") || n.contains("sched_clock") => clock::PERF,
        _ => clock::BOOTTIME,
    }
}

impl Pen<'_> {
    pub(super) fn opening(&mut self, job: &Job<'_>, begin: Ns) -> Result<(), ExportError> {
        self.clocks(begin, None);
        self.packet(None, packet::SYSTEM_INFO, |p| system(p, job));
        let directory = Directory::of(job.session)?;
        self.packet(Some(begin), packet::PROCESS_TREE, |p| processes(p, &directory));
        self.packet(None, packet::TRACK_DESCRIPTOR, |p| {
            p.uint(track::UUID, OWN_TRACK);
            p.text(track::NAME, "corewise");
        });
        let told = notes(job, begin)?;
        self.packet(Some(begin), packet::TRACK_EVENT, |p| {
            p.uint(track_event::TYPE, track_event::INSTANT);
            p.uint(track_event::TRACK, OWN_TRACK);
            p.text(track_event::NAME, "about this trace");
            told.iter().for_each(|t| t.put(p));
        });
        Ok(())
    }

    /// Readings of the trace's clock and of another at one instant. The kernel's events are taken to be of BOOTTIME where
    /// nothing is told, so the two are said to be one: the numbers stay those of the source.
    pub(super) fn clocks(&mut self, at: Ns, realtime: Option<i64>) {
        let now = at.0.max(0).cast_unsigned();
        let primary = clock_id(&self.clock);
        self.packet(Some(at), packet::CLOCK_SNAPSHOT, |p| {
            let mut reading = |id: u64, v: u64| {
                let one = p.begin(1);
                p.uint(1, id);
                p.uint(2, v);
                p.end(one);
            };
            reading(clock::BOOTTIME, now);
            if primary != clock::BOOTTIME {
                reading(primary, now);
            }
            if let Some(v) = realtime.and_then(|v| u64::try_from(v).ok()).filter(|_| primary != clock::REALTIME) {
                reading(clock::REALTIME, v);
            }
            p.uint(2, primary);
        });
    }
}

/// `system_info.proto`. The release says how states are numbered: as corewise numbers them, since Linux 4.14.
fn system(p: &mut Proto, job: &Job<'_>) {
    let about = &job.session.facts().about;
    let told = |names: &[&str]| about.iter().find(|(n, _)| names.contains(&n.as_str())).map(|(_, v)| v.as_str());
    let release = told(&["kernel_release", "os_release"]).filter(|r| new_enough(r)).unwrap_or("4.14");
    let name = p.begin(1);
    p.text(1, "Linux");
    p.text(3, release);
    if let Some(arch) = &job.session.machine().arch {
        p.text(4, arch);
    }
    p.end(name);
    p.uint(8, job.session.summary().cpus);
}

fn new_enough(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|n| n.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (4, 14)
}

/// `ps/process_tree.proto`: the first life of each number.
fn processes(p: &mut Proto, directory: &Directory) {
    let first = || directory.threads.iter().map(|(_, t)| t).filter(|t| t.life == 0);
    for (pid, name) in directory.processes().into_iter().filter(|(pid, _)| *pid > 0) {
        let process = p.begin(1);
        p.int(1, pid);
        p.text(3, &name);
        p.uint(9, 1); // the words are the thread's name
        p.end(process);
    }
    for thread in first() {
        let one = p.begin(2);
        p.int(1, thread.tid);
        if let Some(name) = &thread.name {
            p.text(2, name);
        }
        p.int(3, thread.process());
        p.end(one);
    }
}

/// A debug annotation.
struct Note {
    name: String,
    value: Noted,
}

enum Noted {
    Bool(bool),
    Int(i64),
    Text(String),
}

impl Note {
    /// `track_event/debug_annotation.proto`.
    fn put(&self, p: &mut Proto) {
        let one = p.begin(track_event::ANNOTATION);
        p.text(10, &self.name);
        match &self.value {
            Noted::Bool(v) => p.uint(2, u64::from(*v)),
            Noted::Int(v) => p.int(4, *v),
            Noted::Text(v) => p.text(6, v),
        }
        p.end(one);
    }
}

/// What an importer of corewise's reads, and a person may.
fn notes(job: &Job<'_>, begin: Ns) -> Result<Vec<Note>, ExportError> {
    let facts = job.session.facts();
    let mut all = Vec::new();
    let mut tell = |name: &str, value| all.push(Note { name: name.to_owned(), value });
    tell("corewise.version", Noted::Int(VERSION));
    tell("corewise.clock", Noted::Text(facts.clock.clone()));
    tell("corewise.begin", Noted::Int(begin.0));
    tell("corewise.whole_machine", Noted::Bool(facts.whole_machine));
    tell("corewise.has_charges", Noted::Bool(facts.has_charges));
    if facts.has_yields {
        tell("corewise.has_yields", Noted::Bool(true));
    }
    for (name, has) in [("corewise.has_waking", facts.has_waking), ("corewise.has_wakeup", facts.has_wakeup)] {
        if let Some(has) = has {
            tell(name, Noted::Bool(has));
        }
    }
    let online: Vec<String> = facts.online.iter().map(|c| c.0.to_string()).collect();
    tell("corewise.online", Noted::Text(online.join(",")));
    if let Some(focus) = facts.focus {
        tell("corewise.focus", Noted::Int(i64::from(focus)));
    }
    let mut machine = job.session.machine().clone();
    if job.options.redact {
        // Sentences may name files.
        machine.unknown.clear();
        machine.notes.clear();
    }
    let machine = serde_json::to_string(&machine).map_err(|e| ExportError::Words(e.to_string()))?;
    tell("corewise.machine", Noted::Text(machine));
    if let Some(span) = job.options.span {
        tell("corewise.range", Noted::Text(format!("{} ns to {} ns", span.start.0, span.end.0)));
    }
    for (name, value) in about::facts(job) {
        tell(&name, Noted::Text(value));
    }
    Ok(all)
}
