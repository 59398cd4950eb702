//! Sessions of drawn traces.
#![allow(dead_code)] // each test uses its part

use engine::{EngineError, Facts, Fatal, Identity, Opened, PassOptions, Priority, Session, Source};
use model::Batch;
use std::path::Path;
use testkit::Replay;

/// Events that are at hand, as a source.
struct Drawn {
    facts: Facts,
    batch: Batch,
}

impl Source for Drawn {
    fn path(&self) -> &Path {
        Path::new("/home/somebody/drawn")
    }

    fn format(&self) -> &'static str {
        "drawn"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        Ok(Replay::all(self.batch.clone()).opened(self.facts.clone()))
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        Ok(Identity { trace: 7, files: Vec::new() })
    }
}

/// Some events as a source.
pub fn source_of(batch: Batch) -> Box<dyn Source> {
    Box::new(Drawn { facts: Facts::default(), batch })
}

/// With a machine that is drawn.
pub fn options(machine: &str) -> PassOptions {
    PassOptions { machine: Some(testkit::machine(machine)), ..PassOptions::default() }
}

/// A session of some events on a machine that is drawn.
pub fn of_events(batch: Batch, machine: &str) -> Session {
    Session::of_source(source_of(batch), options(machine)).expect("a trace")
}

/// A session of what is drawn; `change` may change it before.
pub fn drawn(text: &str, change: impl FnOnce(&mut Facts, &mut Batch)) -> Session {
    let trace = testkit::trace(text);
    let (mut facts, mut batch) = (Facts { whole_machine: true, ..trace.facts }, trace.batch);
    change(&mut facts, &mut batch);
    let options = PassOptions { machine: Some(testkit::machine(text)), ..PassOptions::default() };
    Session::of_source(Box::new(Drawn { facts, batch }), options).expect("a trace")
}
