//! Reads the output of `lscpu`: its summary as text or JSON, and its tables.
//!
//! The summary has the numbers of threads, cores and caches, but not the CPUs they belong to, and its frequencies are per kind of core,
//! not per CPU. Only what follows from the numbers (one thread per core, one socket) is used; the rest is reported as unknown. The
//! tables (`-e`, `-p`) have the position of each CPU.

use super::cpu_table::Table;
use super::{all_from, bad, of_json};
use crate::cpulist;
use crate::header::set_groups;
use crate::machine::{Cpu, Machine, Source};
use crate::user::BadMachine;
use model::CpuId;
use serde_json::Value;
use std::collections::BTreeSet;

/// The maximum number of lines of a summary; a real one has about sixty.
const MAX_LINES: usize = 10_000;

/// The names and values of a summary, in order.
type Summary = Vec<(String, String)>;

/// Reads `lscpu -J` or `lscpu -J -e`.
pub(super) fn read_json(text: &str) -> Result<Machine, BadMachine> {
    let json: Value = serde_json::from_str(text).map_err(|why| of_json(&why))?;
    let mut summary = Summary::new();
    if let Some(fields) = json.get("lscpu").and_then(Value::as_array) {
        flatten(fields, &mut summary);
    }
    let mut table = Table::default();
    for row in json.get("cpus").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object) {
        table.push(row.iter().map(|(name, value)| (name.to_lowercase(), word(value))));
    }
    machine(&summary, &table)
}

/// Reads `lscpu`, `lscpu -e`, `lscpu -p`, or several of them in one file.
pub(super) fn read_text(text: &str) -> Result<Machine, BadMachine> {
    let pair = |line: &str| line.split_once(':').map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()));
    let lines = text.lines().take_while(|l| !super::cpu_table::is_header(l)).take(MAX_LINES);
    machine(&lines.filter_map(pair).collect(), &Table::of_text(text))
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Flattens the fields, which newer versions nest; serde_json limits the depth.
fn flatten(fields: &[Value], out: &mut Summary) {
    for field in fields.iter().take(MAX_LINES) {
        if let (Some(name), Some(data)) = (field.get("field").and_then(Value::as_str), field.get("data")) {
            out.push((name.trim().trim_end_matches(':').to_owned(), word(data)));
        }
        if let Some(children) = field.get("children").and_then(Value::as_array) {
            flatten(children, out);
        }
    }
}

fn machine(summary: &Summary, table: &Table) -> Result<Machine, BadMachine> {
    let mut machine = if table.is_empty() { of_summary(summary)? } else { table.machine()? };
    if machine.cpus.is_empty() {
        return Err(bad("lscpu's output has no CPU: neither `CPU(s)` nor a table"));
    }
    let text = |name: &str| value(summary, name).map(str::to_owned).filter(|t| t != "-");
    machine.arch = text("Architecture");
    machine.model_name = text("Model name");
    let kinds: BTreeSet<&str> =
        summary.iter().filter(|(k, _)| k == "Model name").map(|(_, v)| v.as_str()).filter(|v| *v != "-").collect();
    if kinds.len() > 1 {
        let kinds: Vec<&str> = kinds.into_iter().collect();
        machine
            .unknown
            .push(format!("the kind of each CPU: lscpu lists the kinds {}, but not their CPUs", kinds.join(", ")));
        machine.model_name = None;
    }
    Ok(machine.judged(&[]))
}

fn value<'a>(summary: &'a Summary, name: &str) -> Option<&'a str> {
    summary.iter().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
}

fn of_summary(summary: &Summary) -> Result<Machine, BadMachine> {
    let list = |name: &str| match value(summary, name) {
        Some(text) => cpulist::parse(text).map_err(|why| bad(format!("{name}: {why}"))),
        None => Ok(Vec::new()),
    };
    let (online, offline) = (list("On-line CPU(s) list")?, list("Off-line CPU(s) list")?);
    let mut ids: BTreeSet<CpuId> = online.iter().chain(&offline).copied().collect();
    let count = value(summary, "CPU(s)").and_then(|n| n.parse::<u32>().ok()).filter(|n| *n <= cpulist::MAX_CPUS);
    let mut unknown = Vec::new();
    match count {
        Some(count) if ids.is_empty() => ids.extend((0..count).map(CpuId)),
        Some(count) if count as usize != ids.len() => {
            unknown.push(format!("lscpu counts {count} CPUs but lists {}", ids.len()));
        }
        _ => {}
    }
    let mut cpus: Vec<Cpu> = ids.into_iter().map(Cpu::new).collect();
    for cpu in &mut cpus {
        cpu.online = online.is_empty() || online.binary_search(&cpu.id).is_ok();
    }
    for (name, of) in summary {
        let node = name.strip_prefix("NUMA node").and_then(|n| n.strip_suffix("CPU(s)")).map(str::trim);
        let Some(node) = node.and_then(|n| n.parse::<u32>().ok()) else { continue };
        let of = cpulist::parse(of).unwrap_or_default();
        cpus.iter_mut().filter(|c| of.binary_search(&c.id).is_ok()).for_each(|c| c.node = Some(node));
    }
    if value(summary, "Socket(s)") == Some("1") {
        cpus.iter_mut().filter(|c| c.online).for_each(|c| c.package = Some(0));
    }
    let threads: Vec<&str> =
        summary.iter().filter(|(k, _)| k == "Thread(s) per core").map(|(_, v)| v.as_str()).collect();
    if !threads.is_empty() && threads.iter().all(|n| *n == "1") {
        let single: Vec<Vec<CpuId>> = cpus.iter().filter(|c| c.online).map(|c| vec![c.id]).collect();
        set_groups(&mut cpus, &single, |c| &mut c.siblings);
    } else {
        unknown.push("the threads of each core: not in lscpu's summary, use `lscpu -J -e`".to_owned());
    }
    let sources = all_from(Source::Lscpu, &cpus);
    Ok(Machine { cpus, sources, unknown, ..Machine::default() })
}
