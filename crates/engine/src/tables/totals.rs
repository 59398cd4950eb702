//! The tables computed from the sums alone.

use crate::read::{Accounted, account};
use crate::session::Kind;
use crate::tables::rows::Batches;
use crate::tables::{is_of_sums, overlaps};
use crate::{EngineError, Infer, PassOptions, Session};
use account::{SpillError, Totals};
use model::{CpuId, Ns, Row, Rows, Span, Table, TableDef, Value, tables};
use topology::Machine;

/// A table of sums and the function that makes its rows.
pub(crate) struct OfTotals {
    pub(crate) table: &'static TableDef,
    pub(crate) rows: fn(&Totals, &Machine, &mut dyn Rows) -> Result<(), SpillError>,
}

/// All tables of sums, in the order in which they are written to a folder.
pub(crate) const OF_TOTALS: &[OfTotals] = &[
    OfTotals { table: &tables::THREADS, rows: |totals, _, out| account::threads(totals, out) },
    OfTotals { table: &tables::THREAD_BY_CPU, rows: |totals, _, out| account::thread_by_cpu(totals, out) },
    OfTotals { table: &tables::THREAD_BY_CORE_TYPE, rows: account::thread_by_core_type },
    OfTotals {
        table: &tables::CPUS,
        rows: |totals, machine, out| {
            account::cpus(totals, machine, out);
            Ok(())
        },
    },
    OfTotals {
        table: &tables::LOSS,
        rows: |totals, _, out| {
            account::loss(totals, out);
            Ok(())
        },
    },
    OfTotals {
        table: &tables::INFERRED_STATE,
        rows: |totals, _, out| {
            account::inferred_state(&totals.inferred, out);
            Ok(())
        },
    },
];

impl Session {
    /// Writes the rows of a table of sums; for a part, the sums of that part.
    pub(crate) fn totals_rows(
        &self,
        def: &'static TableDef,
        span: Option<Span>,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        let Some(span) = span else { return self.whole_rows(def, out) };
        match &self.part {
            Some(part) if part.span == span => rows(def, &part.totals, self.machine(), out),
            _ => rows(def, &self.sums_within(span)?, self.machine(), out),
        }
    }

    /// Writes the rows of a table of spans; for a part, those that overlap it.
    pub(crate) fn span_rows(
        &self,
        def: &'static TableDef,
        span: Option<Span>,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        if span.is_none() {
            return self.whole_rows(def, out);
        }
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

    /// Writes the rows of either kind for the whole recording.
    fn whole_rows(&self, def: &'static TableDef, out: &mut Batches<'_>) -> Result<(), EngineError> {
        match self.kind() {
            // Losses do not depend on inferred time.
            Kind::Folder(_, Some(inferred)) if def.name != tables::LOSS.name => {
                rows(def, &inferred.totals, self.machine(), out)
            }
            Kind::Folder(folder, _) => self.stored_rows(folder, def, out),
            Kind::Source(of) if def.name == tables::INFERRED_STATE.name && self.options().infer == Infer::No => {
                let apart = PassOptions { infer: Infer::Apart, ..of.reread_options(self.options()) };
                let Accounted { totals, .. } = account(of.source.as_ref(), &apart)?;
                account::inferred_state(&totals.inferred, out);
                Ok(())
            }
            Kind::Source(of) => rows(def, &of.accounted.totals, &of.accounted.machine, out),
        }
    }

    /// Returns whether a table is computed from the sums alone, which every open trace has.
    #[must_use]
    pub fn is_of_sums(name: &str) -> bool {
        tables::renamed::find(name).is_some_and(is_of_sums)
    }
}

/// Returns the CPUs for which the source recorded which threads ran.
pub(crate) fn followed(totals: &Totals) -> Vec<CpuId> {
    totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect()
}

pub(crate) fn context<'a>(totals: &Totals, followed: &'a [CpuId], machine: &'a Machine) -> analysis::Context<'a> {
    let span = Span::new(Ns::ZERO, totals.end);
    analysis::Context { machine, span, to_end: true, followed, ready_known: totals.ready_known }
}

/// Writes the rows of one of [`OF_TOTALS`]. With inferred time, a table has another definition but the same name.
fn rows(def: &TableDef, totals: &Totals, machine: &Machine, out: &mut dyn Rows) -> Result<(), EngineError> {
    let of = OF_TOTALS.iter().find(|of| of.table.name == def.name);
    let of = of.ok_or_else(|| EngineError::Bug(format!("there is no code that makes the table {}", def.name)))?;
    Ok((of.rows)(totals, machine, out)?)
}

/// Like [`followed`], from the table of CPUs in a folder.
pub(crate) fn followed_of(cpus: &Table) -> Vec<CpuId> {
    use tables::cpus::{BUSY_NS, CPU, IDLE_NS, SWITCHES};
    let followed = |row: &Row<'_, _>| row.get(SWITCHES) > 0 || row.get(BUSY_NS) + row.get(IDLE_NS) > Ns::ZERO;
    let cpu = |row: Row<'_, _>| u32::try_from(row.get(CPU)).map_or(CpuId::UNKNOWN, CpuId);
    cpus.rows_of(tables::cpus::Table).filter(followed).map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_sums_is_listed() {
        let listed: Vec<&str> = OF_TOTALS.iter().map(|of| of.table.name).collect();
        let declared = tables::ALL.iter().filter(|def| is_of_sums(def));
        assert_eq!(declared.clone().count(), listed.len());
        assert!(declared.map(|def| def.name).all(|name| listed.contains(&name)), "{listed:?}");
    }
}
