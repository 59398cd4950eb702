//! Traces through both stages of the accounting and every analysis.
#![allow(dead_code, clippy::unwrap_used)] // each test uses its part

pub mod allowed;
pub mod instants;

use account::{Accountant, Collector, Rules, Totals};
use analysis::{Batch, Context, Running};
use ingest::{Limits, Opened};
use model::{Allowed, CpuId, CpuStretch, Move, Ns, Span, Table, ThreadStretch, Value};
use std::collections::BTreeMap;
use topology::Machine;

/// A trace, accounted for, and every table of some span of it.
pub struct Analysed {
    pub totals: Totals,
    pub machine: Machine,
    pub span: Span,
    pub threads: Vec<ThreadStretch>,
    pub cpus: Vec<CpuStretch>,
    pub moves: Vec<Move>,
    pub allowed: Vec<Allowed>,
    /// The first is number 1.
    pub names: Vec<Box<str>>,
    pub tables: BTreeMap<&'static str, Table>,
}

impl Analysed {
    /// A column of a table, as numbers; null counts as nothing.
    pub fn ints(&self, table: &str, col: &str) -> Vec<i64> {
        let table = &self.tables[table];
        assert!(table.def.col(col).is_some(), "{} has no column {col}", table.def.name);
        (0..table.rows.len()).map(|row| table.int(row, col).unwrap_or(0)).collect()
    }
}

/// `span`: a part of the recording, from the whole of it.
pub fn analyse(opened: Opened<'static>, machine: Machine, rules: Rules, span: impl Fn(Span) -> Span) -> Analysed {
    let mut accountant = Accountant::new(rules);
    let mut collector = Collector::default();
    let mut names = Vec::new();
    ingest::run(opened, true, Limits::default(), |batch| {
        names.extend(batch.names.iter().cloned());
        accountant.push(batch, &mut collector);
    });
    let totals = accountant.finish(&mut collector);
    let followed: Vec<CpuId> = totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect();
    let span = span(Span::new(Ns::ZERO, totals.end));
    let context = Context { machine: &machine, span, followed: &followed, ready_known: totals.ready_known };
    let every: Vec<&str> = analysis::ANALYSES.iter().map(|a| a.table.name).collect();
    let mut running = Running::start(&every, &context, names.clone());
    let (mut threads, mut cpus, mut moves, mut allowed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut stretches = collector.finish();
    let each = |steps: &account::Together<'_>| {
        let account::Together { threads: t, cpus: c, moves: m, marks, allowed: a } = *steps;
        running.push(&Batch { threads: t, cpus: c, moves: m, marks, allowed: a });
        threads.extend_from_slice(t);
        cpus.extend_from_slice(c);
        moves.extend_from_slice(m);
        allowed.extend_from_slice(a);
    };
    stretches.steps(each).unwrap();
    let tables = running.finish().into_iter().map(|t| (t.def.name, t)).collect();
    Analysed { totals, machine, span, threads, cpus, moves, allowed, names, tables }
}

pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => format!("{v:.6}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        Value::Text(v) => v.clone(),
        Value::Bool(v) => v.to_string(),
    }
}
