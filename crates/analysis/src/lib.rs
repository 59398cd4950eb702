//! Analyses: folds over stretches in order of time, each to a table.
//!
//! An analysis sees stretches and the machine, never a file or an event's bytes; one driver ([`Running`]) feeds all that are
//! asked for in one pass. A new one is a file in `tables/`, a line in [`ANALYSES`] and a case.

mod tables;

use model::{CpuId, CpuStretch, Rows, Span, Table, TableDef, ThreadStretch};
use topology::Machine;

/// Some stretches, each kind in order of start.
#[derive(Clone, Copy, Default)]
pub struct Batch<'a> {
    /// Of threads.
    pub threads: &'a [ThreadStretch],
    /// Of CPUs.
    pub cpus: &'a [CpuStretch],
}

/// What an analysis may know beforehand.
pub struct Context<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The time that is asked for.
    pub span: Span,
    /// The CPUs of which the source tells what they ran; of the others nobody can say anything.
    pub followed: &'a [CpuId],
}

/// A fold over the stretches of a span.
pub trait Analysis {
    /// The stretches of some time, clipped to the span.
    fn push(&mut self, batch: &Batch<'_>);
    /// The table's rows.
    fn finish(&mut self, out: &mut dyn Rows);
}

/// An analysis before it begins.
pub struct Entry {
    /// The table that it makes.
    pub table: &'static TableDef,
    /// Begins.
    pub start: fn(&Context<'_>) -> Box<dyn Analysis>,
}

/// Every analysis.
pub const ANALYSES: &[Entry] = &[Entry {
    table: &model::tables::CONCURRENCY,
    start: |context| Box::new(tables::concurrency::Concurrency::new(context)),
}];

/// Analyses under way.
pub struct Running(Vec<(&'static TableDef, Box<dyn Analysis>)>);

impl Running {
    /// Begins those that make one of the named tables.
    #[must_use]
    pub fn start(names: &[&str], context: &Context<'_>) -> Self {
        let wanted = ANALYSES.iter().filter(|e| names.contains(&e.table.name));
        Self(wanted.map(|e| (e.table, (e.start)(context))).collect())
    }

    /// Feeds all of them.
    pub fn push(&mut self, batch: &Batch<'_>) {
        self.0.iter_mut().for_each(|(_, analysis)| analysis.push(batch));
    }

    /// Their tables.
    #[must_use]
    pub fn finish(self) -> Vec<Table> {
        let table = |(def, mut analysis): (_, Box<dyn Analysis>)| {
            let mut table = Table::new(def);
            analysis.finish(&mut table);
            table
        };
        self.0.into_iter().map(table).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn every_analysis_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tables");
        let files = std::fs::read_dir(folder).unwrap().filter(|f| f.as_ref().unwrap().file_name() != "mod.rs").count();
        assert_eq!(super::ANALYSES.len(), files);
    }
}
