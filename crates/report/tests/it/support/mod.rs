//! Sessions of drawn traces.
#![allow(dead_code)] // each test uses its part

use engine::{EngineError, Facts, Fatal, Identity, IdleState, Opened, PassOptions, Priority, Session, Source};
use model::Batch;
use std::path::Path;
use testkit::Replay;

/// Drawn events as a source.
struct Drawn {
    facts: Facts,
    batch: Batch,
}

impl Source for Drawn {
    fn path(&self) -> &Path {
        Path::new("/home/user1/drawn")
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

/// Events as a source.
pub fn source_of(batch: Batch) -> Box<dyn Source> {
    Box::new(Drawn { facts: Facts::default(), batch })
}

/// Options with a drawn machine.
pub fn options(machine: &str) -> PassOptions {
    PassOptions { machine: Some(testkit::machine(machine)), ..PassOptions::default() }
}

/// A session of events on a drawn machine.
pub fn of_events(batch: Batch, machine: &str) -> Session {
    Session::of_source(source_of(batch), options(machine)).expect("a trace")
}

/// A session of a drawn trace; `change` may modify it first. A line `states NAME=US …` describes the idle states of the drawn CPUs with
/// their target residencies.
pub fn drawn(text: &str, change: impl FnOnce(&mut Facts, &mut Batch)) -> Session {
    let (states, text): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("states "));
    let text = text.join("\n");
    let trace = testkit::trace(&text);
    let (mut facts, mut batch) = (Facts { whole_machine: true, ..trace.facts }, trace.batch);
    change(&mut facts, &mut batch);
    let state = |word: &str| {
        let (name, us) = word.split_once('=').expect("NAME=US");
        let target_residency_us = Some(us.parse().expect("µs"));
        IdleState { name: name.to_owned(), target_residency_us, ..IdleState::default() }
    };
    let states: Vec<IdleState> = states.iter().flat_map(|line| line.split(' ').skip(1)).map(state).collect();
    let mut machine = testkit::machine(&text);
    machine.cpus.iter_mut().for_each(|cpu| cpu.idle_states.clone_from(&states));
    let options = PassOptions { machine: Some(machine), ..PassOptions::default() };
    Session::of_source(Box::new(Drawn { facts, batch }), options).expect("a trace")
}
