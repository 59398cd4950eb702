//! A trace folder with what was inferred in place of the unknown time that it fills: the folder keeps both apart.

use crate::{EngineError, LawRow, Summary};
use account::{CpuTotals, Cutter, Filing, InferredIndex, Knife, Laws, ThreadTotals, Threads, Totals};
use model::tables::{self, cpus, inferred_state, threads};
use model::{
    Basis, CpuId, CpuState, CpuStretch, Declared, InferredStretch, Ns, Pid, Row, Span, TableDef, ThreadKey,
    ThreadState, ThreadStretch, Tid, Value,
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
            inferred: all(folder, inferred)?,
            threads: threads(folder)?,
            cpus: all(folder, cpu)?,
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

fn cpu_id(cpu: i64) -> CpuId {
    CpuId(u32::try_from(cpu).unwrap_or(u32::MAX))
}

fn tid_of(tid: i64) -> Tid {
    Tid(i32::try_from(tid).unwrap_or(-1))
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
fn all<T: Declared, U>(folder: &Folder, of: impl Fn(Row<'_, T>) -> U) -> Result<Vec<U>, EngineError> {
    let mut all = Vec::new();
    read(folder, T::DEF, |rows| all.extend(rows.iter().map(|row| of(Row::new(row)))))?;
    Ok(all)
}

fn inferred(row: Row<'_, inferred_state::Table>) -> InferredStretch {
    use inferred_state::{BASIS, CPU, END_NS, START_NS, THREAD, TID};
    InferredStretch {
        span: Span::new(Ns(row.get(START_NS)), Ns(row.get(END_NS))),
        cpu: cpu_id(row.get(CPU)),
        thread: ThreadKey(row.get(THREAD)),
        tid: tid_of(row.get(TID)),
        basis: Basis::ALL.into_iter().find(|b| row.get(BASIS) == b.as_str()).unwrap_or(Basis::Named),
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
            use model::tables::thread_by_cpu::{CPU, RUNNING_NS, THREAD};
            read(folder, &tables::THREAD_BY_CPU, |rows| {
                let place = |row: &Vec<Value>| {
                    let [thread, cpu, time] = Row::new(row).all([THREAD, CPU, RUNNING_NS]);
                    Place { thread: ThreadKey(thread), cpu: cpu_id(cpu), time: Ns(time) }
                };
                let places: Vec<Place> = rows.iter().map(place).collect();
                // Nobody wants it any more where the other table cannot be read, which is told there.
                let _ = send.send(places);
            })
        });
        let mut places = places.into_iter().flatten().peekable();
        let mut filing = Filing::default();
        let read = read(folder, &tables::THREADS, |rows| {
            for row in rows {
                let row = Row::new(row);
                let key = ThreadKey(row.get(threads::THREAD));
                let mut of_thread = Vec::new();
                while let Some(place) = places.next_if(|p| p.thread == key) {
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

fn thread(row: &Row<'_, threads::Table>, by_cpu: Vec<(CpuId, Ns)>) -> ThreadTotals {
    use threads::*;
    let ns = |col| Ns(row.get(col));
    let count = |col| row.get::<i64>(col).cast_unsigned();
    let states = ThreadState::ALL.map(|state| match state {
        ThreadState::Running => ns(RUNNING_NS),
        // Null counts as nothing.
        ThreadState::Ready => ns(READY_NS.or_zero()),
        ThreadState::Blocked => ns(BLOCKED_NS),
        ThreadState::Unknown => ns(UNKNOWN_NS),
        ThreadState::Exited => ns(EXITED_NS),
    });
    let placed: Ns = by_cpu.iter().map(|(_, time)| *time).sum();
    ThreadTotals {
        thread: ThreadKey(row.get(THREAD)),
        tid: tid_of(row.get(TID)),
        life: u32::try_from(row.get(LIFE)).unwrap_or(0),
        pid: row.get(PID).and_then(|p| i32::try_from(p).ok()).map_or(Pid::UNKNOWN, Pid),
        name: row.get(NAME).map(Into::into),
        begin: ns(BEGIN_NS),
        end: ns(BEGIN_NS) + states.iter().copied().sum(),
        states,
        exec: ns(EXEC_NS.or_zero()),
        exec_of: ns(EXEC_OF_NS.or_zero()),
        lossy: ns(LOSSY_NS),
        involuntary: count(INVOLUNTARY),
        voluntary: count(VOLUNTARY),
        max_ready: ns(MAX_READY_NS.or_zero()),
        migrations: count(MIGRATIONS),
        unwoken: count(UNWOKEN),
        by_cpu,
        nowhere: states[ThreadState::Running as usize] - placed,
        inferred: Ns::ZERO,
    }
}

fn cpu(row: Row<'_, cpus::Table>) -> CpuTotals {
    let states = row.all([cpus::BUSY_NS, cpus::IDLE_NS, cpus::UNKNOWN_NS]).map(Ns);
    let [switches, broken] = row.all([cpus::SWITCHES, cpus::BROKEN]).map(i64::cast_unsigned);
    CpuTotals {
        cpu: cpu_id(row.get(cpus::CPU)),
        states,
        lossy: Ns(row.get(cpus::LOSSY_NS)),
        inferred: Ns::ZERO,
        switches,
        broken,
        followed: switches > 0 || states[0] + states[1] > Ns::ZERO,
    }
}
