//! The packets before the events: clock, machine, threads, and corewise's own annotations.

use super::Pen;
use super::programs::{OWN_TRACK, packet, track, track_event};
use super::proto::Proto;
use crate::directory::Directory;
use crate::{ExportError, Job, about};
use model::Ns;

/// The version of corewise's annotations and notes.
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
        let notes = notes(job, begin)?;
        self.packet(Some(begin), packet::TRACK_EVENT, |p| {
            p.uint(track_event::TYPE, track_event::INSTANT);
            p.uint(track_event::TRACK, OWN_TRACK);
            p.text(track_event::NAME, "about this trace");
            notes.iter().for_each(|note| note.put(p));
        });
        Ok(())
    }

    /// Writes readings of the trace's clock and of another clock at one instant. Readers assume BOOTTIME for the kernel's events if no
    /// clock is given, so both get the same reading: the timestamps stay those of the source.
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
    let fact = |names: &[&str]| about.iter().find(|(n, _)| names.contains(&n.as_str())).map(|(_, v)| v.as_str());
    let release = fact(&["kernel_release", "os_release"]).filter(|r| new_enough(r)).unwrap_or("4.14");
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

/// `ps/process_tree.proto`: the first instance of each TID.
fn processes(p: &mut Proto, directory: &Directory) {
    let first = || directory.threads.iter().map(|(_, t)| t).filter(|t| t.instance == 0);
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
    value: NoteValue,
}

enum NoteValue {
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
            NoteValue::Bool(v) => p.uint(2, u64::from(*v)),
            NoteValue::Int(v) => p.int(4, *v),
            NoteValue::Text(v) => p.text(6, v),
        }
        p.end(one);
    }
}

/// Returns the annotations, which corewise's importer reads.
fn notes(job: &Job<'_>, begin: Ns) -> Result<Vec<Note>, ExportError> {
    let facts = job.session.facts();
    let mut all = Vec::new();
    let mut note = |name: &str, value| all.push(Note { name: name.to_owned(), value });
    note("corewise.version", NoteValue::Int(VERSION));
    note("corewise.clock", NoteValue::Text(facts.clock.clone()));
    note("corewise.begin", NoteValue::Int(begin.0));
    note("corewise.whole_machine", NoteValue::Bool(facts.whole_machine));
    note("corewise.has_charges", NoteValue::Bool(facts.has_charges));
    if facts.has_yields {
        note("corewise.has_yields", NoteValue::Bool(true));
    }
    for (name, has) in [("corewise.has_waking", facts.has_waking), ("corewise.has_wakeup", facts.has_wakeup)] {
        if let Some(has) = has {
            note(name, NoteValue::Bool(has));
        }
    }
    for (name, cpus) in [("corewise.online", &facts.online), ("corewise.recorded", &facts.recorded)] {
        let cpus: Vec<String> = cpus.iter().map(|c| c.0.to_string()).collect();
        note(name, NoteValue::Text(cpus.join(",")));
    }
    if let Some(count) = facts.cpu_count {
        note("corewise.cpu_count", NoteValue::Int(i64::from(count)));
    }
    if let Some(focus) = facts.focus {
        note("corewise.focus", NoteValue::Int(i64::from(focus)));
    }
    if let Some(sampled) = &facts.sampled {
        let sampled = serde_json::to_string(sampled).map_err(|e| ExportError::Words(e.to_string()))?;
        note("corewise.sampled", NoteValue::Text(sampled));
    }
    let machine = serde_json::to_string(job.session.machine()).map_err(|e| ExportError::Words(e.to_string()))?;
    note("corewise.machine", NoteValue::Text(machine));
    if let Some(span) = job.options.span {
        note("corewise.range", NoteValue::Text(format!("{} ns to {} ns", span.start.0, span.end.0)));
    }
    for (name, value) in about::facts(job) {
        note(&name, NoteValue::Text(value));
    }
    Ok(all)
}
