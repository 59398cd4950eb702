//! Capabilities 2, 32, 33 and 35, and errata E1–E4, E6, E15 and E17: what contradicts in printed tables is named, and nothing else
//! is. The figures themselves are held in derived_expected.rs.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod support;

use printed::{Asked, Statement, Verdict, check};
use support::{agreeing, contradicted, sheets};

/// The statements of a rule.
fn of<'a>(all: &'a [Statement], rule: &str) -> Vec<&'a Statement> {
    all.iter().filter(|s| s.rule.id == rule).collect()
}

fn values(all: &[Statement], rule: &str) -> Vec<f64> {
    of(all, rule).into_iter().filter_map(|s| s.computed).collect()
}

#[test]
#[ignore = "needs ../shared"]
fn cap_2_processors_e1_and_e1b() {
    let all = support::processors();
    let bandwidths = values(&all, "memory_bandwidth");
    assert!(bandwidths.iter().zip([51.2, 76.8, 89.6]).all(|(got, known)| (got - known).abs() < 1e-9), "{bandwidths:?}");
    let wrong = [
        "base_frequency_by_core_type of i9-12900k",
        "base_frequency_by_core_type of i9-13900k",
        "within_turbo of hybrid cpu_operating_frequency",
        "within_turbo of symmetric cpu_operating_frequency",
    ];
    assert_eq!(contradicted(&all), wrong);
    // Three bandwidths, and the processor with one type of cores.
    assert_eq!(agreeing(&all), 4);
}

/// On the processor of the next generation, the same frequencies are possible; without one, nobody can say.
#[test]
#[ignore = "needs ../shared"]
fn e1b_is_of_the_processor_that_is_named() {
    let sheets = sheets(&["cpu_specs", "case2_counters"]);
    let turbo = |processor: Option<&str>| {
        let asked = Asked { processor: processor.map(str::to_owned), ..Asked::default() };
        of(&check(&sheets, &asked), "within_turbo").iter().map(|s| s.verdict.clone()).collect::<Vec<_>>()
    };
    assert_eq!(turbo(Some("i9-13900k")), [Verdict::Agrees, Verdict::Agrees]);
    assert!(turbo(None).iter().all(|v| matches!(v, Verdict::CannotTell(_))));
    assert!(turbo(Some("i9-14900k")).iter().all(|v| matches!(v, Verdict::CannotTell(_))));
}

#[test]
#[ignore = "needs ../shared"]
fn e2_priorities_are_no_whole() {
    let all = support::priorities();
    assert_eq!(contradicted(&all), ["priority_parts_of_whole of 5048"]);
    // One digit would close it, but not in one place only.
    let closing = of(&all, "priority_sum_if_one_digit_differs");
    assert!(closing.len() > 1 && closing.iter().any(|s| s.of == "5048: 2.93 of 14 as 6.93"));
}

#[test]
#[ignore = "needs ../shared"]
fn e3_one_thread_is_longer_than_the_trace() {
    let all = support::case_1();
    assert_eq!(contradicted(&all), ["thread_time_is_span of 16832"]);
    assert_eq!(agreeing(&all), 7);
    // By what a stopwatch said of it too.
    let asked = Asked { span_s: Some(30.1), ..Asked::default() };
    assert_eq!(contradicted(&check(&sheets(&["case1_hybrid"]), &asked)), contradicted(&all));
}

#[test]
#[ignore = "needs ../shared"]
fn tables_15_to_18_of_two_systems_raise_nothing() {
    let all = support::two_systems();
    assert_eq!(contradicted(&all), [""; 0]);
    // Ten rows that are the trace's length, four sums of a thread by CPU, two threads' sums in two tables, two CPUs within a thread.
    assert_eq!(agreeing(&all), 10 + 4 + 2 + 1);
}

#[test]
#[ignore = "needs ../shared"]
fn e4_and_e4b_grids_rates_and_clocks() {
    let all = support::core_types();
    let wrong = [
        "grid_cpi of 10540",
        "grid_cpi of 11900",
        "thread_is_in_grid of 13964",
        "thread_is_in_grid of 14092",
        "thread_is_in_grid of 13640",
        "one_clock_of_p of 9496",
        "fitted_is_implied_p_clock of vtune_core_type_grid",
        "fitted_is_implied_e_clock of vtune_core_type_grid",
    ];
    assert_eq!(contradicted(&all), wrong);
    // CPI and top level of 16 rows but two, three threads in the grid, twelve ratios.
    assert_eq!(agreeing(&all), 14 + 16 + 3 + 12);
}

#[test]
#[ignore = "needs ../shared"]
fn cap_30_tables_of_siblings_raise_nothing() {
    let all = support::siblings();
    assert_eq!((contradicted(&all), agreeing(&all)), (vec![], 16));
}

#[test]
#[ignore = "needs ../shared"]
fn cap_31_32_utilisation_and_e17() {
    let all = support::utilisation();
    let runs = ["linuxki_double_busy_other", "linuxki_double_busy_same", "other_node_smt_off", "same_node_smt_off"];
    assert_eq!(contradicted(&all), runs.map(|run| format!("fully_busy of {run}")));
    // 32 pairs and two totals, four means of pairs; 66 rows of CPUs and eight means of theirs.
    assert_eq!(agreeing(&all), 34 + 4 + 66 + 8);
    // A run that is compared with none says nothing of what its CPUs could do.
    let alone = check(&sheets(&["linuxki_cpu"]), &Asked::default());
    assert_eq!(contradicted(&alone), [""; 0]);
    assert_eq!(values(&all, "node_not_cpu_modulo_nodes"), [0.0, 0.0]);
}

#[test]
#[ignore = "needs ../shared"]
fn cap_33_counts_of_smt_on_and_off_and_e15() {
    let all = support::counts();
    let wrong = |run: &str| contradicted(&all).iter().filter(|w| w.contains(run)).count();
    // Of the first intervals, only the CPUs utilized; of the later ones ten ratios and ten rates too.
    let runs = ["other_node_smt_on", "other_node_smt_off", "same_node_smt_on", "same_node_smt_off"].map(wrong);
    assert_eq!((runs, runs.iter().sum::<usize>()), ([1, 1, 11, 11], 24));
    assert_eq!(of(&all, "cpus_utilized").len(), 4);
    let divisors = values(&all, "cpus_utilized_divisor");
    assert!(divisors.len() == 4 && divisors.iter().all(|ms| (ms - 705.03).abs() < 0.02), "{divisors:?}");
    // Without --span nobody says how long the intervals were: one of each run is listed.
    let unsaid = check(&sheets(&["perf_smt_on_off"]), &Asked::default());
    assert!(of(&unsaid, "cpus_utilized").iter().all(|s| matches!(s.verdict, Verdict::CannotTell(_))));
    assert_eq!(contradicted(&unsaid).len(), 20);
}

#[test]
#[ignore = "needs ../shared"]
fn cap_35_two_slow_downs_of_one_program_and_e6() {
    let all = support::contention();
    assert_eq!(contradicted(&all), ["one_slow_down of perf_stat against time"]);
    let gains = values(&all, "throughput_of_two");
    assert!(gains[0] < 1.0 && gains[1] > 1.0, "{gains:?}");
}
