//! Tables that analyses make of a trace's stretches, over all of it or a part.

use super::is_of_sums;
use super::parallel::{self, Given};
use super::rows::Batches;
use super::totals::{followed, followed_of};
use crate::read::folder::{Read, of_folder};
use crate::session::Kind;
use crate::{EngineError, Session};
use account::Stretches;
use analysis::Context;
use model::{MadeFrom, Ns, Span, Table, TableDef, tables};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whether an analysis makes it, so that it can be had of any part of a recording.
pub(crate) fn is_analysis(def: &TableDef) -> bool {
    def.made_from == MadeFrom::Analysis
}

impl Session {
    /// Whether a table's rows can be had at once: it is stored, was made before, or follows from the sums. Others need a pass over the trace.
    #[must_use]
    pub fn is_at_hand(&self, def: &TableDef) -> bool {
        let made = |def: &TableDef| self.made.tables().iter().any(|t| t.def.name == def.name);
        match def.made_from {
            MadeFrom::Totals | MadeFrom::Spans => true,
            MadeFrom::Analysis => !def.large && (self.is_stored(def) || made(def)),
            _ => false,
        }
    }

    /// Whether a table is quick to have of this trace, whatever was asked for before: it follows from the sums, or an import
    /// stores it.
    #[must_use]
    pub fn is_quick(&self, def: &TableDef) -> bool {
        is_of_sums(def) || def.name == tables::CONCURRENCY.name && self.is_folder() && self.is_as_stored(def)
    }

    /// Whether an analysis makes a table, of any part of a recording, and it is held whole: several of them are had in one pass
    /// ([`Self::prepare`], [`Self::analyse`]).
    #[must_use]
    pub fn is_of_part(def: &TableDef) -> bool {
        is_analysis(def) && !Self::is_large(def)
    }

    /// Whether a table of an analysis lies in the folder, as it is asked for: of another machine, or with inferred time, it is
    /// another table.
    pub(crate) fn is_stored(&self, def: &TableDef) -> bool {
        match self.kind() {
            Kind::Folder(folder, None) if self.is_as_stored(def) => folder.has(def),
            _ => false,
        }
    }

    /// Whether a table is asked for as a folder keeps it: of all of the recording, the machine as recorded, no budget said.
    fn is_as_stored(&self, def: &TableDef) -> bool {
        let by_budget = Self::takes_budget(def) && self.slow.budget.is_some();
        self.options().machine.is_none() && self.part.is_none() && !by_budget
    }

    /// The rows of one of them, of a part or of all.
    pub(crate) fn analysis_rows(
        &self,
        def: &'static TableDef,
        span: Option<Span>,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        match self.kind() {
            _ if def.large => self.drained(def, span, out)?,
            // Of another machine, or not asked for before, it is not the folder's.
            Kind::Folder(folder, None) if span.is_none() && self.is_stored(def) => {
                self.stored_rows(folder, def, out)?
            }
            _ => out.all(&self.analysed(def, span)?.rows),
        }
        Ok(())
    }

    /// One of them.
    fn analysed(&self, def: &TableDef, span: Option<Span>) -> Result<Arc<Table>, EngineError> {
        // Those as long as the recording are never held.
        let held = analysis::ANALYSES.iter().map(|a| a.table).filter(|def| Self::is_of_part(def));
        let every = || held.map(|def| def.name).collect::<Vec<_>>();
        // Its own part is all that it has.
        let span = span.filter(|s| self.part() != Some(*s));
        if let (None, Some(made)) = (span, self.made.table(def.name)) {
            return Ok(made);
        }
        let many = span.is_none() && self.made.asked.swap(true, Ordering::Relaxed);
        let made = if many {
            self.make(&every(), Some(def))?;
            self.made.table(def.name)
        } else {
            let made = self.analyse(&[def.name], span)?.into_iter().next();
            if let (None, Some(table)) = (span, &made) {
                self.store(table);
            }
            made.map(Arc::new)
        };
        made.ok_or_else(|| EngineError::Other(format!("no analysis makes {}", def.name)))
    }

    /// Makes those of some tables that are not at hand, in one pass; whoever asks for them then has them at once. In a folder
    /// they are stored, where it can be written; else they stay in memory.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn prepare(&self, names: &[&str]) -> Result<(), EngineError> {
        let lacking =
            |name: &&&str| self.definition(name).is_ok_and(|def| Self::is_of_part(def) && !self.is_at_hand(def));
        let lacking: Vec<&str> = names.iter().filter(lacking).copied().collect();
        if lacking.is_empty() { Ok(()) } else { self.make(&lacking, None) }
    }

    /// In memory stay those that the folder does not take, and the one that is wanted now: all of a large recording's need much.
    fn make(&self, names: &[&str], now: Option<&TableDef>) -> Result<(), EngineError> {
        let mut keep = |table: Table| {
            if !self.store(&table) || now.is_some_and(|def| def.name == table.def.name) {
                let mut tables = self.made.tables();
                tables.retain(|old| old.def.name != table.def.name);
                tables.push(Arc::new(table));
            }
        };
        self.run(names, None, |stretches, given| parallel::each_table(stretches, names, given, &mut keep))
    }

    /// Stores a table in the folder for the next time, where it can be written and is as the folder tells of the machine. A folder
    /// that cannot be written is as good, only slower.
    fn store(&self, table: &Table) -> bool {
        match self.kind() {
            Kind::Folder(folder, None) if self.is_as_stored(table.def) => folder.write_table(table).is_ok(),
            _ => false,
        }
    }

    /// The tables of some analyses, in one pass, over a part of the recording or all of it. A file is read again for that.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn analyse(&self, names: &[&str], span: Option<Span>) -> Result<Vec<Table>, EngineError> {
        self.run(names, span, |stretches, given| parallel::tables(stretches, names, given))
    }

    /// One that is as long as the recording: its rows are handed on as they are made.
    pub(crate) fn drained(&self, def: &TableDef, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        let rest = self.run(&[def.name], span, |stretches, given| {
            let mut running = given.start(&[def.name]);
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

    /// Reads all that analyses need of the recording or of a part, and hands it to `run`.
    fn run<T>(
        &self,
        names: &[&str],
        span: Option<Span>,
        run: impl FnOnce(&Stretches, &Given<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let chains = [&tables::SWITCH_CAUSES, &tables::WAITS].iter().any(|def| names.contains(&def.name));
        let stacks = if chains { Some(self.stacks()?) } else { None };
        let budget = self.slow.budget;
        let context = |followed, end, ready_known| {
            let whole = Span::new(Ns::ZERO, end);
            let span = span.or(self.part()).map_or(whole, |s| Span::new(s.start.max(Ns::ZERO), s.end.min(end)));
            Context { machine: self.machine(), span, followed, ready_known }
        };
        match self.kind() {
            Kind::Folder(folder, filled) => {
                let followed = followed_of(&self.table_of_whole(&tables::CPUS)?);
                let knife = filled.as_ref().map(|f| f.knife.clone()).unwrap_or_default();
                let context = context(&followed, Ns(folder.manifest().end_ns), self.summary().ready_known);
                let Read { stretches, names } = of_folder(folder, knife)?;
                run(&stretches, &Given { context, names, stacks, budget })
            }
            Kind::Source(of) => {
                let totals = &of.accounted.totals;
                let followed = followed(totals);
                let context = context(&followed, totals.end, totals.ready_known);
                let given = Given { context, names: of.stacks.names.clone(), stacks, budget };
                of.stretches(self.options(), |stretches| run(stretches, &given))
            }
        }
    }
}
