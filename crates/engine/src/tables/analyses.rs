//! Tables that analyses make from a trace's stretches, for the whole recording or a part.

use super::is_of_sums;
use super::parallel::{self, AnalysisInput};
use super::rows::Batches;
use super::totals::{followed, followed_of};
use crate::read::folder::{Read, read_timeline};
use crate::session::Kind;
use crate::{EngineError, Session};
use account::Stretches;
use analysis::Context;
use model::{MadeFrom, Ns, Rows, Span, Table, TableDef, Value, tables};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The analyses that need callchains: of switch-outs or of samples.
pub(crate) const OF_CHAINS: [&TableDef; 11] = [
    &tables::SWITCH_CAUSES,
    &tables::WAITS,
    &tables::LOCK_HOLDERS,
    &tables::LOCK_WAITS,
    &tables::OBJECT_WAITS,
    &tables::WAIT_OBJECTS,
    &tables::SERVED_WAITS,
    &tables::SAMPLES,
    &tables::FOLDED_STACKS,
    &tables::REQUESTS,
    &tables::POWER_BY_FUNCTION,
];

/// The analyses that need the pools and processes of threads.
const OF_GROUPS: [&TableDef; 12] = [
    &tables::POOLS,
    &tables::PARALLEL_REGIONS,
    &tables::REQUESTS,
    &tables::TASK_CLASSES,
    &tables::IDLE_ENDS,
    &tables::LOCKS,
    &tables::LOCK_HOLDERS,
    &tables::LOCK_WAITS,
    &tables::DEADLOCKS,
    &tables::OBJECT_WAITS,
    &tables::WAIT_OBJECTS,
    &tables::SERVED_WAITS,
];

/// The analyses that need to know where interrupts woke threads.
const OF_WAKES: [&TableDef; 4] =
    [&tables::IDLE_ENDS, &tables::IDLE_STAYS, &tables::CPU_WAKEUPS, &tables::POWER_BY_FUNCTION];

/// Returns whether a table is made by an analysis and is therefore available for any part of a recording.
pub(crate) fn is_analysis(def: &TableDef) -> bool {
    def.made_from == MadeFrom::Analysis
}

impl Session {
    /// Returns whether a table's rows are available without a pass over the trace: it is stored, cached, or computed from the sums.
    #[must_use]
    pub fn is_at_hand(&self, def: &TableDef) -> bool {
        let made = |def: &TableDef| self.cache.tables().iter().any(|t| t.def.name == def.name);
        match def.made_from {
            MadeFrom::Totals | MadeFrom::Spans | MadeFrom::Kept => true,
            MadeFrom::Analysis => !def.large && (self.is_stored(def) || made(def)),
            _ => false,
        }
    }

    /// Returns whether a table is always quick to make for this trace: it is computed from the sums, kept with the trace, or stored by an import.
    #[must_use]
    pub fn is_quick(&self, def: &TableDef) -> bool {
        is_of_sums(def)
            || def.made_from == MadeFrom::Kept
            || def.name == tables::CONCURRENCY.name && self.is_folder() && self.is_as_stored(def)
    }

    /// Returns whether a table is made by an analysis and held in memory. Several such tables can be made in one pass
    /// ([`Self::prepare`], [`Self::analyse`]), for any part of a recording.
    #[must_use]
    pub fn is_of_part(def: &TableDef) -> bool {
        is_analysis(def) && !Self::is_large(def)
    }

    /// Returns whether the folder has the requested table of an analysis. With another machine or with inferred time, the stored
    /// table does not apply.
    pub(crate) fn is_stored(&self, def: &TableDef) -> bool {
        match self.kind() {
            Kind::Folder(folder, None) if self.is_as_stored(def) => folder.has(def),
            _ => false,
        }
    }

    /// Returns whether a folder's stored table applies: the whole recording, the recorded machine, the default budget.
    fn is_as_stored(&self, def: &TableDef) -> bool {
        let by_budget = Self::takes_budget(def) && self.slow.budget.is_some();
        self.options().machine.is_none() && self.part.is_none() && !by_budget
    }

