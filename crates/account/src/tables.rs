//! The tables that are made from the sums.

use crate::{SpillError, Totals};
use model::{CpuState, InferredStretch, Pid, Rows, ThreadState, Value};
use std::collections::BTreeMap;
use topology::Machine;

/// [`model::tables::THREADS`], or [`model::tables::THREADS_FILLED`].
///
/// # Errors
/// As [`crate::Threads::each`].
pub fn threads(totals: &Totals, out: &mut dyn Rows) -> Result<(), SpillError> {
    totals.threads.each(|t| {
        let charged = t.exec_of.0 > 0;
        let row = [
            t.thread.into(),
            i64::from(t.tid.0).into(),
            i64::from(t.instance).into(),
            (t.pid != Pid::UNKNOWN).then_some(i64::from(t.pid.0)).into(),
            t.name.as_deref().into(),
            t.time(ThreadState::Running).into(),
            charged.then_some(t.exec).into(),
            charged.then_some(t.exec_of).into(),
            t.time(ThreadState::Ready).into(),
            t.time(ThreadState::Blocked).into(),
            t.blocked_or_ready(totals.ready_known).into(),
            t.time(ThreadState::Unknown).into(),
            t.time(ThreadState::Exited).into(),
            t.lossy.into(),
            (t.involuntary as i64).into(),
            (t.voluntary as i64).into(),
            t.max_ready.into(),
            (t.migrations as i64).into(),
            (t.missing_wakeups as i64).into(),
            t.begin.into(),
            t.inferred.into(),
        ];
        out.row(visible_columns(totals, &row));
    })
}

/// [`model::tables::CPUS`], or [`model::tables::CPUS_FILLED`].
pub fn cpus(totals: &Totals, machine: &Machine, out: &mut dyn Rows) {
    for c in &totals.cpus {
        let row = [
            i64::from(c.cpu.0).into(),
            machine.core_type(c.cpu).as_str().into(),
            c.time(CpuState::Busy).into(),
            c.time(CpuState::Idle).into(),
            c.time(CpuState::Unknown).into(),
            c.lossy.into(),
            (c.switches as i64).into(),
            (c.inconsistent_switches as i64).into(),
            c.inferred.into(),
        ];
        out.row(visible_columns(totals, &row));
    }
}

/// Returns a row without its last column, the inferred time, if the sums do not include inferred time.
fn visible_columns<'a>(totals: &Totals, row: &'a [Value]) -> &'a [Value] {
    &row[..row.len() - usize::from(!totals.filled)]
}

/// [`model::tables::THREAD_BY_CPU`].
///
/// # Errors
/// As [`crate::Threads::each`].
pub fn thread_by_cpu(totals: &Totals, out: &mut dyn Rows) -> Result<(), SpillError> {
    totals.threads.each(|t| {
        for (cpu, time) in &t.by_cpu {
            out.row(&[
                t.thread.into(),
                i64::from(t.tid.0).into(),
                i64::from(t.instance).into(),
                i64::from(cpu.0).into(),
                (*time).into(),
            ]);
        }
    })
}

/// [`model::tables::THREAD_BY_CORE_TYPE`].
///
/// # Errors
/// As [`crate::Threads::each`].
pub fn thread_by_core_type(totals: &Totals, machine: &Machine, out: &mut dyn Rows) -> Result<(), SpillError> {
    totals.threads.each(|t| {
        let mut by_class: BTreeMap<u32, (&'static str, i64)> = BTreeMap::new();
        for (cpu, time) in &t.by_cpu {
            let class = by_class.entry(machine.core_class(*cpu));
            class.or_insert((machine.core_type(*cpu).as_str(), 0)).1 += time.0;
        }
        let running = t.time(ThreadState::Running).0;
        for (class, (core_type, time)) in by_class {
            let share = if running > 0 { Value::Float(time as f64 / running as f64) } else { Value::Null };
            out.row(&[
                t.thread.into(),
                i64::from(t.tid.0).into(),
                i64::from(t.instance).into(),
                i64::from(class).into(),
                core_type.into(),
                time.into(),
                share,
            ]);
        }
    })
}

/// [`model::tables::LOSS`].
pub fn loss(totals: &Totals, out: &mut dyn Rows) {
    for l in &totals.losses {
        let (from, to) = l.within(totals.begin, totals.end);
        out.row(&[from.into(), to.into(), l.cpu.map(|c| i64::from(c.0)).into(), l.events.get().into()]);
    }
}

/// [`model::tables::INFERRED_STATE`].
pub fn inferred_state(inferred: &[InferredStretch], out: &mut dyn Rows) {
    for s in inferred {
        out.row(&[
            s.thread.into(),
            i64::from(s.tid.0).into(),
            i64::from(s.cpu.0).into(),
            s.span.start.into(),
            s.span.end.into(),
            s.basis.as_str().into(),
        ]);
    }
}
