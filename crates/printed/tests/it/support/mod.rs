//! Printed tables of testdata/figures, in groups that belong together, with the user's options.

use printed::{Pair, Request, Sheet, Statement, Verdict, check, read};
use testkit::figures;

/// Reads tables by the names of their files.
pub fn sheets(names: &[&str]) -> Vec<Sheet> {
    names.iter().map(|name| read(name, &figures::text(name)).unwrap()).collect()
}

pub fn pair(over: &str, under: &str) -> Pair {
    Pair { over: over.to_owned(), under: under.to_owned() }
}

/// A run with SMT on compared with SMT off, on both nodes.
pub fn smt_pairs() -> Vec<Pair> {
    ["other", "same"].map(|n| pair(&format!("{n}_node_smt_on"), &format!("{n}_node_smt_off"))).to_vec()
}

fn checked(names: &[&str], request: &Request) -> Vec<Statement> {
    check(&sheets(names), request)
}

pub fn processors() -> Vec<Statement> {
    let request = Request { processor: Some("i9-12900K".into()), ..Request::default() };
    checked(&["cpu_specs", "case2_counters"], &request)
}

pub fn priorities() -> Vec<Statement> {
    checked(&["boost_residency"], &Request::default())
}

pub fn two_systems() -> Vec<Statement> {
    let names = ["thread_by_cpu", "thread_by_cpu_totals", "ready_wait_hybrid", "ready_wait_symmetric"];
    checked(&names, &Request { compare: vec![pair(names[2], names[3])], ..Request::default() })
}

pub fn case_1() -> Vec<Statement> {
    checked(&["case1_hybrid"], &Request::default())
}

pub fn siblings() -> Vec<Statement> {
    let names = ["smt_siblings_hybrid", "smt_siblings_8c16t"];
    checked(&names, &Request { compare: vec![pair(names[0], names[1])], ..Request::default() })
}

pub fn utilisation() -> Vec<Statement> {
    let nodes = ["other", "same"].map(|n| pair(&format!("linuxki_double_busy_{n}"), &format!("{n}_node_smt_off")));
    let names = ["linuxki_double_busy_other", "linuxki_double_busy_same", "linuxki_cpu"];
    checked(&names, &Request { compare: nodes.to_vec(), ..Request::default() })
}

/// perf used intervals of five seconds.
pub fn counts() -> Vec<Statement> {
    checked(&["perf_smt_on_off"], &Request { smt: smt_pairs(), span_s: Some(5.0), ..Request::default() })
}

/// Counts of one run in each JSON file, and nodes of toplev.
pub fn multiplexed() -> Vec<Statement> {
    let mut all = sheets(&["toplev_single_thread"]);
    all.extend(["core_bound_likely", "topdown_alone", "topdown_shared"].map(|n| read(n, &figures::counts(n)).unwrap()));
    check(&all, &Request::default())
}

pub fn contention() -> Vec<Statement> {
    checked(&["smt_contention_times"], &Request::default())
}

/// Times of one loop by schedule; document 003 says of its cores that the fast ones are twice as fast.
pub fn chunks() -> Vec<Statement> {
    let claim = "rule,of,claimed,tolerance\nspeed_ratio_of_static,openmp_chunks,2,0.1\n";
    let mut all = sheets(&["openmp_chunks"]);
    all.push(read("claims", claim).unwrap());
    check(&all, &Request::default())
}

pub fn migration() -> Vec<Statement> {
    checked(&["migration_bench"], &Request::default())
}

/// Counts of document 002's contention program, whose loop has 1e10 iterations.
pub fn iterations() -> Vec<Statement> {
    let counts = |name: &str| {
        let text = figures::counts(name);
        let (head, rows) = text.split_once('\n').unwrap();
        let rows: String = rows.lines().map(|row| format!("{row},10000000000\n")).collect();
        read(name, &format!("{head},iterations\n{rows}")).unwrap()
    };
    check(&["core_bound_likely", "topdown_alone"].map(counts), &Request::default())
}

pub fn core_types() -> Vec<Statement> {
    checked(&["vtune_core_type_grid", "relative_ips", "p_cpi_hybrid_vs_symmetric"], &Request::default())
}

pub fn marks() -> Vec<Statement> {
    checked(&["frames_markers"], &Request::default())
}

/// The runs of document 004: two systems, plugged in or not. The part is an ultrabook's of 17 W, which the document does not state.
pub const POWER_RUNS: [&str; 4] = ["w7p", "w7u", "w8p", "w8u"];

/// What the user compares in document 004: runs with each other, functions with their run and with the same ones of the other
/// system, and the battery lives with the runs without plug.
pub fn power_request() -> Request {
    let mut compare: Vec<Pair> = ["w7p/w8p", "w7u/w8u", "w7u/w7p", "w8u/w8p", "w8p/w7p", "w8u/w7u", "w7p/w7u"]
        .into_iter()
        .chain(["win7/w7u", "win8/w8u", "win7/win8"])
        .map(|of| of.split_once('/').unwrap())
        .map(|(over, under)| pair(over, under))
        .collect();
    compare.extend(POWER_RUNS.map(|run| pair(&format!("power_functions_{run}"), run)));
    compare.push(pair("power_functions_w7p", "power_functions_w8p"));
    Request { compare, tdp_w: Some(17.0), ..Request::default() }
}

/// The tables of document 004.
pub fn power_sheets() -> Vec<Sheet> {
    let functions = POWER_RUNS.map(|run| format!("power_functions_{run}"));
    let mut names = vec!["power_totals", "battery"];
    names.extend(functions.iter().map(String::as_str));
    sheets(&names)
}

pub fn power() -> Vec<Statement> {
    check(&power_sheets(), &power_request())
}

/// The contradictions, as `rule of row`.
pub fn contradicted(all: &[Statement]) -> Vec<String> {
    let wrong = all.iter().filter(|s| s.verdict == Verdict::Contradicts);
    wrong.map(|s| format!("{} of {}", s.rule.id, s.of)).collect()
}

/// The number of agreements.
pub fn agreeing(all: &[Statement]) -> usize {
    all.iter().filter(|s| s.verdict == Verdict::Agrees).count()
}