    /// Writes the rows of an analysis table, for a part or the whole recording.
    pub(crate) fn analysis_rows(
        &self,
        def: &'static TableDef,
        span: Option<Span>,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        match self.kind() {
            _ if def.large => self.drained(def, span, out)?,
            // Otherwise it is computed: for another machine, or for the first time.
            Kind::Folder(folder, None) if span.is_none() && self.is_stored(def) => {
                self.stored_rows(folder, def, out)?
            }
            _ => out.all(&self.analysed(def, span)?.rows),
        }
        Ok(())
    }

    /// Returns an analysis table, cached or newly made.
    fn analysed(&self, def: &TableDef, span: Option<Span>) -> Result<Arc<Table>, EngineError> {
        // Tables as long as the recording are never held in memory.
        let held = analysis::ANALYSES.iter().map(|a| a.table).filter(|def| Self::is_of_part(def));
        let every = || held.map(|def| def.name).collect::<Vec<_>>();
        // The session's own part counts as the whole.
        let span = span.filter(|s| self.range() != Some(*s));
        if let (None, Some(made)) = (span, self.cache.table(def.name)) {
            return Ok(made);
        }
        let many = span.is_none() && self.cache.requested.swap(true, Ordering::Relaxed);
        let made = if many {
            self.make(&every(), Some(def))?;
            self.cache.table(def.name)
        } else {
            let made = self.analyse(&[def.name], span)?.into_iter().next();
            if let (None, Some(table)) = (span, &made) {
                self.store(table);
            }
            made.map(Arc::new)
        };
        made.ok_or_else(|| EngineError::Bug(format!("no analysis produces the table {}", def.name)))
    }

