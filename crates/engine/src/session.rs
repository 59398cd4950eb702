//! A trace of any kind, opened to be asked.

use crate::filled::Filled;
use crate::import::{followed, of_steps, of_totals, stretches};
use crate::retype;
use crate::steps::{Read, followed_of, of_folder};
use crate::{Accounted, EngineError, Infer, PassOptions, Source, Summary, account, account_with, open_source};
use account::{Collector, Cutter};
use ingest::{Facts, Limits};
use model::{CpuStretch, Event, Ns, Span, Table, TableDef, ThreadKey, ThreadState, ThreadStretch, Value, tables};
use std::io::Write;
use std::path::{Path, PathBuf};
use store::{Format, TableWriter};
use topology::Machine;

/// A trace folder, or a file of another tool that stands in its place.
pub struct Session {
    path: PathBuf,
    options: PassOptions,
    kind: Kind,
    facts: Facts,
    machine: Machine,
    summary: Summary,
}

enum Kind {
    /// With what was inferred, where that was asked for.
    Folder(Box<store::Folder>, Option<Box<Filled>>),
    /// Accounted for once; the tables that need stretches read the source again.
    Source(Box<dyn Source>, Box<Accounted>),
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
        let accounted = account(source.as_ref(), &options)?;
        Ok(Self {
            path: source.path().to_owned(),
            facts: accounted.facts.clone(),
            machine: accounted.machine.clone(),
            summary: Summary::of(&accounted),
            kind: Kind::Source(source, Box::new(accounted)),
            options,
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
            summary = with.summary(summary);
            filled = Some(Box::new(with));
        }
        let machine = manifest.machine.clone();
        let machine = options.machine.as_ref().map_or_else(|| machine.clone(), |m| machine.clone().overlay(m.clone()));
        Ok(Self {
            path: path.to_owned(),
            facts: manifest.whole_facts(),
            machine,
            summary,
            kind: Kind::Folder(Box::new(folder), filled),
            options,
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

    /// Counts, sums and laws.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
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
        [tables::THREAD_STATE.name, tables::CPU_STATE.name].contains(&def.name)
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

    /// A small table.
    ///
    /// # Errors
    /// There is none of this name, or the trace cannot be read.
    pub fn table(&self, name: &str) -> Result<Table, EngineError> {
        let def = self.definition(name)?;
        match &self.kind {
            Kind::Folder(folder, Some(filled)) if name != tables::LOSS.name => {
                match of_totals(name, &filled.totals, &self.machine) {
                    Some(table) => Ok(table),
                    None => self.analysed(def, None),
                }
            }
            Kind::Folder(folder, _) => {
                let told = self.options.machine.as_ref().map(|_| &self.machine);
                if let Some(machine) = told.filter(|_| name == tables::THREAD_BY_CORE_TYPE.name) {
                    return Ok(retype::thread_by_core_type(&self.table(tables::THREAD_BY_CPU.name)?, machine));
                }
                let missing = || {
                    EngineError::Other(format!(
                        "{}: the table {name} is not in this folder as this corewise defines it: import the source again",
                        self.path.display()
                    ))
                };
                let mut table = folder.read_table(name)?.ok_or_else(missing)?;
                if let Some(machine) = told {
                    retype::rows(def, &mut table.rows, machine);
                }
                Ok(table)
            }
            Kind::Source(source, accounted) => {
                if name == tables::INFERRED_STATE.name && self.options.infer == Infer::No {
                    let apart = PassOptions { infer: Infer::Apart, ..self.options.clone() };
                    return Ok(account::inferred_state(&account(source.as_ref(), &apart)?.totals.inferred));
                }
                if let Some(table) = of_totals(name, &accounted.totals, &accounted.machine) {
                    return Ok(table);
                }
                self.analysed(def, None)
            }
        }
    }

    fn analysed(&self, def: &TableDef, span: Option<Span>) -> Result<Table, EngineError> {
        let table = self.analyse(&[def.name], span)?.into_iter().next();
        table.ok_or_else(|| EngineError::Other(format!("{} is as long as the recording", def.name)))
    }

    /// The tables of some analyses, in one pass, over a part of the recording or all of it. Nothing stored is used but the
    /// stretches.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn analyse(&self, names: &[&str], span: Option<Span>) -> Result<Vec<Table>, EngineError> {
        let (read, followed, end, ready_known) = match &self.kind {
            Kind::Folder(folder, filled) => {
                let cpus = self.table(tables::CPUS.name)?;
                let knife = filled.as_ref().map(|f| f.knife.clone()).unwrap_or_default();
                let end = Ns(folder.manifest().end_ns);
                (of_folder(folder, knife)?, followed_of(&cpus), end, self.summary.ready_known)
            }
            Kind::Source(source, _) => {
                let mut names = Vec::new();
                let begin = |_: &_| Collector::default();
                let (accounted, collector) = account_with(source.as_ref(), &self.options, begin, |_, batch| {
                    names.extend(batch.names.iter().cloned());
                })?;
                let totals = &accounted.totals;
                let stretches = stretches(collector, &accounted, &self.options);
                (Read { stretches, names }, followed(totals), totals.end, totals.ready_known)
            }
        };
        let whole = Span::new(Ns::ZERO, end);
        let span = span.map_or(whole, |s| Span::new(s.start.max(Ns::ZERO), s.end.min(end)));
        let context = analysis::Context { machine: &self.machine, span, followed: &followed, ready_known };
        let mut analyses = analysis::Running::start(names, &context);
        let Read { mut stretches, names } = read;
        stretches.steps(|steps| analyses.push(&of_steps(steps))).map_err(EngineError::temporary)?;
        Ok(analyses.finish(names))
    }

    /// The trace's id; of a file that was not imported, all of it is read for that.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn trace(&self) -> Result<i64, EngineError> {
        match &self.kind {
            Kind::Folder(folder, _) => Ok(folder.manifest().trace),
            Kind::Source(source, _) => Ok(source.identity()?.trace),
        }
    }

    /// Whether it is a trace folder, so that all tables are there already.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        matches!(self.kind, Kind::Folder(..))
    }

