//! A trace folder with what was inferred in place of the unknown time that it fills: the folder keeps both apart.

use crate::{EngineError, LawRow, Summary};
use account::{CpuTotals, Cutter, Filing, InferredIndex, Knife, Laws, ThreadTotals, Threads, Totals};
use model::{
    Basis, CpuId, CpuState, CpuStretch, InferredStretch, Ns, Pid, Span, TableDef, ThreadKey, ThreadState,
    ThreadStretch, Tid, Value, tables,
};
use std::sync::mpsc;
use store::Folder;

/// A folder's sums with what was inferred, and what cuts its stretches.
pub(crate) struct WithInferred {
    pub(crate) totals: Totals,
    pub(crate) knife: Knife,
}

impl WithInferred {
    /// Reads the folder's tables of sums.
    pub(crate) fn read(folder: &Folder, ready_known: bool) -> Result<Self, EngineError> {
        let totals = Totals {
            end: Ns(folder.manifest().end_ns),
            inferred: all(folder, &tables::INFERRED_STATE, inferred)?,
            threads: threads(folder)?,
            cpus: all(folder, &tables::CPUS, cpu)?,
            ready_known,
            ..Totals::default()
        };
        let totals = totals.with_inferred();
        let knife = Knife { losses: None, inferred: Some(InferredIndex::new(&totals.inferred)) };
        Ok(Self { totals, knife })
    }

    /// The threads' stretches, of those that overlap a span all pieces.
    pub(crate) fn threads(
        &self,
        folder: &Folder,
        span: Option<Span>,
        mut each: impl FnMut(&[ThreadStretch]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut cutter = Cutter::new(&self.knife);
        folder.thread_stretches(span, |threads| cutter.push(threads, &mut each))?;
        cutter.finish(each)
    }

    /// The CPUs' stretches, likewise.
    pub(crate) fn cpus(
        &self,
        folder: &Folder,
        span: Option<Span>,
        mut each: impl FnMut(&[CpuStretch]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut cutter = Cutter::new(&self.knife);
        folder.cpu_stretches(span, |cpus| cutter.push(cpus, &mut each))?;
        cutter.finish(each)
    }

    /// The folder's summary with it: sums that changed, and how far these are from the laws, if that is further.
    ///
    /// # Errors
    /// The sums, kept in a temporary file, cannot be read back.
    pub(crate) fn summary(&self, mut summary: Summary) -> Result<Summary, EngineError> {
        let sum = |state| self.totals.cpu_time(state).0;
        summary.busy_ns = sum(CpuState::Busy);
        summary.idle_ns = sum(CpuState::Idle);
        summary.unknown_ns = sum(CpuState::Unknown);
        summary.inferred_ns = Some(self.totals.cpus.iter().map(|c| c.inferred).sum::<Ns>().0);
        for law in Laws::of(&self.totals)?.0.iter().map(LawRow::from) {
            if let Some(known) = summary.laws.iter_mut().find(|l| l.law == law.law) {
                known.residual_ns = known.residual_ns.max(law.residual_ns);
            }
        }
        Ok(summary)
    }
}

/// A row, by the names of its columns.
struct Cells<'a> {
    def: &'static TableDef,
    row: &'a [Value],
}

impl Cells<'_> {
    fn of(&self, col: &str) -> Option<&Value> {
        self.row.get(self.def.col(col)?)
    }

    fn int(&self, col: &str) -> Option<i64> {
        if let Some(Value::Int(v)) = self.of(col) { Some(*v) } else { None }
    }

    fn text(&self, col: &str) -> Option<&str> {
        if let Some(Value::Text(text)) = self.of(col) { Some(text) } else { None }
    }

    /// Null counts as nothing.
    fn number(&self, col: &str) -> i64 {
        self.int(col).unwrap_or(0)
    }

    fn ns(&self, col: &str) -> Ns {
        Ns(self.number(col))
    }

    fn count(&self, col: &str) -> u64 {
        self.number(col).cast_unsigned()
    }

    fn thread(&self) -> ThreadKey {
        ThreadKey(self.number("thread"))
    }

    fn cpu(&self) -> CpuId {
        CpuId(u32::try_from(self.number("cpu")).unwrap_or(u32::MAX))
    }

    fn tid(&self) -> Tid {
        Tid(i32::try_from(self.number("tid")).unwrap_or(-1))
    }
}

