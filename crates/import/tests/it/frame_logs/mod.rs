//! Tests the importers of frame logs with logs that we wrote, those of other projects, and damaged logs.

mod damaged;
mod fixtures;

use ingest::{Anomalies, Facts, Fatal, Importer, Input, Limits, Ordered};
use model::{Batch, Event, EventKind, NameId};
use std::io::Cursor;

/// The contents of a log.
pub(crate) struct Read {
    format: &'static str,
    facts: Facts,
    events: Vec<Event>,
    names: Vec<String>,
    anomalies: Anomalies,
    late: u64,
}

/// Reads a log of any supported format; sorts it if rows come late.
pub(crate) fn file(bytes: &[u8]) -> Result<Read, Fatal> {
    let format = import::detect(&bytes[..bytes.len().min(4096)]).ok_or(Fatal::new("no format", 0))?;
    let input = || Input::File(Box::new(Cursor::new(bytes)));
    let read = read(format, input(), false)?;
    if read.late > 0 { crate::frame_logs::read(format, input(), true) } else { Ok(read) }
}

pub(crate) fn read(format: &'static dyn Importer, input: Input<'_>, sort_all: bool) -> Result<Read, Fatal> {
    let opened = format.open(input)?;
    let facts = opened.facts.clone();
    let mut ordered = Ordered::new(opened, sort_all, Limits::default());
    let (mut batch, mut events, mut names) = (Batch::default(), vec![], vec![]);
    while ordered.next(&mut batch) {
        events.append(&mut batch.events);
        names.extend(batch.names.drain(..).map(String::from));
    }
    let late = ordered.late();
    Ok(Read { format: format.id(), facts, events, names, anomalies: ordered.anomalies, late })
}

impl Read {
    fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("-", |n| n)
    }

    /// Returns the number of frames.
    pub(crate) fn frames(&self) -> usize {
        self.events.iter().filter(|e| matches!(e.what, EventKind::Present(_))).count()
    }

    /// Returns a line for each frame: its row, its begin in µs, its program, and its times in µs.
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for event in &self.events {
            match event.what {
                EventKind::Present(p) => {
                    let (program, mode) = (self.name(p.application), self.name(p.mode));
                    let shown = p.displayed.map_or("", |shown| if shown { ", shown" } else { ", dropped" });
                    let (at, chain) = (event.at.0 / 1_000, p.swap_chain);
                    lines.push(format!("{}: at {at}, {program} {} {chain:#x}, {mode}{shown}", p.frame, p.pid.0));
                }
                EventKind::FrameTime(t) => {
                    let line = lines.last_mut().unwrap();
                    assert!(line.starts_with(&format!("{}:", t.frame)), "{line}: {t:?}");
                    let comma = if line.contains("\n   ") { "," } else { "\n   " };
                    line.push_str(&format!("{comma} {:?} {}", t.of, t.took.0 / 1_000));
                }
                EventKind::Sample => lines.push(format!("ends at {}", event.at.0 / 1_000)),
                other => panic!("{other:?}"),
            }
        }
        lines
    }
}
