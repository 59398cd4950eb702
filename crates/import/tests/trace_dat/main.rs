//! The trace.dat importer on files written here, on recorded ones, and on damaged ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // a test fails by panicking

mod damaged;
mod fixtures;
mod records;
mod writer;

use import::formats::trace_dat::TraceDat;
use ingest::{Facts, Fatal, Importer, Input, Limits, Ordered, Troubles};
use model::{Batch, Event, NameId, Ns, StackFrame, What};
use std::io::Cursor;

/// What a source told.
pub(crate) struct Read {
    facts: Facts,
    /// In the final order, times since the first sample.
    events: Vec<Event>,
    names: Vec<String>,
    stacks: Vec<Box<[StackFrame]>>,
    troubles: Troubles,
    stopped: Option<Fatal>,
    late: u64,
}

pub(crate) fn file(bytes: &[u8]) -> Result<Read, Fatal> {
    Ok(read(TraceDat.open(Input::File(Box::new(Cursor::new(bytes))))?))
}

fn read(opened: ingest::Opened<'_>) -> Read {
    let facts = opened.facts.clone();
    let mut ordered = Ordered::new(opened, false, Limits::default());
    let (mut batch, mut events, mut names, mut stacks) = (Batch::default(), vec![], vec![], vec![]);
    while ordered.next(&mut batch) {
        events.append(&mut batch.events);
        names.extend(batch.names.drain(..).map(String::from));
        stacks.append(&mut batch.stacks);
    }
    let late = ordered.late();
    Read { facts, events, names, stacks, troubles: ordered.troubles, stopped: ordered.stopped, late }
}

impl Read {
    fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("", |n| n)
    }

    fn addresses(&self, at: u32) -> Vec<u64> {
        self.stacks[at as usize].iter().map(|f| f.address).collect()
    }

    /// Each event but side-band records in a few words.
    fn told(&self) -> Vec<String> {
        self.events.iter().filter(|e| !matches!(e.what, What::Name { .. })).map(|e| self.words(e)).collect()
    }

    /// Every event in a few words.
    fn all(&self) -> Vec<String> {
        self.events.iter().map(|e| self.words(e)).collect()
    }

    fn words(&self, event: &Event) -> String {
        let time = |t: Ns| match t {
            Ns::MIN => "-∞".to_owned(),
            Ns::MAX => "∞".to_owned(),
            Ns(n) => n.to_string(),
        };
        let what = match &event.what {
            What::Switch(s) => {
                let stack = s.stack.0.checked_sub(1).map_or(String::new(), |at| format!(" {:x?}", self.addresses(at)));
                let (prev, next) = (self.name(s.prev_name), self.name(s.next_name));
                format!("{prev}:{} {:?} → {next}:{}{stack}", s.prev.0, s.out, s.next.0)
            }
            What::Wake(w) => format!("{:?} {}:{} for {:?}", w.kind, self.name(w.name), w.tid.0, w.target.map(|c| c.0)),
            What::Name { tid, pid, name } => format!("{} of {} is {:?}", tid.0, pid.0, self.name(*name)),
            What::Loss(l) => {
                let (from, to) = (l.from.get().unwrap_or(Ns::MIN), l.to.get().unwrap_or(Ns::MAX));
                format!("lost {} of {:?}: {}–{}", l.events.to_word(), l.cpu.map(|c| c.0), time(from), time(to))
            }
            other => format!("{other:?}"),
        };
        format!("{} cpu{} {what}", time(event.at), event.cpu.0 as i32)
    }
}
