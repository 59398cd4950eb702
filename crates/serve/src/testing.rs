//! Traces drawn as text (`testkit::drawing`), prepared to be shown.
#![allow(clippy::unwrap_used)]

use crate::{Trace, Tracks};
use engine::{EngineError, Fatal, Identity, Opened, PassOptions, Priority, Session, Source};
use std::path::Path;
use testkit::Replay;

/// A drawing as a source.
struct Drawn(engine::Facts, model::Batch);

impl Source for Drawn {
    fn path(&self) -> &Path {
        Path::new("drawn")
    }

    fn format(&self) -> &'static str {
        "drawn"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        Ok(Replay::all(self.1.clone()).opened(self.0.clone()))
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        Ok(Identity { trace: 7, files: Vec::new() })
    }
}

/// Imports a drawing; the trace is in the folder that is returned, too.
pub(crate) fn prepared(text: &str) -> (tempfile::TempDir, Trace) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("drawn.cw");
    let mut trace = testkit::trace(text);
    trace.facts.machine = Some(testkit::machine(text));
    let target = engine::Target::New(&folder);
    engine::import(&Drawn(trace.facts, trace.batch), target, &PassOptions::default(), &mut |_| ()).unwrap();
    let session = Session::open(&folder, PassOptions::default()).unwrap();
    let tracks = Tracks::of(&session).unwrap();
    let levels = crate::prepare(&session, &tracks, &mut |_| ()).unwrap();
    (dir, Trace { session, tracks, levels })
}

/// Opens the trace of a session again, redacted.
pub(crate) fn redacted(session: &Session) -> Trace {
    let mut session = Session::open(session.path(), PassOptions::default()).unwrap();
    session.redact(engine::Redact::Private);
    let tracks = Tracks::of(&session).unwrap();
    let levels = crate::prepare(&session, &tracks, &mut |_| ()).unwrap();
    Trace { session, tracks, levels }
}
