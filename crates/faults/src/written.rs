//! Writes a drawn trace as a trace folder that `corewise` can open.

use crate::Drawn;
use engine::{EngineError, Identity, PassOptions, Priority, Source, SourceFile, Target};
use ingest::{Facts, Fatal, Opened};
use model::{CpuId, Ns};
use std::path::Path;
use testkit::Replay;

struct Simulated<'a> {
    drawn: &'a Drawn,
    path: &'a Path,
}

impl Source for Simulated<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn format(&self) -> &'static str {
        "simulated"
    }

    fn open(&self) -> Result<Opened<'static>, Fatal> {
        let cpus: Vec<CpuId> = (0..self.drawn.machine.cpus() as u32).map(CpuId).collect();
        let facts = Facts {
            format: "simulated".into(),
            clock: "simulated".into(),
            has_waking: Some(true),
            has_wakeup: Some(true),
            whole_machine: true,
            begin: Some(Ns::ZERO),
            recorded: cpus.clone(),
            online: cpus,
            machine: Some(self.drawn.machine.described()),
            ..Facts::default()
        };
        Ok(Replay::all(self.drawn.batch.clone()).opened(facts))
    }

    fn identity(&self, _: &Priority) -> Result<Identity, EngineError> {
        let bytes = i64::try_from(self.drawn.batch.events.len()).unwrap_or(i64::MAX);
        let file =
            SourceFile { path: self.path.display().to_string(), hash: None, bytes, format: self.format().to_owned() };
        Ok(Identity { trace: 1, files: vec![file] })
    }
}

/// Writes a drawn trace to a new trace folder.
///
/// # Errors
/// If the folder cannot be written.
pub fn write(drawn: &Drawn, folder: &Path) -> Result<(), EngineError> {
    let source = Simulated { drawn, path: folder };
    engine::import(&source, Target::New(folder), &PassOptions::default(), &mut |_| ()).map(|_| ())
}
