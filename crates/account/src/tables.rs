//! The tables that come from the sums alone.

use crate::Totals;
use model::{CpuState, InferredStretch, Pid, Rows as _, Table, ThreadState, Value, tables};
use std::collections::BTreeMap;
use topology::Machine;

/// [`tables::THREADS`], or [`tables::THREADS_FILLED`].
#[must_use]
pub fn threads(totals: &Totals) -> Table {
    let mut table = Table::new(if totals.filled { &tables::THREADS_FILLED } else { &tables::THREADS });
    for t in &totals.threads {
        let charged = t.exec_of.0 > 0;
        let ready = |v: i64| totals.ready_known.then_some(v);
        let mut row = vec![
            t.thread.0.into(),
            i64::from(t.tid.0).into(),
            i64::from(t.life).into(),
            (t.pid != Pid::UNKNOWN).then_some(i64::from(t.pid.0)).into(),
            t.name.as_deref().into(),
            t.time(ThreadState::Running).into(),
            charged.then_some(t.exec).into(),
            charged.then_some(t.exec_of).into(),
            ready(t.time(ThreadState::Ready).0).into(),
            t.time(ThreadState::Blocked).into(),
            t.time(ThreadState::Unknown).into(),
            t.time(ThreadState::Exited).into(),
            t.lossy.into(),
            (t.involuntary as i64).into(),
            (t.voluntary as i64).into(),
            ready(t.max_ready.0).into(),
            (t.migrations as i64).into(),
            (t.unwoken as i64).into(),
            t.begin.into(),
        ];
        row.extend(totals.filled.then_some(t.inferred.into()));
        table.row(&row);
    }
    table
}

/// [`tables::CPUS`], or [`tables::CPUS_FILLED`].
#[must_use]
pub fn cpus(totals: &Totals, machine: &Machine) -> Table {
    let mut table = Table::new(if totals.filled { &tables::CPUS_FILLED } else { &tables::CPUS });
    for c in &totals.cpus {
        let mut row = vec![
            i64::from(c.cpu.0).into(),
            machine.core_type(c.cpu).as_str().into(),
            c.time(CpuState::Busy).into(),
            c.time(CpuState::Idle).into(),
            c.time(CpuState::Unknown).into(),
            c.lossy.into(),
            (c.switches as i64).into(),
            (c.broken as i64).into(),
        ];
        row.extend(totals.filled.then_some(c.inferred.into()));
        table.row(&row);
    }
    table
}

/// [`tables::THREAD_BY_CPU`].
#[must_use]
pub fn thread_by_cpu(totals: &Totals) -> Table {
    let mut table = Table::new(&tables::THREAD_BY_CPU);
    for t in &totals.threads {
        for (cpu, time) in &t.by_cpu {
            table.row(&[
                t.thread.0.into(),
                i64::from(t.tid.0).into(),
                i64::from(t.life).into(),
                i64::from(cpu.0).into(),
                (*time).into(),
            ]);
        }
    }
    table
}

/// [`tables::THREAD_BY_CORE_TYPE`].
#[must_use]
pub fn thread_by_core_type(totals: &Totals, machine: &Machine) -> Table {
    let mut table = Table::new(&tables::THREAD_BY_CORE_TYPE);
    for t in &totals.threads {
        let mut by_class: BTreeMap<u32, (&'static str, i64)> = BTreeMap::new();
        for (cpu, time) in &t.by_cpu {
            let class = by_class.entry(machine.core_class(*cpu));
            class.or_insert((machine.core_type(*cpu).as_str(), 0)).1 += time.0;
        }
        let running = t.time(ThreadState::Running).0;
        for (class, (core_type, time)) in by_class {
            let share = if running > 0 { Value::Float(time as f64 / running as f64) } else { Value::Null };
            table.row(&[
                t.thread.0.into(),
                i64::from(t.tid.0).into(),
                i64::from(t.life).into(),
                i64::from(class).into(),
                core_type.into(),
                time.into(),
                share,
            ]);
        }
    }
    table
}

/// [`tables::LOSS`].
#[must_use]
pub fn loss(totals: &Totals) -> Table {
    let mut table = Table::new(&tables::LOSS);
    for l in &totals.losses {
        table.row(&[
            l.from.max(model::Ns::ZERO).into(),
            l.to.min(totals.end).into(),
            l.cpu.map(|c| i64::from(c.0)).into(),
            (l.events >= 0).then_some(l.events).into(),
        ]);
    }
    table
}

/// [`tables::INFERRED_STATE`].
#[must_use]
pub fn inferred_state(inferred: &[InferredStretch]) -> Table {
    let mut table = Table::new(&tables::INFERRED_STATE);
    for s in inferred {
        table.row(&[
            s.thread.0.into(),
            i64::from(s.tid.0).into(),
            i64::from(s.cpu.0).into(),
            s.span.start.into(),
            s.span.end.into(),
            s.basis.as_str().into(),
        ]);
    }
    table
}