    /// Writes any table in a form; Markdown is for people and leaves the column `trace` out.
    ///
    /// # Errors
    /// As [`Self::rows`], or it cannot be written.
    pub fn write_table(&self, name: &str, format: Format, out: &mut (dyn Write + Send)) -> Result<(), EngineError> {
        let def = self.definition(name)?;
        let trace = if format == Format::Markdown { None } else { Some(self.trace()?) };
        let small = if Self::is_large(def) { None } else { Some(self.table(name)?) };
        let mut writer = TableWriter::new(def, trace, format, out)?;
        let mut failed = Ok(());
        let mut push = |rows: &[Vec<Value>]| {
            failed = rows.iter().try_for_each(|row| writer.push(row));
            if failed.is_ok() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        };
        let read = match &small {
            Some(table) => push(&table.rows).map_err(EngineError::Output),
            None => self.rows(name, &mut push),
        };
        failed?;
        read?;
        Ok(writer.finish()?)
    }

    /// Where time 0 is on the source's own clock.
    #[must_use]
    pub fn origin(&self) -> Ns {
        match &self.kind {
            Kind::Folder(folder, _) => Ns(folder.manifest().origin_ns),
            Kind::Source(_, accounted) => accounted.ingested.origin.unwrap_or_default(),
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
            Kind::Source(source, accounted) => {
                let failed = |fatal| EngineError::Source { path: self.path.clone(), fatal };
                let mut names = Vec::new();
                ingest::run(source.open().map_err(failed)?, accounted.sorted_all, Limits::default(), |batch| {
                    names.extend(batch.names.iter().cloned());
                    hand_on(&batch.events, &names);
                });
            }
        }
        refused.map_or(Ok(()), |e| Err(EngineError::Output(e)))
    }

