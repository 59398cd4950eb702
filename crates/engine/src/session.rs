//! An open trace of any kind.

use crate::read::foreign::Foreign;
use crate::read::inferred::WithInferred;
use crate::redaction::{Events, Redaction};
use crate::restate::{self, Current};
use crate::source::{Any, open_any};
use crate::tables::{SlowFrameOptions, TableCache, ThreadNames};
use crate::{EngineError, FindObjective, Infer, PassOptions, Priority, Source, Summary};
use account::Totals;
use analysis::critical::End;
use ingest::Facts;
use model::{Event, Ns, Process, Redact, Shows, Span, Stacks};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use store::REDACTED;
use tempfile::TempDir;
use topology::Machine;

/// An open trace folder, or an open file of another tool.
pub struct Session {
    path: PathBuf,
    options: PassOptions,
    kind: Kind,
    facts: Facts,
    machine: Machine,
    /// Of the whole recording.
    pub(crate) whole: Summary,
    /// The part to which the session is limited.
    pub(crate) part: Option<Box<RangeSums>>,
    pub(crate) cache: TableCache,
    pub(crate) names: OnceLock<ThreadNames>,
    /// The thread with which the critical path ends, if requested.
    pub(crate) ends: Option<End>,
    /// How the objective of the table of its time is found; `None`: it is the end.
    pub(crate) objective: Option<FindObjective>,
    pub(crate) slow: SlowFrameOptions,
    /// The copy of a packed trace folder, or of one that cannot be written, which is removed with the session.
    unpacked: Option<TempDir>,
    /// The version of the definitions by which its states and sums had been made, if they were made again.
    restated_from: Option<u32>,
    /// What stands for private values, if these were removed.
    redaction: Option<Arc<Redaction>>,
}

/// A part of a recording, and its sums.
pub(crate) struct RangeSums {
    pub(crate) span: Span,
    pub(crate) totals: Totals,
    pub(crate) summary: Summary,
}

pub(crate) enum Kind {
    /// With inferred time, if requested.
    Folder(Box<store::Folder>, Option<Box<WithInferred>>),
    Source(Box<Foreign>),
}

/// A callback for events, a few thousand at a time, with all names read so far (the first is [`model::NameId`] 1); `Err` ends
/// the reading.
pub type EventCallback<'a> = &'a mut dyn FnMut(&[Event], &[Box<str>]) -> std::io::Result<()>;

/// Returns an error for a recording that is still a spool.
pub(crate) fn refuse_interrupted(path: &Path) -> Result<(), EngineError> {
    if path.join("spool").is_dir() && !path.join(store::MANIFEST).exists() {
        let path = path.display();
        return Err(EngineError::NotOpened(format!(
            "{path}: this recording was interrupted before it was converted: run `corewise recover {path}`"
        )));
    }
    Ok(())
}

impl Session {
    /// Opens a trace folder, packed or not, or a file that an importer recognises (`-` is standard input).
    ///
    /// ```
    /// use engine::{PassOptions, Session};
    ///
    /// # let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/ftrace_text/trace.txt");
    /// let session = Session::open(&path, PassOptions::default())?;
    /// assert!(session.summary().laws_hold());
    /// println!("{} threads on {} CPUs", session.summary().threads, session.summary().cpus);
    /// # Ok::<(), engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// The trace cannot be read; the message says where and what to do.
    pub fn open(path: &Path, options: PassOptions) -> Result<Self, EngineError> {
        if path.join(store::MANIFEST).exists() || path.join("spool").is_dir() {
            let may_write = !options.read_only;
            return Self::open_folder(path, options, may_write);
        }
        let packed = match open_any(path)? {
            Any::Source(source) => return Self::of_source(source, options),
            Any::Trace(packed) => packed,
        };
        // No table is kept in a copy.
        let mut session = Self::open_folder(&packed.at, PassOptions { read_only: true, ..options }, true)?;
        store::with_added(path, &mut session.facts);
        session.show_as(path);
        session.unpacked = Some(packed.folder);
        Ok(session)
    }

    /// Opens any other source.
    ///
    /// # Errors
    /// The trace cannot be read; the message says where and what to do.
    pub fn of_source(source: Box<dyn Source>, options: PassOptions) -> Result<Self, EngineError> {
        let read = Foreign::read(source, &options)?;
        let mut facts = read.accounted.facts.clone();
        store::with_added(read.source.path(), &mut facts);
        Ok(Self {
            path: read.source.path().to_owned(),
            facts,
            machine: read.accounted.machine.clone(),
            whole: Summary::of(&read.accounted),
            part: None,
            kind: Kind::Source(Box::new(read)),
            options,
            cache: TableCache::default(),
            names: OnceLock::new(),
            ends: None,
            objective: None,
            slow: SlowFrameOptions::default(),
            unpacked: None,
            restated_from: None,
            redaction: None,
        })
    }

