//! Tests the Perfetto importer with our own traces, those of other projects, and damaged traces.

mod damaged;
mod fixtures;
mod packets;
mod samples;
pub(crate) mod writer;

use import::formats::perfetto::Perfetto;
use ingest::{Anomalies, Anomaly, Facts, Fatal, Importer, Input, Limits, Ordered};
use model::{Batch, Event, EventKind, NameId, Ns, StackFrame};
use std::io::Cursor;

/// The contents of a trace.
pub(crate) struct Trace {
    facts: Facts,
    /// The events in the final order, with times since the first sample.
    events: Vec<Event>,
    names: Vec<String>,
    stacks: Vec<Box<[StackFrame]>>,
    anomalies: Anomalies,
    stopped: Option<Fatal>,
    late: u64,
}

pub(crate) fn read(bytes: &[u8]) -> Result<Trace, Fatal> {
    read_by(bytes, false)
}

/// `sort_all`: sort everything, as ingest does if an event came late.
pub(crate) fn read_by(bytes: &[u8], sort_all: bool) -> Result<Trace, Fatal> {
    let opened = Perfetto.open(Input::File(Box::new(Cursor::new(bytes))))?;
    let facts = opened.facts.clone();
    let mut ordered = Ordered::new(opened, sort_all, Limits::default());
    let (mut batch, mut events, mut names, mut stacks) = (Batch::default(), vec![], vec![], vec![]);
    while ordered.next(&mut batch) {
        events.append(&mut batch.events);
        names.extend(batch.names.drain(..).map(String::from));
        stacks.append(&mut batch.stacks);
    }
    let late = ordered.late();
    Ok(Trace { facts, events, names, stacks, anomalies: ordered.anomalies, stopped: ordered.stopped, late })
}

impl Trace {
    /// Returns the numbers of switches, of events without content, and of marks.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let count = |is: fn(&EventKind) -> bool| self.events.iter().filter(|e| is(&e.what)).count();
        let samples = count(|what| matches!(what, EventKind::Sample));
        (count(|what| matches!(what, EventKind::Switch(_))), samples, count(|what| matches!(what, EventKind::Mark(_))))
    }

    /// Returns how often something was not understood; panics if anything was lost.
    pub(crate) fn not_understood(&self) -> Vec<u64> {
        assert!(!self.events.iter().any(|e| matches!(e.what, EventKind::Loss(_))));
        assert!(self.anomalies.0.values().all(|t| t.what == Anomaly::NotUnderstood), "{:?}", self.anomalies.0);
        self.anomalies.0.values().map(|t| t.count).collect()
    }

    fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", |n| n)
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
                let (prev, next) = (self.name(s.prev_name), self.name(s.next_name));
                format!("{prev}:{} {:?} → {next}:{}", s.prev.0, s.out, s.next.0)
            }
            EventKind::Wake(w) => {
                let target = w.target.map(|c| c.0);
                format!("{:?} {}:{} for {target:?} by {}", w.kind, self.name(w.name), w.tid.0, w.waker.0)
            }
            EventKind::Name { tid, pid, name } => format!("{} of {} is {:?}", tid.0, pid.0, self.name(*name)),
            EventKind::Mark(m) => {
                format!("{:?} {:?} of {} in {} on track {}", m.edge, self.name(m.name), m.tid.0, m.pid.0, m.track)
            }
            EventKind::Value { pid, name, value } => format!("{} of {} is {value}", self.name(*name), pid.0),
            EventKind::Loss(l) => {
                let (from, to) = (l.from.get().unwrap_or(Ns::MIN), l.to.get().unwrap_or(Ns::MAX));
                format!("lost {} of {:?}: {}–{}", l.events.to_word(), l.cpu.map(|c| c.0), time(from), time(to))
            }
            other => format!("{other:?}"),
        };
        format!("{} cpu{} {what}", time(event.at), event.cpu.0 as i32)
    }
}
