//! Tests the SchedViz importer with collections recorded here, SchedViz's own collections, generated lines, and damaged collections.

mod damaged;
mod drawn;
mod fixtures;

use import::formats::schedviz::SchedViz;
use ingest::{Anomalies, Facts, Fatal, Folder, Importer, Input, Limits, Ordered, ReadSeek};
use model::{Batch, Event, EventKind, NameId, Ns};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

/// A folder in memory.
#[derive(Clone, Default)]
pub(crate) struct Files(BTreeMap<String, Vec<u8>>);

impl Folder for Files {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>> {
        let bytes = self.0.get(name).cloned().ok_or(std::io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes)))
    }
}

impl Files {
    pub(crate) fn of_folder(root: &Path) -> Self {
        let mut files = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                    files.0.insert(name, std::fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    /// Unpacks a `tar.gz`.
    pub(crate) fn of_archive(path: &Path) -> Self {
        let mut tar = Vec::new();
        let file = std::fs::File::open(path).unwrap();
        std::io::copy(&mut flate2::read::MultiGzDecoder::new(file), &mut tar).unwrap();
        let mut files = Self::default();
        let mut rest = tar.as_slice();
        while rest.len() >= 512 && rest[0] != 0 {
            let (head, body) = rest.split_at(512);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).split('\0').next().unwrap().trim().to_owned();
            let size = usize::from_str_radix(&text(&head[124..136]), 8).unwrap();
            if matches!(head[156], b'0' | 0) {
                files.0.insert(text(&head[..100]), body[..size].to_vec());
            }
            rest = &body[size.next_multiple_of(512)..];
        }
        files
    }
}

/// The contents of a source.
pub(crate) struct Read {
    facts: Facts,
    events: Vec<Event>,
    names: Vec<String>,
    anomalies: Anomalies,
    late: u64,
}

pub(crate) fn folder(files: &Files) -> Result<Read, Fatal> {
    read(Input::Folder(Box::new(files.clone())))
}

pub(crate) fn read(input: Input<'_>) -> Result<Read, Fatal> {
    let opened = SchedViz.open(input)?;
    let facts = opened.facts.clone();
    let mut ordered = Ordered::new(opened, false, Limits::default());
    let (mut batch, mut events, mut names) = (Batch::default(), vec![], vec![]);
    while ordered.next(&mut batch) {
        events.append(&mut batch.events);
        names.extend(batch.names.drain(..).map(String::from));
    }
    let late = ordered.late();
    Ok(Read { facts, events, names, anomalies: ordered.anomalies, late })
}

impl Read {
    fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", |n| n)
    }

    /// Describes an event.
    fn describe(&self, event: &Event) -> String {
        let time = |t: Ns| match t {
            Ns::MIN => "-∞".to_owned(),
            Ns::MAX => "∞".to_owned(),
            Ns(n) => n.to_string(),
        };
        let what = match &event.what {
            EventKind::Switch(s) => {
                let (prev, next) = (self.name(s.prev_name), self.name(s.next_name));
                format!("{prev}:{} {:?} → {next}:{}", s.prev.0, s.out, s.next.0)
            }
            EventKind::Wake(w) => {
                format!("{:?} {}:{} for {:?}", w.kind, self.name(w.name), w.tid.0, w.target.map(|c| c.0))
            }
            EventKind::Name { tid, name, .. } => format!("{} is {:?}", tid.0, self.name(*name)),
            EventKind::Loss(l) => {
                let (from, to) = (l.from.get().unwrap_or(Ns::MIN), l.to.get().unwrap_or(Ns::MAX));
                format!("lost {} of {:?}: {}–{}", l.events.to_word(), l.cpu.map(|c| c.0), time(from), time(to))
            }
            other => format!("{other:?}"),
        };
        format!("{} cpu{} {what}", time(event.at), event.cpu.0 as i32)
    }

    fn lines(&self) -> Vec<String> {
        self.events.iter().map(|e| self.describe(e)).collect()
    }
}