    /// `may_write`: whether the folder may be upgraded.
    fn open_folder(path: &Path, options: PassOptions, may_write: bool) -> Result<Self, EngineError> {
        refuse_interrupted(path)?;
        if options.strict_loss {
            return Err(EngineError::Unfit(format!(
                "{}: --strict-loss needs the original recording, not a trace folder",
                path.display()
            )));
        }
        let Current { folder, before, copy } = restate::open(path, may_write)?;
        let manifest = folder.manifest();
        let mut summary = Summary::of_manifest(&folder)?;
        let restated_from = (before < manifest.accounting).then_some(before);
        let mut filled = None;
        if options.infer == Infer::Within {
            let with = WithInferred::read(&folder, summary.ready_known)?;
            summary = with.summary(summary)?;
            filled = Some(Box::new(with));
        }
        let machine = manifest.machine.clone();
        let machine = options.machine.as_ref().map_or_else(|| machine.clone(), |m| machine.clone().overlay(m.clone()));
        let mut facts = manifest.all_facts();
        store::with_added(path, &mut facts);
        Ok(Self {
            path: path.to_owned(),
            facts,
            machine,
            whole: summary,
            part: None,
            kind: Kind::Folder(Box::new(folder), filled),
            options,
            cache: TableCache::default(),
            names: OnceLock::new(),
            ends: None,
            objective: None,
            slow: SlowFrameOptions::default(),
            unpacked: copy,
            restated_from,
            redaction: None,
        })
    }

    /// Says that an earlier corewise made this folder, if its states and sums were made again from its events when it was opened.
    #[must_use]
    pub fn restated(&self) -> Option<String> {
        let (before, now) = (self.restated_from?, account::VERSION);
        Some(format!(
            "An earlier corewise made this folder: its states and sums were made again from its events, by definitions {now} instead of {before} (docs/accounting.md)."
        ))
    }

    /// The path of the trace.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Facts about the source.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The programs that processes ran; none, if the source does not have them, or if the session is redacted.
    ///
    /// # Errors
    /// Their list is damaged or not readable.
    pub fn processes(&self) -> Result<Vec<Process>, EngineError> {
        match &self.kind {
            // Nothing of them may be shown but their numbers.
            _ if self.is_redacted() => Ok(Vec::new()),
            Kind::Folder(folder, _) => Ok(folder.processes()?),
            Kind::Source(_) => Ok(Vec::new()),
        }
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

    /// Counts, sums and laws of the recording, or of the part to which the session is limited ([`Self::limited_to`]).
    #[must_use]
    pub fn summary(&self) -> &Summary {
        self.part.as_ref().map_or(&self.whole, |part| &part.summary)
    }

    /// Sets the path that the output and messages show: of a copy, that of the original.
    pub fn show_as(&mut self, path: &Path) {
        path.clone_into(&mut self.path);
    }

    /// Leaves out of all that it passes on what is private ([`Shows::fate`]): of rows, events, callchains, programs and facts. Lines of the source
    /// and labels are left out too.
    pub fn redact(&mut self, level: Redact) {
        self.redact_as(Arc::new(Redaction::new(level)));
    }

    /// [`Self::redact`], with the stand-ins of another session.
    pub fn redact_as(&mut self, redaction: Arc<Redaction>) {
        let mut manifest = store::Manifest::new(0, std::mem::take(&mut self.facts));
        manifest.machine = std::mem::take(&mut self.machine);
        store::redact(&mut manifest);
        self.facts = manifest.all_facts();
        self.machine = manifest.machine;
        for summary in std::iter::once(&mut self.whole).chain(self.part.as_mut().map(|part| &mut part.summary)) {
            summary.anomalies.iter_mut().for_each(|t| t.first_text = None);
            summary.stopped.iter_mut().filter(|why| store::has_path(why)).for_each(|why| REDACTED.clone_into(why));
        }
        // The path is part of commands in the output.
        self.path = PathBuf::from("TRACE");
        self.names = OnceLock::new();
        self.cache = TableCache::default();
        if let Some(name) = self.slow.mark_name.take() {
            self.slow.mark_name = redaction.shown(Shows::Mark, &name);
        }
        self.redaction = Some(redaction);
    }

    /// How it is redacted, if it is.
    #[must_use]
    pub fn redaction(&self) -> Option<&Arc<Redaction>> {
        self.redaction.as_ref()
    }

    /// Whether what is private was removed ([`Self::redact`]), so that no text may have a path from a table either.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        self.redaction.is_some()
    }