    /// All callchains, innermost address first; the first is [`model::StackId`] 1. Empty where none were recorded.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn stacks(&self) -> Result<Vec<Box<[u64]>>, EngineError> {
        match &self.kind {
            Kind::Folder(folder, _) => Ok(folder.stacks()?),
            Kind::Source(source, accounted) => {
                let failed = |fatal| EngineError::Source { path: self.path.clone(), fatal };
                let mut stacks = Vec::new();
                ingest::run(source.open().map_err(failed)?, accounted.sorted_all, Limits::default(), |batch| {
                    stacks.extend(batch.stacks.iter().cloned());
                });
                Ok(stacks)
            }
        }
    }

    /// The rows of any table, a large one some thousands at a time.
    ///
    /// # Errors
    /// There is none of this name, the trace cannot be read, or `each` refused.
    pub fn rows(&self, name: &str, each: EachRows<'_>) -> Result<(), EngineError> {
        self.rows_within(name, None, each)
    }

    /// [`Self::rows`], of a large table only those that overlap a span.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub fn rows_within(&self, name: &str, span: Option<Span>, each: EachRows<'_>) -> Result<(), EngineError> {
        let def = self.definition(name)?;
        let wanted = |of: Span| span.is_none_or(|s| of.start < s.end && of.end > s.start);
        if !Self::is_large(def) {
            let table = self.table(name)?;
            return each(&table.rows).map_err(EngineError::Output);
        }
        match &self.kind {
            Kind::Folder(folder, Some(filled)) => {
                let mut refused = None;
                let mut hand_on = |rows: Vec<Vec<Value>>| {
                    if refused.is_none() {
                        refused = each(&rows).err();
                    }
                };
                if def.name == tables::THREAD_STATE.name {
                    let mut rows = |threads: &[ThreadStretch]| {
                        let within = threads.iter().filter(|s| wanted(s.span));
                        hand_on(within.map(|s| thread_row(s, &self.machine)).collect());
                    };
                    let mut cutter = Cutter::new(&filled.knife);
                    folder.thread_stretches(span, |threads| cutter.push(threads, &mut rows))?;
                    cutter.finish(rows);
                } else {
                    let mut rows = |cpus: &[CpuStretch]| {
                        hand_on(cpus.iter().filter(|s| wanted(s.span)).map(cpu_row).collect());
                    };
                    let mut cutter = Cutter::new(&filled.knife);
                    folder.cpu_stretches(span, |cpus| cutter.push(cpus, &mut rows))?;
                    cutter.finish(rows);
                }
                refused.map_or(Ok(()), |e| Err(EngineError::Output(e)))
            }
            Kind::Folder(folder, None) => {
                let mut refused = None;
                folder.state_rows(def, span, |rows| {
                    if refused.is_none() {
                        refused = match &self.options.machine {
                            None => each(rows).err(),
                            Some(_) => {
                                let mut rows = rows.to_vec();
                                retype::rows(def, &mut rows, &self.machine);
                                each(&rows).err()
                            }
                        };
                    }
                    Ok(())
                })?;
                refused.map_or(Ok(()), |e| Err(EngineError::Output(e)))
            }
            Kind::Source(source, _) => {
                let (accounted, collector) =
                    account_with(source.as_ref(), &self.options, |_| Collector::default(), |_, _| {})?;
                let mut refused = None;
                let mut hand_on = |rows: Vec<Vec<Value>>| {
                    if refused.is_none() {
                        refused = each(&rows).err();
                    }
                };
                let mut all = stretches(collector, &accounted, &self.options);
                let read = if def.name == tables::THREAD_STATE.name {
                    all.threads(|t| {
                        let within = t.iter().filter(|s| wanted(s.span));
                        hand_on(within.map(|s| thread_row(s, &self.machine)).collect());
                    })
                } else {
                    all.cpus(|c| hand_on(c.iter().filter(|s| wanted(s.span)).map(cpu_row).collect()))
                };
                read.map_err(EngineError::temporary)?;
                refused.map_or(Ok(()), |e| Err(EngineError::Output(e)))
            }
        }
    }
}

/// A row of [`tables::THREAD_STATE`].
fn thread_row(s: &ThreadStretch, machine: &Machine) -> Vec<Value> {
    let running_on = s.cpu.filter(|_| s.state == ThreadState::Running);
    vec![
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
fn cpu_row(s: &CpuStretch) -> Vec<Value> {
    vec![
        i64::from(s.cpu.0).into(),
        s.span.start.into(),
        s.span.end.into(),
        s.state.as_str().into(),
        (s.thread != ThreadKey::UNKNOWN).then_some(s.thread.0).into(),
    ]
}
