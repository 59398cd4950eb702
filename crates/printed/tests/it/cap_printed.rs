//! Capabilities 2, 32, 33, 35 and 51–53, and errata E1–E4, E6, E8 and E14–E18: contradictions in printed tables are found, and nothing else is
//! reported. The values are verified in derived_expected.rs.

use crate::support::{self, agreeing, contradicted, sheets};
use printed::{Request, Statement, Verdict, check};

/// The statements of a rule.
fn of<'a>(all: &'a [Statement], rule: &str) -> Vec<&'a Statement> {
    all.iter().filter(|s| s.rule.id == rule).collect()
}

fn values(all: &[Statement], rule: &str) -> Vec<f64> {
    of(all, rule).into_iter().filter_map(|s| s.computed).collect()
}

#[test]
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
    // Three bandwidths, and the processor with a single core type.
    assert_eq!(agreeing(&all), 4);
}

/// The processor of the next generation allows the same frequencies; without a processor, the result is unknown.
#[test]
fn e1b_depends_on_the_named_processor() {
    let sheets = sheets(&["cpu_specs", "case2_counters"]);
    let turbo = |processor: Option<&str>| {
        let request = Request { processor: processor.map(str::to_owned), ..Request::default() };
        of(&check(&sheets, &request), "within_turbo").iter().map(|s| s.verdict.clone()).collect::<Vec<_>>()
    };
    assert_eq!(turbo(Some("i9-13900k")), [Verdict::Agrees, Verdict::Agrees]);
    assert!(turbo(None).iter().all(|v| matches!(v, Verdict::NotEvaluated(_))));
    assert!(turbo(Some("i9-14900k")).iter().all(|v| matches!(v, Verdict::NotEvaluated(_))));
}

#[test]
fn e2_priorities_do_not_sum_to_the_whole() {
    let all = support::priorities();
    assert_eq!(contradicted(&all), ["priority_parts_of_whole of 5048"]);
    // One changed digit would fix the sum, but in more than one place.
    let fixes = of(&all, "priority_sum_if_one_digit_differs");
    assert!(fixes.len() > 1 && fixes.iter().any(|s| s.of == "5048: 2.93 of 14 as 6.93"));
}

#[test]
fn e3_one_thread_is_longer_than_the_trace() {
    let all = support::case_1();
    assert_eq!(contradicted(&all), ["thread_time_is_span of 16832"]);
    assert_eq!(agreeing(&all), 7);
    // Also with a given length.
    let request = Request { span_s: Some(30.1), ..Request::default() };
    assert_eq!(contradicted(&check(&sheets(&["case1_hybrid"]), &request)), contradicted(&all));
}

#[test]
fn tables_15_to_18_of_two_systems_have_no_contradictions() {
    let all = support::two_systems();
    assert_eq!(contradicted(&all), [""; 0]);
    // Ten rows with the trace's length, four sums of a thread by CPU, two threads' sums in two tables, two CPUs within a thread.
    assert_eq!(agreeing(&all), 10 + 4 + 2 + 1);
}

#[test]
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
    // CPI and top level of 16 rows except two, the process and its threads, three threads in the grid, twelve ratios.
    assert_eq!(agreeing(&all), 14 + 16 + 1 + 3 + 12);
}

#[test]
fn cap_30_tables_of_siblings_have_no_contradictions() {
    let all = support::siblings();
    assert_eq!((contradicted(&all), agreeing(&all)), (vec![], 16));
}

#[test]
fn cap_31_32_utilisation_and_e17() {
    let all = support::utilisation();
    let runs = ["linuxki_double_busy_other", "linuxki_double_busy_same", "other_node_smt_off", "same_node_smt_off"];
    assert_eq!(contradicted(&all), runs.map(|run| format!("fully_busy of {run}")));
    // 32 pairs and two totals, four means of pairs; 66 rows of CPUs and eight means of these.
    assert_eq!(agreeing(&all), 34 + 4 + 66 + 8);
    // A run that is not compared shows nothing about the capacity of its CPUs.
    let alone = check(&sheets(&["linuxki_cpu"]), &Request::default());
    assert_eq!(contradicted(&alone), [""; 0]);
    assert_eq!(values(&all, "node_not_cpu_modulo_nodes"), [0.0, 0.0]);
}

