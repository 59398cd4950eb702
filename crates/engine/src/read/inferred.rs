//! A trace folder with inferred time in place of unknown time. The folder stores both separately.

use crate::{EngineError, LawRow, Summary};
use account::{Clipper, CpuTotals, Cutter, InferredIndex, Laws, ThreadTotals, Threads, ThreadsBuilder, Totals};
use model::tables::{self, cpus, inferred_state, threads};
use model::{
    Basis, CpuId, CpuState, CpuStretch, InferredStretch, Ns, Pid, Row, Span, TableDef, TableType, ThreadKey,
    ThreadState, ThreadStretch, Value,
};
use std::sync::mpsc;
use store::Folder;

/// A folder's sums with inferred time, and the clipper that cuts its stretches accordingly.
pub(crate) struct WithInferred {
    pub(crate) totals: Totals,
    pub(crate) clipper: Clipper,
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
        let clipper = Clipper { losses: None, inferred: Some(InferredIndex::new(&totals.inferred)) };
        Ok(Self { totals, clipper })
    }

    /// Passes on the threads' stretches; for a span, all pieces of the stretches that overlap it.
    pub(crate) fn threads(
        &self,
        folder: &Folder,
        span: Option<Span>,
        mut each: impl FnMut(&[ThreadStretch]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut cutter = Cutter::new(&self.clipper);
        folder.thread_stretches(span, |threads| cutter.push(threads, &mut each))?;
        cutter.finish(each)
    }

    /// Passes on the CPUs' stretches in the same way.
    pub(crate) fn cpus(
        &self,
        folder: &Folder,
        span: Option<Span>,
        mut each: impl FnMut(&[CpuStretch]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut cutter = Cutter::new(&self.clipper);
        folder.cpu_stretches(span, |cpus| cutter.push(cpus, &mut each))?;
        cutter.finish(each)
    }

    /// Returns the folder's summary with the changed sums, and with the larger deviation for each law.
    ///
    /// # Errors
    /// The sums in a temporary file cannot be read back.
    pub(crate) fn summary(&self, mut summary: Summary) -> Result<Summary, EngineError> {
        let sum = |state| self.totals.cpu_time(state).0;
        summary.busy_ns = sum(CpuState::Busy);
        summary.idle_ns = sum(CpuState::Idle);
        summary.unknown_ns = sum(CpuState::Unknown);
        summary.inferred_ns = Some(self.totals.cpus.iter().map(|c| c.inferred).sum::<Ns>().0);
        for law in Laws::check(&self.totals)?.0.iter().map(LawRow::from) {
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

/// Passes on a table's rows, one stored block at a time.
fn read(folder: &Folder, def: &'static TableDef, mut each: impl FnMut(&[Vec<Value>])) -> Result<(), EngineError> {
    let exists = folder.table_rows(def.name, &mut |rows| {
        each(rows);
        Ok(())
    })?;
    exists.then_some(()).ok_or_else(|| EngineError::outdated(folder, def.name))
}

/// Reads all rows of a table, each converted by `convert`.
fn all<T: TableType, U>(folder: &Folder, convert: impl Fn(Row<'_, T>) -> U) -> Result<Vec<U>, EngineError> {
    let mut all = Vec::new();
    read(folder, T::DEF, |rows| all.extend(rows.iter().map(|row| convert(Row::new(row)))))?;
    Ok(all)
}

fn inferred(row: Row<'_, inferred_state::Table>) -> InferredStretch {
    use inferred_state::{BASIS, CPU, END_NS, START_NS, THREAD, TID};
    InferredStretch {
        span: Span::new(row.get(START_NS), row.get(END_NS)),
        cpu: cpu_id(row.get(CPU)),
        thread: row.get(THREAD),
        tid: row.get(TID),
        basis: Basis::ALL.into_iter().find(|b| row.get(BASIS) == b.as_str()).unwrap_or(Basis::Named),
    }
}

/// A thread's time on a CPU.
struct Place {
    thread: ThreadKey,
    cpu: CpuId,
    time: Ns,
}

/// Reads the sums of threads. Both tables are sorted by key, and the rows of a thread are adjacent in [`tables::THREAD_BY_CPU`], so
/// both are read in parallel and neither is held in memory.
fn threads(folder: &Folder) -> Result<Threads, EngineError> {
    let (send, places) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            use model::tables::thread_by_cpu::{CPU, RUNNING_NS, THREAD};
            read(folder, &tables::THREAD_BY_CPU, |rows| {
                let place = |row: &Vec<Value>| {
                    let (thread, cpu, time) = Row::new(row).all((THREAD, CPU, RUNNING_NS));
                    Place { thread, cpu: cpu_id(cpu), time }
                };
                let places: Vec<Place> = rows.iter().map(place).collect();
                // If the receiver is gone, reading the other table failed; that error is reported there.
                let _ = send.send(places);
            })
        });
        let mut places = places.into_iter().flatten().peekable();
        let mut builder = ThreadsBuilder::default();
        let read = read(folder, &tables::THREADS, |rows| {
            for row in rows {
                let row = Row::new(row);
                let key = row.get(threads::THREAD);
                let mut of_thread = Vec::new();
                while let Some(place) = places.next_if(|p| p.thread == key) {
                    of_thread.push((place.cpu, place.time));
                }
                builder.push(thread(&row, of_thread));
            }
        });
        drop(places);
        reading.join().map_err(|_| EngineError::Bug("reading a table failed".into()))??;
        read?;
        Ok(builder.finish())
    })
}

fn thread(row: &Row<'_, threads::Table>, by_cpu: Vec<(CpuId, Ns)>) -> ThreadTotals {
    use threads::*;
    let count = |col| row.get::<i64>(col).cast_unsigned();
    let states = ThreadState::ALL.map(|state| match state {
        ThreadState::Running => row.get(RUNNING_NS),
        ThreadState::Ready => row.get(READY_NS),
        ThreadState::Blocked => row.get(BLOCKED_NS),
        ThreadState::Unknown => row.get(UNKNOWN_NS),
        ThreadState::Exited => row.get(EXITED_NS),
    });
    let placed: Ns = by_cpu.iter().map(|(_, time)| *time).sum();
    ThreadTotals {
        thread: row.get(THREAD),
        tid: row.get(TID),
        instance: u32::try_from(row.get(INSTANCE)).unwrap_or(0),
        pid: row.get(PID).and_then(|p| i32::try_from(p).ok()).map_or(Pid::UNKNOWN, Pid),
        name: row.get(NAME).map(Into::into),
        begin: row.get(BEGIN_NS),
        end: row.get(BEGIN_NS) + states.iter().copied().sum(),
        states,
        exec: row.get(EXEC_NS.or_zero()),
        exec_of: row.get(EXEC_OF_NS.or_zero()),
        lossy: row.get(LOSSY_NS),
        involuntary: count(INVOLUNTARY),
        voluntary: count(VOLUNTARY),
        max_ready: row.get(MAX_READY_NS),
        migrations: count(MIGRATIONS),
        missing_wakeups: count(UNWOKEN),
        by_cpu,
        nowhere: states[ThreadState::Running as usize] - placed,
        inferred: Ns::ZERO,
    }
}

fn cpu(row: Row<'_, cpus::Table>) -> CpuTotals {
    let states = row.all([cpus::BUSY_NS, cpus::IDLE_NS, cpus::UNKNOWN_NS]);
    let [switches, inconsistent_switches] = row.all([cpus::SWITCHES, cpus::BROKEN]).map(i64::cast_unsigned);
    CpuTotals {
        cpu: cpu_id(row.get(cpus::CPU)),
        states,
        lossy: row.get(cpus::LOSSY_NS),
        inferred: Ns::ZERO,
        switches,
        inconsistent_switches,
        followed: switches > 0 || states[0] + states[1] > Ns::ZERO,
        // Which CPUs were recorded is in the manifest.
        has_events: false,
    }
}
