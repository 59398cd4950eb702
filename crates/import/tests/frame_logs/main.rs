//! The importers of frame logs on logs that we wrote, on those of others, and on damaged ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // a test fails by panicking

mod damaged;
mod fixtures;

use ingest::{Facts, Fatal, Importer, Input, Limits, Ordered, Troubles};
use model::{Batch, Event, NameId, What};
use std::io::Cursor;

/// What a log told.
pub(crate) struct Read {
    format: &'static str,
    facts: Facts,
    events: Vec<Event>,
    names: Vec<String>,
    troubles: Troubles,
    late: u64,
}

/// Of whatever format it is; sorted, where rows come late.
pub(crate) fn file(bytes: &[u8]) -> Result<Read, Fatal> {
    let format = import::detect(&bytes[..bytes.len().min(4096)]).ok_or(Fatal::new("no format", 0))?;
    let input = || Input::File(Box::new(Cursor::new(bytes)));
    let read = read(format, input(), false)?;
    if read.late > 0 { crate::read(format, input(), true) } else { Ok(read) }
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
    Ok(Read { format: format.id(), facts, events, names, troubles: ordered.troubles, late })
}

impl Read {
    fn name(&self, id: NameId) -> &str {
        (id.0 as usize).checked_sub(1).and_then(|at| self.names.get(at)).map_or("-", |n| n)
    }

    /// How many frames it has.
    pub(crate) fn frames(&self) -> usize {
        self.events.iter().filter(|e| matches!(e.what, What::Present(_))).count()
    }

    /// A line a frame: its row, its begin in microseconds, whose it is, and its times in microseconds.
    fn words(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for event in &self.events {
            match event.what {
                What::Present(p) => {
                    let (program, mode) = (self.name(p.application), self.name(p.mode));
                    let shown = p.displayed.map_or("", |shown| if shown { ", shown" } else { ", dropped" });
                    let (at, chain) = (event.at.0 / 1_000, p.swap_chain);
                    lines.push(format!("{}: at {at}, {program} {} {chain:#x}, {mode}{shown}", p.frame, p.pid.0));
                }
                What::FrameTime(t) => {
                    let line = lines.last_mut().unwrap();
                    assert!(line.starts_with(&format!("{}:", t.frame)), "{line}: {t:?}");
                    let comma = if line.contains("\n   ") { "," } else { "\n   " };
                    line.push_str(&format!("{comma} {:?} {}", t.of, t.took.0 / 1_000));
                }
                What::Sample => lines.push(format!("ends at {}", event.at.0 / 1_000)),
                other => panic!("{other:?}"),
            }
        }
        lines
    }
}
