//! Tests the CTF importer with traces written here, recorded traces, and damaged traces.

mod damaged;
mod fixtures;
mod records;
mod speed;
pub(crate) mod writer;

use import::formats::ctf::Ctf;
use ingest::{Anomalies, Facts, Fatal, Folder, Importer, Input, Limits, Ordered, ReadSeek};
use model::{Batch, Event, EventKind, NameId, Ns};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

/// A trace's files in memory.
#[derive(Clone, Default)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl Folder for Files {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>> {
        let bytes = self.0.get(name).ok_or(std::io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes.clone())))
    }
}

impl Files {
    /// Reads the files of a folder.
    pub(crate) fn of(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap()).filter(|e| e.path().is_file()) {
            files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
        }
        Self(files)
    }
}

/// The contents of a source.
pub(crate) struct Read {
    facts: Facts,
    /// The events in the final order, with times since the first sample.
    events: Vec<Event>,
    names: Vec<String>,
    anomalies: Anomalies,
    stopped: Option<Fatal>,
    late: u64,
}

pub(crate) fn read(files: &Files) -> Result<Read, Fatal> {
    let opened = Ctf.open(Input::Folder(Box::new(files.clone())))?;
    let facts = opened.facts.clone();
    let mut ordered = Ordered::new(opened, false, Limits::default());
    let (mut batch, mut events, mut names) = (Batch::default(), vec![], vec![]);
    while ordered.next(&mut batch) {
        events.append(&mut batch.events);
        names.extend(batch.names.drain(..).map(String::from));
        batch.clear();
    }
    let late = ordered.late();
    Ok(Read { facts, events, names, anomalies: ordered.anomalies, stopped: ordered.stopped, late })
}

impl Read {
    fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", |n| n)
    }

    /// Describes each event but names.
    fn lines(&self) -> Vec<String> {
        self.events.iter().filter(|e| !matches!(e.what, EventKind::Name { .. })).map(|e| self.describe(e)).collect()
    }

    fn describe(&self, event: &Event) -> String {
        let time = |t: Ns| match t {
            Ns::MIN => "-∞".to_owned(),
            Ns::MAX => "∞".to_owned(),
            Ns(n) => n.to_string(),
        };
        let what = match &event.what {
            EventKind::Switch(s) => {
                let (prev, next) = (self.name(s.prev_name), self.name(s.next_name));
                let (from, to) = (s.prev_prio.to_word(), s.next_prio.to_word());
                format!(
                    "{prev}:{} ({from}) {:?} {} → {next}:{} ({to})",
                    s.prev.0,
                    s.out,
                    char::from(s.state_letter),
                    s.next.0
                )
            }
            EventKind::Wake(w) => {
                let target = w.target.map(|c| c.0);
                format!("{:?} {}:{} for {target:?} by {}", w.kind, self.name(w.name), w.tid.0, w.waker.0)
            }
            EventKind::Name { tid, pid, name } => format!("{} of {} is {:?}", tid.0, pid.0, self.name(*name)),
            EventKind::Fork { parent, tid, pid, name } => {
                format!("fork {}:{} of {} by {}", self.name(*name), tid.0, pid.0, parent.0)
            }
            EventKind::Irq { kind, number, begins, name } => {
                format!("{kind:?} {number} {} {:?}", if *begins { "begins" } else { "ends" }, self.name(*name))
            }
            EventKind::Mark(m) => format!("{:?} marked by {} of {}", self.name(m.name), m.tid.0, m.pid.0),
            EventKind::Loss(l) => {
                let (from, to) = (l.from.get().unwrap_or(Ns::MIN), l.to.get().unwrap_or(Ns::MAX));
                format!("lost {} of {:?}: {}–{}", l.events.to_word(), l.cpu.map(|c| c.0), time(from), time(to))
            }
            other => format!("{other:?}"),
        };
        format!("{} cpu{} {what}", time(event.at), event.cpu.0 as i32)
    }
}
