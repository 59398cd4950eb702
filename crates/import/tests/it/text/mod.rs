//! Tests the importers of ftrace's and perf script's text with recorded, generated and damaged texts.

mod damaged;
mod drawn;
mod fixtures;
mod kernel_log;
mod others;
mod pasted;
mod referee;
mod samples;
mod still_current;

use ingest::{Anomalies, Facts, Fatal, Input, Limits, Ordered};
use model::{Batch, Event, EventKind, NameId, Ns, StackFrame};
use std::io::Cursor;

/// The contents of a source.
pub(crate) struct Read {
    format: &'static str,
    facts: Facts,
    /// The events in the final order, with times since the first sample.
    events: Vec<Event>,
    names: Vec<String>,
    stacks: Vec<Box<[StackFrame]>>,
    anomalies: Anomalies,
    stopped: Option<Fatal>,
    late: u64,
    origin: Option<Ns>,
}

/// Reads bytes of any supported format, as the engine does.
pub(crate) fn file(bytes: &[u8]) -> Result<Read, Fatal> {
    let read = read_as(bytes, false, false)?;
    if read.late == 0 { Ok(read) } else { read_as(bytes, false, true) }
}

/// Like [`file`], through a pipe.
pub(crate) fn pipe(bytes: &[u8]) -> Result<Read, Fatal> {
    read_as(bytes, true, false)
}

fn read_as(bytes: &[u8], as_pipe: bool, sort_all: bool) -> Result<Read, Fatal> {
    let head = &bytes[..bytes.len().min(4096)];
    let importer = import::detect(head).ok_or_else(|| Fatal::new("unknown format", 0))?;
    let input = if as_pipe { Input::Pipe(Box::new(bytes)) } else { Input::File(Box::new(Cursor::new(bytes))) };
    let opened = importer.open(input)?;
    let facts = opened.facts.clone();
    let mut ordered = Ordered::new(opened, sort_all, Limits::default());
    let (mut batch, mut events, mut names, mut stacks) = (Batch::default(), vec![], vec![], vec![]);
    while ordered.next(&mut batch) {
        events.append(&mut batch.events);
        names.extend(batch.names.drain(..).map(String::from));
        stacks.append(&mut batch.stacks);
    }
    let (late, origin) = (ordered.late(), ordered.origin());
    let (anomalies, stopped) = (ordered.anomalies, ordered.stopped);
    Ok(Read { format: importer.id(), facts, events, names, stacks, anomalies, stopped, late, origin })
}

impl Read {
    pub(crate) fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", |n| n)
    }

    fn describe(&self, event: &Event) -> String {
        let time = |t: Ns| match t {
            Ns::MIN => "-∞".to_owned(),
            Ns::MAX => "∞".to_owned(),
            Ns(n) => n.to_string(),
        };
        let what = match &event.what {
            EventKind::Switch(s) => {
                let depth = s
                    .stack
                    .0
                    .checked_sub(1)
                    .map_or(0, |at| self.stacks[at as usize].iter().map(|f| f.address).collect::<Vec<u64>>().len());
                let stack = if depth > 0 { format!(" ({depth} frames)") } else { String::new() };
                let (prev, next) = (self.name(s.prev_name), self.name(s.next_name));
                format!("{prev}:{} {:?} {} → {next}:{}{stack}", s.prev.0, s.out, char::from(s.state_letter), s.next.0)
            }
            EventKind::Wake(w) => {
                let cpu = w.target.map(|c| c.0);
                format!("{:?} {}:{} for {cpu:?} by {}", w.kind, self.name(w.name), w.tid.0, w.waker.0)
            }
            EventKind::Fork { parent, tid, pid, name } => {
                format!("{} made {}:{} in {}", parent.0, self.name(*name), tid.0, pid.0)
            }
            EventKind::Exec { tid, pid, file } => format!("{} of {} executes {:?}", tid.0, pid.0, self.name(*file)),
            EventKind::Name { tid, pid, name } => format!("{} of {} is {:?}", tid.0, pid.0, self.name(*name)),
            EventKind::Mark(m) => {
                let of = format!("{} of {}", m.tid.0, m.pid.0);
                format!("mark of {of}: {:?} {:?} on track {}", m.edge, self.name(m.name), m.track)
            }
            EventKind::Value { pid, name, value } => format!("value of {}: {:?} is {value}", pid.0, self.name(*name)),
            EventKind::Loss(l) => {
                let (from, to) = (l.from.get().unwrap_or(Ns::MIN), l.to.get().unwrap_or(Ns::MAX));
                format!("lost {} of {:?}: {}–{}", l.events.to_word(), l.cpu.map(|c| c.0), time(from), time(to))
            }
            other => format!("{other:?}"),
        };
        format!("{} cpu{} {what}", time(event.at), event.cpu.0 as i32)
    }
}