#[test]
fn cap_33_counts_of_smt_on_and_off_and_e15() {
    let all = support::counts();
    let wrong = |run: &str| contradicted(&all).iter().filter(|w| w.contains(run)).count();
    // In the first intervals only the CPUs utilized and the multiplexed counts (E16); in the later ones also ten ratios and ten rates.
    let runs = ["other_node_smt_on", "other_node_smt_off", "same_node_smt_on", "same_node_smt_off"].map(wrong);
    assert_eq!((runs, runs.iter().sum::<usize>()), ([2, 2, 12, 12], 28));
    assert_eq!(of(&all, "cpus_utilized").len(), 4);
    let divisors = values(&all, "cpus_utilized_divisor");
    assert!(divisors.len() == 4 && divisors.iter().all(|ms| (ms - 705.03).abs() < 0.02), "{divisors:?}");
    // Without --span, the length of the intervals is unknown: one of each run is listed.
    let without_span = check(&sheets(&["perf_smt_on_off"]), &Request::default());
    assert!(of(&without_span, "cpus_utilized").iter().all(|s| matches!(s.verdict, Verdict::NotEvaluated(_))));
    assert_eq!(contradicted(&without_span).len(), 24);
}

#[test]
fn cap_36_37_multiplexed_counts_and_e16() {
    let wrong = [
        "running_share_is_enough of elasticsearch smt_on",
        "counted_all_the_time of core_bound_likely",
        "misses_at_most_accesses of core_bound_likely iTLB-load-misses",
        "count_is_whole of topdown_alone slots",
    ];
    let all = support::multiplexed();
    assert_eq!(contradicted(&all), wrong);
    // Two other runs of toplev; the misses of three caches.
    assert_eq!(agreeing(&all), 2 + 3);
}

#[test]
fn cap_35_two_slow_downs_of_one_program_and_e6() {
    let all = support::contention();
    assert_eq!(contradicted(&all), ["one_slow_down of perf_stat against time"]);
    // Probably another machine: the tools' CPUs differ.
    assert!(matches!(of(&all, "same_cpus")[0].verdict, Verdict::NotEvaluated(_)));
    let gains = values(&all, "throughput_of_two");
    assert!(gains[0] < 1.0 && gains[1] > 1.0, "{gains:?}");
}

#[test]
fn cap_51_forced_moves_and_e8() {
    let all = support::migration();
    assert_eq!(contradicted(&all), ["core_types_differ of migration_bench"]);
    // What the table cannot show: the types were named rightly, what the call costs, and how much runs differ.
    let unknown = all.iter().filter(|s| matches!(s.verdict, Verdict::NotEvaluated(_))).map(|s| s.rule.id);
    assert_eq!(unknown.collect::<Vec<_>>(), ["core_types_verified", "move_has_control", "modes_have_spread"]);
    let (ratios, move_us) = (values(&all, "mixed_over_one_type"), values(&all, "excess_per_move"));
    assert!((ratios[0] - 1.540).abs() < 5e-4 && (move_us[0] - 3.826).abs() < 5e-4, "{ratios:?} {move_us:?}");
}

#[test]
fn cap_52_53_chunks_of_a_loop_and_e18() {
    let all = support::chunks();
    let wrong = ["ideal_at_claimed_ratio of openmp_chunks 2", "claim of speed_ratio_of_static of openmp_chunks"];
    assert_eq!(contradicted(&all), wrong);
    // Dynamic 4, 16 and 128, predicted from the two static times.
    let predicted: Vec<&str> = of(&all, "predicted_time").iter().map(|s| s.of.as_str()).collect();
    assert_eq!((predicted, agreeing(&all)), (vec!["dynamic 4", "dynamic 16", "dynamic 128"], 3));
    assert_eq!(values(&all, "fast_cores"), [2.0]);
    let worst = values(&all, "fitted_worst_difference");
    assert!(worst[0] < 1.5 && values(&all, "fitted_time").len() == 6, "{worst:?}");
    assert_eq!((values(&all, "best_chunk_count"), values(&all, "fitted_best_chunk_count")), (vec![128.0], vec![128.0]));
    assert!(matches!(of(&all, "spread_is_known")[0].verdict, Verdict::NotEvaluated(_)));
    // Without the claim, nothing contradicts the table.
    assert_eq!(contradicted(&check(&sheets(&["openmp_chunks"]), &Request::default())), [""; 0]);
}

#[test]
fn e14_the_loop_had_its_iterations() {
    let all = support::iterations();
    let each = of(&all, "per_iteration");
    assert!(each.iter().all(|s| s.verdict == Verdict::Agrees) && each.len() == 3, "{each:?}");
    // One instruction more in every tenth iteration shows.
    let text = "run,event,value,unit,printed_ratio,printed_ratio_unit,iterations\nr,instructions,4310,count,,,100\n";
    assert_eq!(
        contradicted(&check(&[printed::read("r", text).unwrap()], &Request::default())),
        ["per_iteration of r instructions"]
    );
}
