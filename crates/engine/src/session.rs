//! A trace of any kind, opened to be asked.

use crate::read::foreign::Foreign;
use crate::read::inferred::WithInferred;
use crate::tables::{Made, Names, Slow};
use crate::{EngineError, Infer, PassOptions, Priority, Source, Summary, open_source};
use account::Totals;
use ingest::Facts;
use model::{Event, Ns, Span, Stacks, Tid};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use topology::Machine;

/// A trace folder, or a file of another tool that stands in its place.
pub struct Session {
    path: PathBuf,
    options: PassOptions,
    kind: Kind,
    facts: Facts,
    machine: Machine,
    /// Of all of the recording.
    pub(crate) whole: Summary,
    /// What is told, where that is not all of it.
    pub(crate) part: Option<Box<Part>>,
    pub(crate) made: Made,
    pub(crate) names: OnceLock<Names>,
    /// Whose end the critical path leads to, where it was said.
    pub(crate) ends: Option<Tid>,
    pub(crate) slow: Slow,
}

/// A part of a recording, and its sums.
pub(crate) struct Part {
    pub(crate) span: Span,
    pub(crate) totals: Totals,
    pub(crate) summary: Summary,
}

pub(crate) enum Kind {
    /// With what was inferred, where that was asked for.
    Folder(Box<store::Folder>, Option<Box<WithInferred>>),
    Source(Box<Foreign>),
}

/// Where events go, some thousands at a time, with all texts told so far (the first is [`model::NameId`] 1); `Err` ends the
/// reading.
pub type EachEvents<'a> = &'a mut dyn FnMut(&[Event], &[Box<str>]) -> std::io::Result<()>;

impl Session {
    /// Opens a trace folder, or a file that an importer knows (`-` is standard input).
    ///
    /// # Errors
    /// In a sentence with where and what to do.
    pub fn open(path: &Path, options: PassOptions) -> Result<Self, EngineError> {
        if path.join(store::MANIFEST).exists() || path.join("spool").is_dir() {
            return Self::open_folder(path, options);
        }
        Self::of_source(open_source(path)?, options)
    }

    /// Any other source.
    ///
    /// # Errors
    /// In a sentence with where and what to do.
    pub fn of_source(source: Box<dyn Source>, options: PassOptions) -> Result<Self, EngineError> {
        let read = Foreign::read(source, &options)?;
        Ok(Self {
            path: read.source.path().to_owned(),
            facts: read.accounted.facts.clone(),
            machine: read.accounted.machine.clone(),
            whole: Summary::of(&read.accounted),
            part: None,
            kind: Kind::Source(Box::new(read)),
            options,
            made: Made::default(),
            names: OnceLock::new(),
            ends: None,
            slow: Slow::default(),
        })
    }

    fn open_folder(path: &Path, options: PassOptions) -> Result<Self, EngineError> {
        if path.join("spool").is_dir() && !path.join(store::MANIFEST).exists() {
            let path = path.display();
            return Err(EngineError::Other(format!(
                "{path}: this recording was interrupted before it was converted: run `corewise recover {path}`"
            )));
        }
        let folder = store::Folder::open(path)?;
        if options.strict_loss {
            return Err(EngineError::Other(format!(
                "{}: --strict-loss needs the original recording, not a trace folder",
                path.display()
            )));
        }
        let manifest = folder.manifest();
        let mut summary: Summary = serde_json::from_value(serde_json::Value::Object(manifest.summary.clone()))
            .map_err(|e| EngineError::Other(format!("{}: the manifest's summary is damaged: {e}", path.display())))?;
        let mut filled = None;
        if options.infer == Infer::Within {
            let with = WithInferred::read(&folder, summary.ready_known)?;
            summary = with.summary(summary)?;
            filled = Some(Box::new(with));
        }
        let machine = manifest.machine.clone();
        let machine = options.machine.as_ref().map_or_else(|| machine.clone(), |m| machine.clone().overlay(m.clone()));
        Ok(Self {
            path: path.to_owned(),
            facts: manifest.whole_facts(),
            machine,
            whole: summary,
            part: None,
            kind: Kind::Folder(Box::new(folder), filled),
            options,
            made: Made::default(),
            names: OnceLock::new(),
            ends: None,
            slow: Slow::default(),
        })
    }

    /// What was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the source said of itself.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    pub(crate) fn options(&self) -> &PassOptions {
        &self.options
    }

    /// Counts, sums and laws of what is told: the recording, or the part ([`Self::of_part`]).
    #[must_use]
    pub fn summary(&self) -> &Summary {
        self.part.as_ref().map_or(&self.whole, |part| &part.summary)
    }

    /// Takes command lines, paths and host names out of what it says of itself; names of threads, processes and marks stay.
    pub fn redact(&mut self) {
        let mut told = store::Manifest::new(0, std::mem::take(&mut self.facts));
        told.machine = std::mem::take(&mut self.machine);
        store::redact(&mut told);
        self.facts = told.whole_facts();
        self.machine = told.machine;
        // It stands in commands that are shown.
        self.path = PathBuf::from("TRACE");
    }

    /// The trace's id; of a file that was not imported, all of it is read for that.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn trace(&self) -> Result<i64, EngineError> {
        match &self.kind {
            Kind::Folder(folder, _) => Ok(folder.manifest().trace),
            Kind::Source(of) => Ok(of.source.identity(&Priority::now())?.trace),
        }
    }

    /// Whether it is a trace folder, so that all tables are there already.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        matches!(self.kind, Kind::Folder(..))
    }

    /// Where time 0 is on the source's own clock.
    #[must_use]
    pub fn origin(&self) -> Ns {
        match &self.kind {
            Kind::Folder(folder, _) => Ns(folder.manifest().origin_ns),
            Kind::Source(of) => of.accounted.ingested.origin.unwrap_or_default(),
        }
    }

    /// All events in the merged order, their times from the start of the recording; of a file, all of it is read again.
    ///
    /// # Errors
    /// The trace cannot be read, its folder was made without events, or `each` refused.
    pub fn events(&self, each: EachEvents<'_>) -> Result<(), EngineError> {
        match &self.kind {
            Kind::Folder(folder, _) => folder.events(|events, names| each(events, names).map_err(EngineError::Output)),
            Kind::Source(of) => {
                let mut names = Vec::new();
                of.events(|batch| {
                    names.extend(batch.names.iter().cloned());
                    each(&batch.events, &names).map_err(EngineError::Output)
                })
            }
        }
    }

    /// All callchains. Empty where none were recorded.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn stacks(&self) -> Result<Arc<Stacks>, EngineError> {
        match &self.kind {
            Kind::Folder(folder, _) => Ok(Arc::new(folder.stacks()?)),
            Kind::Source(of) => Ok(Arc::clone(&of.stacks)),
        }
    }
}
