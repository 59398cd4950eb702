//! Tests the perf.data importer with files written here, recorded files, and damaged files.

mod damaged;
mod fixtures;
mod mappings;
mod records;
mod samples;
mod user_stack;
pub(crate) mod writer;

use import::formats::perf_data::PerfData;
use ingest::{Anomalies, Facts, Fatal, Importer, Input, Limits, Ordered};
use model::{Batch, Event, EventKind, NameId, Ns, SamplingOff, StackFrame};
use std::io::Cursor;
use std::sync::Arc;
use unwind::Tables;

/// The contents of a source.
pub(crate) struct Read {
    facts: Facts,
    /// The events in the final order, with times since the first sample.
    events: Vec<Event>,
    names: Vec<String>,
    stacks: Vec<Vec<u64>>,
    frames: Vec<Box<[StackFrame]>>,
    anomalies: Anomalies,
    sampling_off: Vec<SamplingOff>,
    stopped: Option<Fatal>,
    late: u64,
}

pub(crate) fn file(bytes: &[u8]) -> Result<Read, Fatal> {
    Ok(read(PerfData.open(Input::File(Box::new(Cursor::new(bytes))))?))
}

pub(crate) fn pipe(bytes: &[u8]) -> Result<Read, Fatal> {
    Ok(read(PerfData.open(Input::Pipe(Box::new(bytes)))?))
}

/// Reads a file with the tables of the files in it.
fn unwound(bytes: &[u8], tables: &Arc<dyn Tables>) -> Read {
    let mut opened = PerfData.open(Input::File(Box::new(Cursor::new(bytes)))).unwrap();
    opened.streams.iter_mut().for_each(|stream| stream.unwind_by(tables));
    read(opened)
}

fn read(opened: ingest::Opened<'_>) -> Read {
    let facts = opened.facts.clone();
    let mut ordered = Ordered::new(opened, false, Limits::default());
    let (mut batch, mut events, mut names, mut frames) = (Batch::default(), vec![], vec![], vec![]);
    while ordered.next(&mut batch) {
        events.append(&mut batch.events);
        names.extend(batch.names.drain(..).map(String::from));
        frames.append(&mut batch.stacks);
    }
    let late = ordered.late();
    let stacks = frames.iter().map(|chain| chain.iter().map(|f| f.address).collect()).collect();
    let Ordered { anomalies, sampling_off, stopped, .. } = ordered;
    Read { facts, events, names, stacks, frames, anomalies, sampling_off, stopped, late }
}

impl Read {
    fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", |n| n)
    }

    /// Describes each event but side-band records.
    fn lines(&self) -> Vec<String> {
        self.events.iter().filter(|e| !matches!(e.what, EventKind::Name { .. })).map(|e| self.describe(e)).collect()
    }

    /// Describes every event.
    fn all(&self) -> Vec<String> {
        self.events.iter().map(|e| self.describe(e)).collect()
    }

    fn describe(&self, event: &Event) -> String {
        let time = |t: Ns| match t {
            Ns::MIN => "-∞".to_owned(),
            Ns::MAX => "∞".to_owned(),
            Ns(n) => n.to_string(),
        };
        let what = match &event.what {
            EventKind::Switch(s) => {
                let stack =
                    s.stack.0.checked_sub(1).map_or(String::new(), |at| format!(" {:x?}", self.stacks[at as usize]));
                let (prev, next) = (self.name(s.prev_name), self.name(s.next_name));
                format!("{prev}:{} {:?} → {next}:{}{stack}", s.prev.0, s.out, s.next.0)
            }
            EventKind::Wake(w) => {
                format!("{:?} {}:{} for {:?}", w.kind, self.name(w.name), w.tid.0, w.target.map(|c| c.0))
            }
            EventKind::Name { tid, pid, name } => format!("{} of {} is {:?}", tid.0, pid.0, self.name(*name)),
            EventKind::Loss(l) => {
                let (from, to) = (l.from.get().unwrap_or(Ns::MIN), l.to.get().unwrap_or(Ns::MAX));
                format!("lost {} of {:?}: {}–{}", l.events.to_word(), l.cpu.map(|c| c.0), time(from), time(to))
            }
            other => format!("{other:?}"),
        };
        format!("{} cpu{} {what}", time(event.at), event.cpu.0 as i32)
    }
}
