//! Types of core as the user tells them, in the tables of a folder that was written without that.

use model::{CpuId, Rows as _, Table, TableDef, Value, tables};
use std::collections::BTreeMap;
use topology::Machine;

/// Sets the column `core_type` of rows that have a column `cpu`; where it is null it stays so.
pub(crate) fn rows(def: &TableDef, rows: &mut [Vec<Value>], machine: &Machine) {
    let (Some(cpu), Some(core_type)) = (def.col("cpu"), def.col("core_type")) else { return };
    for row in rows {
        if let (Some(id), true) = (cpu_of(&row[cpu]), row[core_type] != Value::Null) {
            row[core_type] = machine.core_type(id).as_str().into();
        }
    }
}

/// [`tables::THREAD_BY_CORE_TYPE`] from [`tables::THREAD_BY_CPU`], whose rows of a thread stand together.
pub(crate) fn thread_by_core_type(by_cpu: &Table, machine: &Machine) -> Table {
    let mut table = Table::new(&tables::THREAD_BY_CORE_TYPE);
    let int = |row: &Vec<Value>, name: &str| match by_cpu.def.col(name).and_then(|c| row.get(c)) {
        Some(Value::Int(v)) => *v,
        _ => 0,
    };
    for of_thread in by_cpu.rows.chunk_by(|a, b| int(a, "thread") == int(b, "thread")) {
        let mut by_class: BTreeMap<u32, (&'static str, i64)> = BTreeMap::new();
        for row in of_thread {
            let cpu = CpuId(u32::try_from(int(row, "cpu")).unwrap_or(u32::MAX));
            let class = by_class.entry(machine.core_class(cpu)).or_insert((machine.core_type(cpu).as_str(), 0));
            class.1 = class.1.saturating_add(int(row, "running_ns"));
        }
        let running: i64 = by_class.values().fold(0, |sum, (_, ns)| sum.saturating_add(*ns));
        for (class, (core_type, ns)) in by_class {
            let share = if running > 0 { Value::Float(ns as f64 / running as f64) } else { Value::Null };
            let [thread, tid, life] = ["thread", "tid", "life"].map(|name| int(&of_thread[0], name).into());
            table.row(&[thread, tid, life, i64::from(class).into(), core_type.into(), ns.into(), share]);
        }
    }
    table
}

fn cpu_of(value: &Value) -> Option<CpuId> {
    match value {
        Value::Int(id) => u32::try_from(*id).ok().map(CpuId),
        _ => None,
    }
}
