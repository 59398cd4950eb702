//! A trace folder with what was inferred in place of the unknown time that it fills: the folder keeps both apart.

use crate::{EngineError, LawRow, Summary};
use account::{CpuTotals, InferredIndex, Knife, Laws, ThreadTotals, Totals};
use model::{Basis, CpuId, CpuState, InferredStretch, Ns, Pid, Span, Table, ThreadKey, ThreadState, Tid, tables};
use store::Folder;

/// A folder's sums with what was inferred, and what cuts its stretches.
pub(crate) struct Filled {
    pub(crate) totals: Totals,
    pub(crate) knife: Knife,
}

impl Filled {
    /// Reads the folder's tables of sums.
    pub(crate) fn read(folder: &Folder, ready_known: bool) -> Result<Self, EngineError> {
        let inferred = inferred(&table(folder, tables::INFERRED_STATE.name)?);
        let by_cpu = table(folder, tables::THREAD_BY_CPU.name)?;
        let totals = Totals {
            end: Ns(folder.manifest().end_ns),
            threads: threads(&table(folder, tables::THREADS.name)?, &by_cpu),
            cpus: cpus(&table(folder, tables::CPUS.name)?),
            ready_known,
            inferred,
            ..Totals::default()
        };
        let totals = totals.with_inferred();
        let knife = Knife { losses: None, inferred: Some(InferredIndex::new(&totals.inferred)) };
        Ok(Self { totals, knife })
    }

    /// The folder's summary with it: sums that changed, and how far these are from the laws, if that is further.
    pub(crate) fn summary(&self, mut summary: Summary) -> Summary {
        let sum = |state| self.totals.cpu_time(state).0;
        summary.busy_ns = sum(CpuState::Busy);
        summary.idle_ns = sum(CpuState::Idle);
        summary.unknown_ns = sum(CpuState::Unknown);
        summary.inferred_ns = Some(self.totals.cpus.iter().map(|c| c.inferred).sum::<Ns>().0);
        for law in Laws::of(&self.totals).0.iter().map(LawRow::from) {
            if let Some(known) = summary.laws.iter_mut().find(|l| l.law == law.law) {
                known.residual_ns = known.residual_ns.max(law.residual_ns);
            }
        }
        summary
    }
}

fn table(folder: &Folder, name: &str) -> Result<Table, EngineError> {
    folder.read_table(name)?.ok_or_else(|| {
        EngineError::Other(format!(
            "{}: the table {name} is not in this folder as this corewise defines it: import the source again",
            folder.path().display()
        ))
    })
}

/// A number of a row; null counts as nothing.
fn number(table: &Table, row: usize, col: &str) -> i64 {
    table.int(row, col).unwrap_or(0)
}

fn cpu(table: &Table, row: usize) -> CpuId {
    CpuId(u32::try_from(number(table, row, "cpu")).unwrap_or(u32::MAX))
}

fn tid(table: &Table, row: usize) -> Tid {
    Tid(i32::try_from(number(table, row, "tid")).unwrap_or(-1))
}

fn inferred(table: &Table) -> Vec<InferredStretch> {
    let row = |i| InferredStretch {
        span: Span::new(Ns(number(table, i, "start_ns")), Ns(number(table, i, "end_ns"))),
        cpu: cpu(table, i),
        thread: ThreadKey(number(table, i, "thread")),
        tid: tid(table, i),
        basis: Basis::ALL.into_iter().find(|b| table.text(i, "basis") == Some(b.as_str())).unwrap_or(Basis::Named),
    };
    (0..table.rows.len()).map(row).collect()
}

/// By key, as they are stored; rows of a thread stand together in `by_cpu`, in the same order.
fn threads(table: &Table, by_cpu: &Table) -> Vec<ThreadTotals> {
    let mut next = 0;
    let row = |i: usize| {
        let ns = |col: &str| Ns(number(table, i, col));
        let count = |col: &str| number(table, i, col).cast_unsigned();
        let thread = ThreadKey(number(table, i, "thread"));
        let mut places = Vec::new();
        while next < by_cpu.rows.len() && number(by_cpu, next, "thread") == thread.0 {
            places.push((cpu(by_cpu, next), Ns(number(by_cpu, next, "running_ns"))));
            next += 1;
        }
        let mut states = [Ns::ZERO; 5];
        for state in ThreadState::ALL {
            states[state as usize] = ns(&format!("{}_ns", state.as_str()));
        }
        let placed: Ns = places.iter().map(|(_, time)| *time).sum();
        ThreadTotals {
            thread,
            tid: tid(table, i),
            life: u32::try_from(number(table, i, "life")).unwrap_or(0),
            pid: table.int(i, "pid").and_then(|p| i32::try_from(p).ok()).map_or(Pid::UNKNOWN, Pid),
            name: table.text(i, "name").map(Into::into),
            begin: ns("begin_ns"),
            end: ns("begin_ns") + states.iter().copied().sum(),
            states,
            exec: ns("exec_ns"),
            exec_of: ns("exec_of_ns"),
            lossy: ns("lossy_ns"),
            involuntary: count("involuntary"),
            voluntary: count("voluntary"),
            max_ready: ns("max_ready_ns"),
            migrations: count("migrations"),
            unwoken: count("unwoken"),
            by_cpu: places,
            nowhere: states[ThreadState::Running as usize] - placed,
            inferred: Ns::ZERO,
        }
    };
    (0..table.rows.len()).map(row).collect()
}

fn cpus(table: &Table) -> Vec<CpuTotals> {
    let row = |i: usize| {
        let ns = |col: &str| Ns(number(table, i, col));
        let states = [ns("busy_ns"), ns("idle_ns"), ns("unknown_ns")];
        let switches = number(table, i, "switches").cast_unsigned();
        CpuTotals {
            cpu: cpu(table, i),
            states,
            lossy: ns("lossy_ns"),
            inferred: Ns::ZERO,
            switches,
            broken: number(table, i, "broken").cast_unsigned(),
            followed: switches > 0 || states[0] + states[1] > Ns::ZERO,
        }
    };
    (0..table.rows.len()).map(row).collect()
}