    /// [`Self::shown_name`] of a process: in a frame log, of a program.
    #[must_use]
    pub fn shown_process(&self, name: &str) -> String {
        let shows = if self.full_summary().is_of_frames() { Shows::Program } else { Shows::Name };
        self.shown_name(shows, name)
    }

    /// Returns what the session shows instead of a name that the user wrote, so that it finds what has this name. A number, as a TID or a PID is,
    /// stays. A final `*` stays after the name.
    #[must_use]
    pub fn shown_name(&self, shows: Shows, name: &str) -> String {
        let Some(redaction) = self.redaction.as_ref().filter(|_| name.parse::<i64>().is_err()) else {
            return name.to_owned();
        };
        match name.strip_suffix('*').filter(|_| redaction.level() == Redact::Names) {
            Some("") => name.to_owned(),
            // What follows is a number.
            Some(begin) => redaction.shown_pattern(shows, begin),
            None => redaction.shown(shows, name).unwrap_or_default(),
        }
    }

    /// The trace's id. For a file that was not imported, this reads the whole file.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn trace(&self) -> Result<i64, EngineError> {
        match &self.kind {
            Kind::Folder(folder, _) => Ok(folder.manifest().trace),
            Kind::Source(of) => Ok(of.source.identity(&Priority::now())?.trace),
        }
    }

    /// Returns whether this is a trace folder, which has its tables stored.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        matches!(self.kind, Kind::Folder(..))
    }

    /// Time 0 of the trace on the source's clock.
    #[must_use]
    pub fn origin(&self) -> Ns {
        match &self.kind {
            Kind::Folder(folder, _) => Ns(folder.manifest().origin_ns),
            Kind::Source(of) => of.accounted.ingested.origin.unwrap_or_default(),
        }
    }

    /// Passes on all events in merged order, with times from the start of the recording. A file is read again for this.
    ///
    /// ```
    /// use model::EventKind;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/ftrace_text/trace.txt");
    /// # let path = std::path::Path::new(path);
    /// let session = engine::Session::open(path, engine::PassOptions::default())?;
    /// let mut switches = 0;
    /// session.events(&mut |events, _names| {
    ///     switches += events.iter().filter(|e| matches!(e.what, EventKind::Switch(_))).count() as u64;
    ///     Ok(())
    /// })?;
    /// assert_eq!(switches, session.summary().switches);
    /// # Ok::<(), engine::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// The trace cannot be read, its folder has no events, or `each` failed.
    pub fn events(&self, each: EventCallback<'_>) -> Result<(), EngineError> {
        let Some(redaction) = &self.redaction else { return self.recorded_events(each) };
        let mut shown = Events::new(redaction);
        self.recorded_events(&mut |events, names| {
            let (events, names) = shown.of(events, names);
            each(events, names)
        })
    }

    fn recorded_events(&self, each: EventCallback<'_>) -> Result<(), EngineError> {
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

    /// Reads all stretches and events of a trace folder, whose pages have checksums. Nothing of a file of another tool, which was read when it was opened.
    ///
    /// # Errors
    /// A file is missing or damaged.
    pub fn check_files(&self) -> Result<(), EngineError> {
        let Kind::Folder(folder, _) = &self.kind else { return Ok(()) };
        let is_written = |def| store::states_name(def).is_some_and(|name| folder.manifest().files.contains_key(name));
        if is_written(&model::tables::THREAD_STATE) {
            folder.thread_stretches(None, |_| Ok::<_, EngineError>(()))?;
        }
        if is_written(&model::tables::CPU_STATE) {
            folder.cpu_stretches(None, |_| Ok::<_, EngineError>(()))?;
        }
        folder.events(|_, _| Ok(()))
    }

    /// All callchains; empty if none were recorded.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn stacks(&self) -> Result<Arc<Stacks>, EngineError> {
        let stacks = self.recorded_stacks()?;
        Ok(self.redaction.as_ref().map_or(stacks.clone(), |redaction| Arc::new(redaction.stacks(&stacks))))
    }

    /// All callchains, from which tables are made.
    pub(crate) fn recorded_stacks(&self) -> Result<Arc<Stacks>, EngineError> {
        match &self.kind {
            Kind::Folder(folder, _) => Ok(Arc::new(folder.stacks()?)),
            Kind::Source(of) => Ok(Arc::clone(&of.stacks)),
        }
    }
}
