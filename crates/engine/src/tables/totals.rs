//! The tables that come from the sums alone.

use crate::read::{Accounted, account};
use crate::session::Kind;
use crate::tables::rows::Batches;
use crate::tables::{is_of_sums, overlaps};
use crate::{EngineError, Infer, PassOptions, Session};
use account::Totals;
use model::{CpuId, Ns, Row, Rows, Span, Table, TableDef, Value, tables};
use topology::Machine;

/// The tables that come from the sums alone, in the order in which a folder gets them.
pub(crate) const OF_TOTALS: &[&TableDef] = &[
    &tables::THREADS,
    &tables::THREAD_BY_CPU,
    &tables::THREAD_BY_CORE_TYPE,
    &tables::CPUS,
    &tables::LOSS,
    &tables::INFERRED_STATE,
];

impl Session {
    /// The rows of a table of sums; of a part, the sums of that part.
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

    /// The rows of a table of spans; of a part, those that overlap it.
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

    /// Either, of all of the recording.
    fn whole_rows(&self, def: &'static TableDef, out: &mut Batches<'_>) -> Result<(), EngineError> {
        match self.kind() {
            // What was lost is the same with what was inferred.
            Kind::Folder(_, Some(inferred)) if def.name != tables::LOSS.name => {
                rows(def, &inferred.totals, self.machine(), out)
            }
            Kind::Folder(folder, _) => self.stored_rows(folder, def, out),
            Kind::Source(of) if def.name == tables::INFERRED_STATE.name && self.options().infer == Infer::No => {
                let apart = PassOptions { infer: Infer::Apart, ..of.again(self.options()) };
                let Accounted { totals, .. } = account(of.source.as_ref(), &apart)?;
                account::inferred_state(&totals.inferred, out);
                Ok(())
            }
            Kind::Source(of) => rows(def, &of.accounted.totals, &of.accounted.machine, out),
        }
    }

    /// Whether a table comes from the sums alone, which every trace that is opened has.
    #[must_use]
    pub fn is_of_sums(name: &str) -> bool {
        tables::ALL.iter().any(|def| def.name == name && is_of_sums(def))
    }
}

/// The CPUs of which the source tells what they ran.
pub(crate) fn followed(totals: &Totals) -> Vec<CpuId> {
    totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect()
}

pub(crate) fn context<'a>(totals: &Totals, followed: &'a [CpuId], machine: &'a Machine) -> analysis::Context<'a> {
    let span = Span::new(Ns::ZERO, totals.end);
    analysis::Context { machine, span, followed, ready_known: totals.ready_known }
}

/// The rows of one of [`OF_TOTALS`].
pub(crate) fn rows(def: &TableDef, totals: &Totals, machine: &Machine, out: &mut dyn Rows) -> Result<(), EngineError> {
    match def.name {
        "threads" => account::threads(totals, out),
        "thread_by_cpu" => account::thread_by_cpu(totals, out),
        "thread_by_core_type" => account::thread_by_core_type(totals, machine, out),
        "cpus" => {
            account::cpus(totals, machine, out);
            Ok(())
        }
        "loss" => {
            account::loss(totals, out);
            Ok(())
        }
        _ => {
            account::inferred_state(&totals.inferred, out);
            Ok(())
        }
    }
    .map_err(EngineError::from)
}

/// The CPUs of which a folder tells what they ran, by its table of them.
pub(crate) fn followed_of(cpus: &Table) -> Vec<CpuId> {
    use tables::cpus::{BUSY_NS, CPU, IDLE_NS, SWITCHES};
    let followed = |row: &Row<'_, _>| row.all([SWITCHES, BUSY_NS, IDLE_NS]).iter().any(|n| *n > 0);
    let cpu = |row: Row<'_, _>| u32::try_from(row.get(CPU)).map_or(CpuId::UNKNOWN, CpuId);
    cpus.rows_of(tables::cpus::Table).filter(followed).map(cpu).collect()
}
