//! Applies the core types of a machine described by the user to tables stored in a folder.

use model::tables::cpus;
use model::{CpuId, Ns, Row, Rows, TableDef, ThreadKey, Tid, Value};
use std::collections::BTreeMap;
use topology::Machine;

/// Sets the column `core_type` in tables with a column `cpu`; null stays null.
pub(crate) fn rows(def: &TableDef, rows: &mut [Vec<Value>], machine: &Machine) {
    let (Some(cpu), Some(core_type)) = (def.col(cpus::CPU.name()), def.col(cpus::CORE_TYPE.name())) else { return };
    for row in rows {
        if let (Some(id), true) = (cpu_of(&row[cpu]), row[core_type] != Value::Null) {
            row[core_type] = machine.core_type(id).as_str().into();
        }
    }
}

/// Makes [`model::tables::THREAD_BY_CORE_TYPE`] from [`model::tables::THREAD_BY_CPU`], where the rows of a thread are adjacent.
pub(crate) struct ByCoreType<'a> {
    machine: &'a Machine,
    out: &'a mut dyn Rows,
    /// Key, TID and instance of the thread of the last rows.
    thread: Option<(ThreadKey, Tid, i64)>,
    by_class: BTreeMap<u32, (&'static str, Ns)>,
}

impl<'a> ByCoreType<'a> {
    pub(crate) fn new(machine: &'a Machine, out: &'a mut dyn Rows) -> Self {
        Self { machine, out, thread: None, by_class: BTreeMap::new() }
    }

    pub(crate) fn push(&mut self, rows: &[Vec<Value>]) {
        use model::tables::thread_by_cpu::{CPU, INSTANCE, RUNNING_NS, THREAD, TID};
        for row in rows {
            let (thread, tid, instance, cpu, ns) = Row::new(row).all((THREAD, TID, INSTANCE, CPU, RUNNING_NS));
            if self.thread.is_some_and(|last| last.0 != thread) {
                self.finish();
            }
            // Taken from the thread's first row.
            self.thread.get_or_insert((thread, tid, instance));
            let cpu = CpuId(u32::try_from(cpu).unwrap_or(u32::MAX));
            let class = self.by_class.entry(self.machine.core_class(cpu));
            let sum = &mut class.or_insert((self.machine.core_type(cpu).as_str(), Ns::ZERO)).1;
            *sum += ns;
        }
    }

    /// Writes the rows of the last thread.
    pub(crate) fn finish(&mut self) {
        let by_class = std::mem::take(&mut self.by_class);
        let running: Ns = by_class.values().map(|(_, ns)| ns).sum();
        let Some((thread, tid, instance)) = self.thread.take() else { return };
        for (class, (core_type, ns)) in by_class {
            let share = if running > Ns::ZERO { Value::Float(ns.as_f64() / running.as_f64()) } else { Value::Null };
            let class = i64::from(class);
            self.out.row(&[
                thread.into(),
                tid.into(),
                instance.into(),
                class.into(),
                core_type.into(),
                ns.into(),
                share,
            ]);
        }
    }
}

fn cpu_of(value: &Value) -> Option<CpuId> {
    match value {
        Value::Int(id) => u32::try_from(*id).ok().map(CpuId),
        _ => None,
    }
}