    /// Makes the listed tables that are not available yet, in one pass. They are stored in the trace folder if it is writable, and
    /// otherwise kept in memory.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn prepare(&self, names: &[&str]) -> Result<(), EngineError> {
        let missing =
            |name: &&&str| self.definition(name).is_ok_and(|def| Self::is_of_part(def) && !self.is_at_hand(def));
        let missing: Vec<&str> = names.iter().filter(missing).copied().collect();
        if missing.is_empty() { Ok(()) } else { self.make(&missing, None) }
    }

    /// Makes tables. Only those that the folder does not take, and the one needed `now`, stay in memory.
    fn make(&self, names: &[&str], now: Option<&TableDef>) -> Result<(), EngineError> {
        let mut keep = |table: Table| {
            if !self.store(&table) || now.is_some_and(|def| def.name == table.def.name) {
                let mut tables = self.cache.tables();
                tables.retain(|old| old.def.name != table.def.name);
                tables.push(Arc::new(table));
            }
        };
        self.run(names, None, |stretches, input| parallel::each_table(stretches, names, input, &mut keep))
    }

    /// Stores a table in the folder if the folder is writable and the table was made for the recorded machine. Without this, later
    /// requests are only slower.
    fn store(&self, table: &Table) -> bool {
        match self.kind() {
            _ if self.options().read_only => false,
            Kind::Folder(folder, None) if self.is_as_stored(table.def) => folder.write_table(table).is_ok(),
            _ => false,
        }
    }

    /// Makes the tables of some analyses in one pass, for a part or the whole recording. A file is read again for this.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn analyse(&self, names: &[&str], span: Option<Span>) -> Result<Vec<Table>, EngineError> {
        let mut tables = self.run(names, span, |stretches, input| parallel::tables(stretches, names, input))?;
        if let Some(redaction) = self.redaction() {
            for table in &mut tables {
                let private = redaction.columns(table.def);
                table.rows.iter_mut().for_each(|row| redaction.row(&private, row));
            }
        }
        Ok(tables)
    }

    /// Makes a table that is as long as the recording; its rows are passed on as they are made.
    pub(crate) fn drained(&self, def: &TableDef, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        let rest = self.run(&[def.name], span, |stretches, input| {
            let mut running = input.start(&[def.name]);
            stretches.timeline(|timeline| {
                running.push(timeline);
                running.drain(out);
                out.check()
            })?;
            Ok(running.finish())
        })?;
        rest.iter().for_each(|table| out.all(&table.rows));
        Ok(())
    }

    /// Makes several tables of analyses that are as long as the recording ([`Self::is_large`]) in one pass, for a part or the whole recording; their
    /// rows are passed on as they are made, with the index of the table.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn drained_together(
        &self,
        defs: &[&TableDef],
        span: Option<Span>,
        each: &mut dyn FnMut(usize, &[Value]),
    ) -> Result<(), EngineError> {
        struct Passed<'a>(usize, &'a mut dyn FnMut(usize, &[Value]));
        impl Rows for Passed<'_> {
            fn row(&mut self, values: &[Value]) {
                self.1(self.0, values);
            }
        }
        let private: Vec<_> =
            self.redaction().map_or(Vec::new(), |of| defs.iter().map(|def| of.columns(def)).collect());
        let (mut shown, pass_on) = (Vec::new(), each);
        let each = &mut |at: usize, row: &[Value]| match (self.redaction(), private.get(at)) {
            (Some(redaction), Some(private)) if !private.is_empty() => {
                shown.clear();
                shown.extend_from_slice(row);
                redaction.row(private, &mut shown);
                pass_on(at, &shown);
            }
            _ => pass_on(at, row),
        };
        let names: Vec<&str> = defs.iter().map(|def| def.name).collect();
        let rest = self.run(&names, span, |stretches, input| {
            let mut all: Vec<_> = names.iter().map(|name| input.start(&[*name])).collect();
            stretches.timeline(|timeline| {
                for (at, running) in all.iter_mut().enumerate() {
                    running.push(timeline);
                    running.drain(&mut Passed(at, each));
                }
                Ok::<_, EngineError>(())
            })?;
            Ok(all.into_iter().map(analysis::Running::finish).collect::<Vec<_>>())
        })?;
        for (at, tables) in rest.iter().enumerate() {
            tables.iter().flat_map(|table| &table.rows).for_each(|row| each(at, row));
        }
        Ok(())
    }

    /// Reads what analyses need from the recording or a part, and passes it to `run`.
    fn run<T>(
        &self,
        names: &[&str],
        span: Option<Span>,
        run: impl FnOnce(&Stretches, &AnalysisInput<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let needs = |of: &[&TableDef]| of.iter().any(|def| names.contains(&def.name));
        let stacks = if needs(&OF_CHAINS) { Some(self.recorded_stacks()?) } else { None };
        let groups = if needs(&OF_GROUPS) { Arc::new(self.thread_groups()?) } else { Arc::default() };
        let (budget, hide_marks) = (self.slow.budget, self.options().hide_marks);
        let context = |followed, end, ready_known| {
            let part = span.or(self.range()).unwrap_or(Span { start: Ns::ZERO, end: Ns::MAX });
            let span = Span::new(part.start.max(Ns::ZERO), part.end.min(end));
            Context { machine: self.machine(), span, to_end: part.end >= end, followed, ready_known }
        };
        match self.kind() {
            Kind::Folder(folder, filled) => {
                let followed = followed_of(&self.table_of_whole(&tables::CPUS)?);
                let clipper = filled.as_ref().map(|f| f.clipper.clone()).unwrap_or_default();
                let context = context(&followed, Ns(folder.manifest().end_ns), self.summary().ready_known);
                let Read { stretches, names } = read_timeline(folder, clipper, needs(&OF_WAKES))?;
                run(&stretches, &AnalysisInput { context, names, stacks, groups, budget, hide_marks })
            }
            Kind::Source(of) => {
                let totals = &of.accounted.totals;
                let followed = followed(totals);
                let context = context(&followed, totals.end, totals.ready_known);
                let input =
                    AnalysisInput { context, names: of.stacks.names.clone(), stacks, groups, budget, hide_marks };
                of.stretches(self.options(), |stretches| run(stretches, &input))
            }
        }
    }
}
