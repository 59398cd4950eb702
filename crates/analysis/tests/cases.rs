//! Every analysis as a drawing and the table that comes of it: crates/analysis/cases.

use account::{Accountant, Collector, Rules};
use analysis::{Batch, Context, Running};
use ingest::Limits;
use model::{CpuId, Ns, Span, Table, Value};
use std::fmt::Write;
use std::path::Path;

#[test]
fn cases() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases"));
    testkit::cases::run(folder, |drawing| {
        let drawn = testkit::trace(drawing);
        let mut accountant = Accountant::new(Rules { has_waking: true, has_wakes: true, ..Rules::default() });
        let mut collector = Collector::default();
        ingest::run(drawn.opened(), false, Limits::default(), |batch| accountant.push(batch, &mut collector));
        let totals = accountant.finish(&mut collector);
        let machine = drawn.facts.machine.clone().unwrap_or_default();
        let followed: Vec<CpuId> = totals.cpus.iter().filter(|c| c.switches > 0).map(|c| c.cpu).collect();
        let span = Span::new(Ns::ZERO, totals.end);
        let context = Context { machine: &machine, span, followed: &followed, ready_known: totals.ready_known };
        let every: Vec<&str> = analysis::ANALYSES.iter().map(|a| a.table.name).collect();
        let mut running = Running::start(&every, &context);
        let mut stretches = collector.finish();
        stretches.cpus(|cpus| running.push(&Batch { cpus, threads: &[] })).unwrap();
        stretches.threads(|threads| running.push(&Batch { cpus: &[], threads })).unwrap();
        running.finish().iter().map(told).collect()
    });
}

/// A table as text: its name, its columns, its rows.
fn told(table: &Table) -> String {
    let mut out = format!("{}\n", table.def.name);
    let names: Vec<String> = table.def.cols.iter().map(|c| format!("{:>11}", c.name)).collect();
    let _ = writeln!(out, "{}", names.join(" "));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|v| format!("{:>11}", text(v))).collect();
        let _ = writeln!(out, "{}", cells.join(" "));
    }
    out
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Text(v) => v.clone(),
        Value::Bool(v) => v.to_string(),
    }
}
