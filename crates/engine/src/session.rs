//! A trace of any kind, opened to be asked.

use crate::analysed::{Made, is_analysis};
use crate::filled::Filled;
use crate::foreign::Foreign;
use crate::frames::is_of_frames;
use crate::import::{OF_TOTALS, of_totals};
use crate::names::Names;
use crate::part::Part;
use crate::retype;
use crate::rows::Batches;
use crate::{EngineError, Haste, Infer, PassOptions, Slow, Source, Summary, account, open_source};
use ingest::{Facts, Limits};
use model::{
    CpuStretch, Event, Ns, Rows as _, Span, Stacks, Table, TableDef, ThreadKey, ThreadState, ThreadStretch, Tid, Value,
    tables,
};
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

pub(crate) enum Kind {
    /// With what was inferred, where that was asked for.
    Folder(Box<store::Folder>, Option<Box<Filled>>),
    Source(Box<Foreign>),
}

/// Where a large table's rows go, some thousands at a time; `Err` ends the reading.
pub type EachRows<'a> = &'a mut dyn FnMut(&[Vec<Value>]) -> std::io::Result<()>;

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
            let with = Filled::read(&folder, summary.ready_known)?;
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

    /// Every table that can be asked for.
    #[must_use]
    pub fn tables(&self) -> Vec<&'static TableDef> {
        let as_here = |def: &&'static TableDef| match self.options.infer {
            Infer::Within => tables::filled(def),
            Infer::No | Infer::Apart => def,
        };
        tables::ALL.iter().map(as_here).collect()
    }

    /// Whether a table is as long as the recording, so that it is streamed ([`Self::rows`]) and never held.
    #[must_use]
    pub fn is_large(def: &TableDef) -> bool {
        let large = [
            tables::THREAD_STATE,
            tables::CPU_STATE,
            tables::CRITICAL_PATH,
            tables::FRAMES,
            tables::MARK_STRETCHES,
            tables::PARALLEL_REGIONS,
            tables::THREAD_SCHEDULING,
        ];
        large.iter().any(|d| d.name == def.name)
    }

    /// Whether a table comes from the sums alone, which every trace that is opened has.
    #[must_use]
    pub fn is_of_sums(name: &str) -> bool {
        OF_TOTALS.iter().any(|of| of.name == name)
    }

    /// A table's definition by name.
    ///
    /// # Errors
    /// Names the tables that there are.
    pub fn definition(&self, name: &str) -> Result<&'static TableDef, EngineError> {
        self.tables().into_iter().find(|d| d.name == name).ok_or_else(|| {
            let known: Vec<&str> = tables::ALL.iter().map(|d| d.name).collect();
            EngineError::Other(format!("no table is called {name}; there are {}", known.join(", ")))
        })
    }

    /// A small table, whole; those of a row a thread or more ([`tables::THREADS`]) are large where lives are many: ask for
    /// [`Self::rows`].
    ///
    /// # Errors
    /// There is none of this name, or the trace cannot be read.
    pub fn table(&self, name: &str) -> Result<Table, EngineError> {
        let def = self.definition(name)?;
        if Self::is_large(def) {
            return Err(EngineError::Other(format!("{name} is as long as the recording")));
        }
        let mut table = Table::new(def);
        self.rows(name, &mut |rows| {
            table.rows.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(table)
    }

    /// A small table of all of the recording, also where only a part is told.
    pub(crate) fn table_of_whole(&self, def: &'static TableDef) -> Result<Table, EngineError> {
        let mut table = Table::new(def);
        self.rows_of(def.name, None, &mut |rows| {
            table.rows.extend_from_slice(rows);
            Ok(())
        })?;
        Ok(table)
    }

    /// The trace's id; of a file that was not imported, all of it is read for that.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn trace(&self) -> Result<i64, EngineError> {
        match &self.kind {
            Kind::Folder(folder, _) => Ok(folder.manifest().trace),
            Kind::Source(of) => Ok(of.source.identity(&Haste::now())?.trace),
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
        let mut refused = None;
        let mut hand_on = |events: &[Event], names: &[Box<str>]| {
            if refused.is_none() {
                refused = each(events, names).err();
            }
        };
        match &self.kind {
            Kind::Folder(folder, _) => folder.events(&mut hand_on)?,
            Kind::Source(of) => {
                let failed = |fatal| EngineError::Source { path: self.path.clone(), fatal };
                let mut names = Vec::new();
                ingest::run(of.source.open().map_err(failed)?, of.accounted.sorted_all, Limits::default(), |batch| {
                    names.extend(batch.names.iter().cloned());
                    hand_on(&batch.events, &names);
                });
            }
        }
        refused.map_or(Ok(()), |e| Err(EngineError::Output(e)))
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

    /// The rows of any table, some thousands at a time: of the recording, or of the part of it that is told.
    ///
    /// # Errors
    /// There is none of this name, the trace cannot be read, or `each` refused.
    pub fn rows(&self, name: &str, each: EachRows<'_>) -> Result<(), EngineError> {
        self.rows_of(name, self.part(), each)
    }

    /// [`Self::rows`] of a part of the recording: of a large table and of losses those that overlap it, of sums and analyses what
    /// they are of that part.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn rows_within(&self, name: &str, span: Option<Span>, each: EachRows<'_>) -> Result<(), EngineError> {
        self.rows_of(name, span.or(self.part()), each)
    }

    /// Of a part, or (`None`) of all of the recording, whichever is told.
    pub(crate) fn rows_of(&self, name: &str, span: Option<Span>, each: EachRows<'_>) -> Result<(), EngineError> {
        let def = self.definition(name)?;
        let mut out = Batches::new(each);
        match (&self.kind, Self::is_large(def)) {
            _ if Self::is_critical(def) => self.critical(def, span, &mut out)?,
            _ if Self::is_of_slow_frames(def) => self.slow_rows(span, &mut out)?,
            _ if is_of_frames(def) => self.frame_rows(def, span, &mut out)?,
            (_, true) if is_analysis(def) => self.drained(def, span, &mut out)?,
            (_, false) if is_of_spans(def) && span.is_some() => self.overlapping(def, span, &mut out)?,
            (_, false) if let Some(span) = span.filter(|_| Self::is_of_sums(def.name)) => match &self.part {
                Some(part) if part.span == span => of_totals(def, &part.totals, &self.machine, &mut out)?,
                _ => of_totals(def, &self.sums_within(span)?, &self.machine, &mut out)?,
            },
            (_, false) if span.is_some() => out.all(&self.analysed(def, span)?.rows),
            (Kind::Folder(folder, Some(filled)), true) if def.name == tables::THREAD_STATE.name => {
                filled.threads(folder, span, |threads| self.thread_rows(threads, span, &mut out))?;
            }
            (Kind::Folder(folder, Some(filled)), true) => {
                filled.cpus(folder, span, |cpus| cpu_rows(cpus, span, &mut out))?;
            }
            (Kind::Folder(folder, None), true) => folder.state_rows(def, span, |rows| {
                self.retyped(def, rows, &mut out);
                Ok(())
            })?,
            (Kind::Folder(_, Some(filled)), false) if def.name != tables::LOSS.name => {
                if Self::is_of_sums(def.name) {
                    of_totals(def, &filled.totals, &self.machine, &mut out)?;
                } else {
                    out.all(&self.analysed(def, None)?.rows);
                }
            }
            // Of another machine, or not asked for before.
            (Kind::Folder(..), false) if is_analysis(def) && !self.is_stored(def) => {
                out.all(&self.analysed(def, None)?.rows);
            }
            (Kind::Folder(folder, _), false) => self.of_folder(folder, def, &mut out)?,
            (Kind::Source(of), true) => self.of_states(of, def, span, &mut out)?,
            (Kind::Source(of), false) if def.name == tables::INFERRED_STATE.name && self.options.infer == Infer::No => {
                let apart = PassOptions { infer: Infer::Apart, ..self.options.clone() };
                account::inferred_state(&account(of.source.as_ref(), &apart)?.totals.inferred, &mut out);
            }
            (Kind::Source(of), false) if Self::is_of_sums(def.name) => {
                of_totals(def, &of.accounted.totals, &of.accounted.machine, &mut out)?;
            }
            (Kind::Source(..), false) => out.all(&self.analysed(def, None)?.rows),
        }
        out.finish()
    }

    /// Those of a small table whose rows have a begin and an end.
    fn overlapping(&self, def: &TableDef, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        let [from, to] = [tables::loss::START_NS.name(), tables::loss::END_NS.name()].map(|col| def.col(col));
        self.rows_of(def.name, None, &mut |rows| {
            for row in rows {
                let [from, to] = [from, to].map(|at| at.and_then(|at| row.get(at)));
                if let (Some(Value::Int(from)), Some(Value::Int(to))) = (from, to)
                    && overlaps(Span { start: Ns(*from), end: Ns(*to) }, span)
                {
                    out.row(row);
                }
            }
            Ok(())
        })
    }

    /// The rows of a folder, with the types of core that the user told.
    fn retyped(&self, def: &TableDef, rows: &[Vec<Value>], out: &mut Batches<'_>) {
        match &self.options.machine {
            None => out.all(rows),
            Some(_) => {
                let mut rows = rows.to_vec();
                retype::rows(def, &mut rows, &self.machine);
                out.all(&rows);
            }
        }
    }

    /// The rows of a folder's small table.
    fn of_folder(&self, folder: &store::Folder, def: &TableDef, out: &mut Batches<'_>) -> Result<(), EngineError> {
        if self.options.machine.is_some() && def.name == tables::THREAD_BY_CORE_TYPE.name {
            let of = tables::THREAD_BY_CPU.name;
            let mut by_type = retype::ByCoreType::new(&self.machine, out);
            let there = folder.table_rows(of, &mut |rows| {
                by_type.push(rows);
                Ok(())
            })?;
            by_type.finish();
            return there.then_some(()).ok_or_else(|| EngineError::outdated(folder, of));
        }
        let there = folder.table_rows(def.name, &mut |rows| {
            self.retyped(def, rows, out);
            Ok(())
        })?;
        there.then_some(()).ok_or_else(|| EngineError::outdated(folder, def.name))
    }

    /// The rows of a file's stretches.
    fn of_states(
        &self,
        of: &Foreign,
        def: &TableDef,
        span: Option<Span>,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        of.stretches(&self.options, |all| {
            let read = if def.name == tables::THREAD_STATE.name {
                all.threads(|threads| self.thread_rows(threads, span, out))
            } else {
                all.cpus(|cpus| cpu_rows(cpus, span, out))
            };
            read.map_err(EngineError::temporary)
        })
    }

    fn thread_rows(&self, threads: &[ThreadStretch], within: Option<Span>, out: &mut Batches<'_>) {
        let wanted = threads.iter().filter(|s| overlaps(s.span, within));
        wanted.for_each(|s| out.row(&thread_row(s, &self.machine)));
    }
}

/// What holds when something was, not sums.
fn is_of_spans(def: &TableDef) -> bool {
    [tables::LOSS.name, tables::INFERRED_STATE.name].contains(&def.name)
}

fn overlaps(of: Span, span: Option<Span>) -> bool {
    span.is_none_or(|s| of.start < s.end && of.end > s.start)
}

fn cpu_rows(cpus: &[CpuStretch], within: Option<Span>, out: &mut Batches<'_>) {
    cpus.iter().filter(|s| overlaps(s.span, within)).for_each(|s| out.row(&cpu_row(s)));
}

/// A row of [`tables::THREAD_STATE`].
fn thread_row(s: &ThreadStretch, machine: &Machine) -> [Value; 11] {
    let running_on = s.cpu.filter(|_| s.state == ThreadState::Running);
    [
        s.thread.0.into(),
        i64::from(s.tid.0).into(),
        s.span.start.into(),
        s.span.end.into(),
        s.state.as_str().into(),
        s.cpu.map(|c| i64::from(c.0)).into(),
        running_on.map(|c| machine.core_type(c).as_str()).into(),
        s.reason.word().into(),
        (s.waker_thread != ThreadKey::UNKNOWN).then_some(s.waker_thread.0).into(),
        (s.exec != model::Ns::MIN).then_some(s.exec).into(),
        (s.prio != i16::MIN).then_some(i64::from(s.prio)).into(),
    ]
}

/// A row of [`tables::CPU_STATE`].
fn cpu_row(s: &CpuStretch) -> [Value; 5] {
    [
        i64::from(s.cpu.0).into(),
        s.span.start.into(),
        s.span.end.into(),
        s.state.as_str().into(),
        (s.thread != ThreadKey::UNKNOWN).then_some(s.thread.0).into(),
    ]
}
