//! Printed tables of shared/figures, in the groups in which they belong together, and what a user says beside them.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its own part")]

use printed::{Asked, Pair, Sheet, Statement, Verdict, check, read};
use testkit::figures;

/// Tables by the names of their files.
pub fn sheets(names: &[&str]) -> Vec<Sheet> {
    names.iter().map(|name| read(name, &figures::text(name)).unwrap()).collect()
}

pub fn pair(over: &str, under: &str) -> Pair {
    Pair { over: over.to_owned(), under: under.to_owned() }
}

/// A run with SMT on over the same with SMT off, on both nodes.
pub fn smt_pairs() -> Vec<Pair> {
    ["other", "same"].map(|n| pair(&format!("{n}_node_smt_on"), &format!("{n}_node_smt_off"))).to_vec()
}

fn held(names: &[&str], asked: &Asked) -> Vec<Statement> {
    check(&sheets(names), asked)
}

pub fn processors() -> Vec<Statement> {
    let asked = Asked { processor: Some("i9-12900K".into()), ..Asked::default() };
    held(&["cpu_specs", "case2_counters"], &asked)
}

pub fn priorities() -> Vec<Statement> {
    held(&["boost_residency"], &Asked::default())
}

pub fn two_systems() -> Vec<Statement> {
    let names = ["thread_by_cpu", "thread_by_cpu_totals", "ready_wait_hybrid", "ready_wait_symmetric"];
    held(&names, &Asked { compare: vec![pair(names[2], names[3])], ..Asked::default() })
}

pub fn case_1() -> Vec<Statement> {
    held(&["case1_hybrid"], &Asked::default())
}

pub fn siblings() -> Vec<Statement> {
    let names = ["smt_siblings_hybrid", "smt_siblings_8c16t"];
    held(&names, &Asked { compare: vec![pair(names[0], names[1])], ..Asked::default() })
}

pub fn utilisation() -> Vec<Statement> {
    let nodes = ["other", "same"].map(|n| pair(&format!("linuxki_double_busy_{n}"), &format!("{n}_node_smt_off")));
    let names = ["linuxki_double_busy_other", "linuxki_double_busy_same", "linuxki_cpu"];
    held(&names, &Asked { compare: nodes.to_vec(), ..Asked::default() })
}

/// perf was asked for intervals of five seconds.
pub fn counts() -> Vec<Statement> {
    held(&["perf_smt_on_off"], &Asked { smt: smt_pairs(), span_s: Some(5.0), ..Asked::default() })
}

pub fn contention() -> Vec<Statement> {
    held(&["smt_contention_times"], &Asked::default())
}

pub fn core_types() -> Vec<Statement> {
    held(&["vtune_core_type_grid", "relative_ips", "p_cpi_hybrid_vs_symmetric"], &Asked::default())
}

pub fn marks() -> Vec<Statement> {
    held(&["frames_markers"], &Asked::default())
}

/// What contradicts, as `rule of row`.
pub fn contradicted(all: &[Statement]) -> Vec<String> {
    let wrong = all.iter().filter(|s| s.verdict == Verdict::Contradicts);
    wrong.map(|s| format!("{} of {}", s.rule.id, s.of)).collect()
}

/// How many agree.
pub fn agreeing(all: &[Statement]) -> usize {
    all.iter().filter(|s| s.verdict == Verdict::Agrees).count()
}
