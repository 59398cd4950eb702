//! Sessions of drawn and read-back traces, and exports into memory.

pub mod pftrace;

use engine::{EngineError, Facts, Fatal, Identity, Opened, PassOptions, Priority, Session, Source};
use export::{Exporter, Job, Options, Place};
use model::{Batch, Value};
use std::path::Path;
use testkit::Replay;

/// Drawn events as a source.
pub struct Drawn {
    pub facts: Facts,
    pub batch: Batch,
}

impl Source for Drawn {
    fn path(&self) -> &Path {
        Path::new("/home/a_user/drawn")
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

/// A session of events.
pub fn session(facts: Facts, batch: Batch) -> Session {
    session_with(facts, batch, PassOptions::default())
}

pub fn session_with(facts: Facts, batch: Batch, options: PassOptions) -> Session {
    Session::of_source(Box::new(Drawn { facts, batch }), options).expect("a trace")
}

/// The bytes of an export that is one file.
pub fn exported(exporter: &dyn Exporter, session: &Session, options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    let mut job = Job { session, options, progress: &mut |_| () };
    export::write(exporter, &mut job, Place::Pipe(&mut out)).expect("an export");
    out
}

/// All rows of a table.
pub fn rows(session: &Session, table: &str) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    let keep = &mut |rows: &[Vec<Value>]| {
        all.extend_from_slice(rows);
        Ok(())
    };
    session.rows(table, keep).expect("rows");
    all
}