/// Hands on a table's rows, those that are stored together at once.
fn read(folder: &Folder, def: &'static TableDef, mut each: impl FnMut(&[Vec<Value>])) -> Result<(), EngineError> {
    let there = folder.table_rows(def.name, &mut |rows| {
        each(rows);
        Ok(())
    })?;
    there.then_some(()).ok_or_else(|| EngineError::outdated(folder, def.name))
}

/// All rows of a table, each as something else.
fn all<T>(folder: &Folder, def: &'static TableDef, of: impl Fn(Cells<'_>) -> T) -> Result<Vec<T>, EngineError> {
    let mut all = Vec::new();
    read(folder, def, |rows| all.extend(rows.iter().map(|row| of(Cells { def, row }))))?;
    Ok(all)
}

fn inferred(row: Cells<'_>) -> InferredStretch {
    InferredStretch {
        span: Span::new(row.ns("start_ns"), row.ns("end_ns")),
        cpu: row.cpu(),
        thread: row.thread(),
        tid: row.tid(),
        basis: Basis::ALL.into_iter().find(|b| row.text("basis") == Some(b.as_str())).unwrap_or(Basis::Named),
    }
}

/// A thread's time on a CPU.
struct Place {
    thread: ThreadKey,
    cpu: CpuId,
    time: Ns,
}

/// By key, as they are stored; rows of a thread stand together in [`tables::THREAD_BY_CPU`], in the same order. Neither table
/// is held: the second one is read beside the first.
fn threads(folder: &Folder) -> Result<Threads, EngineError> {
    let (send, places) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let def = &tables::THREAD_BY_CPU;
            read(folder, def, |rows| {
                let place = |row: Cells<'_>| Place { thread: row.thread(), cpu: row.cpu(), time: row.ns("running_ns") };
                let places: Vec<Place> = rows.iter().map(|row| place(Cells { def, row })).collect();
                // Nobody wants it any more where the other table cannot be read, which is told there.
                let _ = send.send(places);
            })
        });
        let mut places = places.into_iter().flatten().peekable();
        let mut filing = Filing::default();
        let read = read(folder, &tables::THREADS, |rows| {
            for row in rows {
                let row = Cells { def: &tables::THREADS, row };
                let mut of_thread = Vec::new();
                while let Some(place) = places.next_if(|p| p.thread == row.thread()) {
                    of_thread.push((place.cpu, place.time));
                }
                filing.push(thread(&row, of_thread));
            }
        });
        drop(places);
        reading.join().map_err(|_| EngineError::Other("reading a table failed".into()))??;
        read?;
        Ok(filing.finish())
    })
}

fn thread(row: &Cells<'_>, by_cpu: Vec<(CpuId, Ns)>) -> ThreadTotals {
    let mut states = [Ns::ZERO; 5];
    for state in ThreadState::ALL {
        states[state as usize] = row.ns(&format!("{}_ns", state.as_str()));
    }
    let placed: Ns = by_cpu.iter().map(|(_, time)| *time).sum();
    ThreadTotals {
        thread: row.thread(),
        tid: row.tid(),
        life: u32::try_from(row.number("life")).unwrap_or(0),
        pid: row.int("pid").and_then(|p| i32::try_from(p).ok()).map_or(Pid::UNKNOWN, Pid),
        name: row.text("name").map(Into::into),
        begin: row.ns("begin_ns"),
        end: row.ns("begin_ns") + states.iter().copied().sum(),
        states,
        exec: row.ns("exec_ns"),
        exec_of: row.ns("exec_of_ns"),
        lossy: row.ns("lossy_ns"),
        involuntary: row.count("involuntary"),
        voluntary: row.count("voluntary"),
        max_ready: row.ns("max_ready_ns"),
        migrations: row.count("migrations"),
        unwoken: row.count("unwoken"),
        by_cpu,
        nowhere: states[ThreadState::Running as usize] - placed,
        inferred: Ns::ZERO,
    }
}

fn cpu(row: Cells<'_>) -> CpuTotals {
    let states = [row.ns("busy_ns"), row.ns("idle_ns"), row.ns("unknown_ns")];
    let switches = row.count("switches");
    CpuTotals {
        cpu: row.cpu(),
        states,
        lossy: row.ns("lossy_ns"),
        inferred: Ns::ZERO,
        switches,
        broken: row.count("broken"),
        followed: switches > 0 || states[0] + states[1] > Ns::ZERO,
    }
}
