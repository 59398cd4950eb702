//! Every row of testdata/figures/derived_expected.csv of capabilities 1–10, 15–26, 30–35, 40–46, 49, 51–53, 55–57, 61, 62, 64–68 and
//! errata E1–E6, E8–E18 is computed by corewise within its tolerance, with the verdict that it lists.

use crate::support::{self, pair, sheets, smt_pairs};
use printed::{Request, Statement, Verdict, check};
use testkit::figures::{self, Row, number};

/// The statements about all printed tables, checked in groups that belong together.
fn everything() -> Vec<Statement> {
    let groups = [
        support::processors(),
        support::priorities(),
        support::two_systems(),
        support::case_1(),
        support::siblings(),
        support::utilisation(),
        support::counts(),
        support::multiplexed(),
        support::contention(),
        support::migration(),
        support::chunks(),
        support::iterations(),
        support::core_types(),
        support::marks(),
        support::power(),
    ];
    groups.concat()
}

/// The table, rule and row that compute an id of the file, and the factor to the file's unit.
fn source(id: &str) -> Option<(String, &'static str, String, f64)> {
    let of = |table: &str, rule, of: &str, scale| Some((table.to_owned(), rule, of.to_owned(), scale));
    let job = |word: &str| {
        let word = word.replace('_', " ");
        word[..1].to_uppercase() + &word[1..]
    };
    let words: Vec<&str> = id.split('.').collect();
    match words[..] {
        ["2", "bw", model] => of("cpu_specs", "memory_bandwidth", model, 1.0),
        ["E2"] => of("boost_residency", "priority_parts_of_whole", "5048", 1.0),
        ["E2", "repair"] => of("boost_residency", "priority_sum_if_one_digit_differs", "5048: 2.93 of 14 as 6.93", 1.0),
        ["15", "sum_cpu"] => of("thread_by_cpu", "cpus_sum_running", "13968", 1.0),
        ["15", "sum_switches"] => of("thread_by_cpu", "cpus_sum_switches", "13968", 1.0),
        ["15", "sum_wait"] => of("thread_by_cpu", "cpus_sum_wait", "13968", 1e3),
        ["15", "max_ready"] => of("thread_by_cpu", "cpus_max_ready", "13968", 1e3),
        ["15", "p_ms"] => of("thread_by_cpu", "running_on_type", "13968 P", 1.0),
        ["15", "e_ms"] => of("thread_by_cpu", "running_on_type", "13968 E", 1.0),
        ["15", "e_share"] => of("thread_by_cpu", "share_on_type", "13968 E", 1.0),
        ["17", "involuntary", system, who] => {
            of(&format!("ready_wait_{system}"), "involuntary_switches", &job(who), 1.0)
        }
        ["17", "max_wait", who] => of("ready_wait_hybrid", "longest_wait", &job(who), 1.0),
        ["17", what, who] => {
            let what = what.strip_suffix("_ms").or(what.strip_suffix("_us")).unwrap_or(what);
            of("ready_wait_hybrid", "change", &format!("{} {what}", job(who)), 1.0)
        }
        ["18", "trace", "case1", tid] => of("case1_hybrid", "thread_time_is_span", tid, 1.0),
        ["18", "trace", system, who] => of(&format!("ready_wait_{system}"), "thread_time_is_span", &job(who), 1.0),
        ["E3"] => of("case1_hybrid", "thread_time_is_span", "16832", 1.0),
        ["24" | "E4", "cpi", tid] => of("vtune_core_type_grid", "grid_cpi", tid, 1.0),
        ["24", "e_clock_share", tid] if !tid.starts_with("workers") => {
            of("vtune_core_type_grid", "clocks_on_e", tid, 1.0)
        }
        ["E4b", "render"] => of("relative_ips", "one_clock_of_p", "9496", 1.0),
        ["E4b", "fit_p"] => of("relative_ips", "fitted_is_implied_p_clock", "vtune_core_type_grid", 1.0),
        ["E4b", "fit_e"] => of("relative_ips", "fitted_is_implied_e_clock", "vtune_core_type_grid", 1.0),
        ["25", "ratio", who] => of("relative_ips", "relative_ips", &job(who), 1.0),
        ["25", "f_p", who] => of("relative_ips", "implied_p_clock", &job(who), 1.0),
        ["25", "f_e_low"] => of("relative_ips", "implied_e_clock_low", "relative_ips", 1.0),
        ["25", "f_e_high"] => of("relative_ips", "implied_e_clock_high", "relative_ips", 1.0),
        ["26", who] => of("p_cpi_hybrid_vs_symmetric", "symmetric_over_hybrid", &job(who), 1.0),
        ["30", "mean_active", system] => siblings("both_active", system),
        ["30", "exactly_one", system] => siblings("one_active", system),
        ["E5", "relative"] => compared_siblings("both_active_reduction"),
        ["E5", "points"] => compared_siblings("both_active_reduction_points"),
        ["E5", "gain_min"] => of("p_cpi_hybrid_vs_symmetric", "least_gain", "p_cpi_hybrid_vs_symmetric", 1.0),
        ["E5", "gain_max"] => of("p_cpi_hybrid_vs_symmetric", "most_gain", "p_cpi_hybrid_vs_symmetric", 1.0),
        ["31", "mean", state] => of("linuxki_double_busy_same", "pair_mean_is_total", state, 1.0),
        ["31", "logical_busy", node] => double_busy("logical_busy", node),
        ["31", "core_busy", node] => double_busy("core_busy", node),
        ["E17", "on", node] => double_busy("fully_busy", node),
        ["E17", "off", run] => of("linuxki_cpu", "fully_busy", run, 1.0),
        ["32", "mean", run, col] => of("linuxki_cpu", "cpu_mean_is_total", &format!("{run} {col}"), 1.0),
        ["32", "nodes", run] => of("linuxki_cpu", "node_not_cpu_modulo_nodes", run, 1.0),
        ["33", "ipc", run] => of("perf_smt_on_off", "ipc", run, 1.0),
        ["33", "core_ipc", run] => of("perf_smt_on_off", "core_ipc", run, 1.0),
        ["33" | "E15", "ratio", run, event] => {
            of("perf_smt_on_off", "ratio_of_own_counts", &format!("{run} {event}"), 1.0)
        }
        ["33" | "E15", "rate", run, event] => {
            of("perf_smt_on_off", "rate_of_own_counts", &format!("{run} {event}"), 1.0)
        }
        ["33", node, event] => of("perf_smt_on_off", "count_ratio", &format!("{} {event}", smt_pair(node)), 1.0),
        ["34", "capacity_at_50", node] => {
            of("perf_smt_on_off", "capacity_with_one_thread_a_core", &smt_pair(node), 1.0)
        }
        ["E15", "cpus", run] => of("perf_smt_on_off", "cpus_utilized", &format!("{run} cpu-clock"), 1.0),
        ["E15", "divisor", run] => of("perf_smt_on_off", "cpus_utilized_divisor", &format!("{run} cpu-clock"), 1.0),
        ["35", "slow", which] => of("smt_contention_times", "slow_down", &format!("time {}", place(which)), 1.0),
        ["35", "throughput"] => of("smt_contention_times", "throughput_of_two", "time", 1.0),
        ["35", "perf_slow"] => of("smt_contention_times", "slow_down", "perf_stat 1", 1.0),
        ["35", "perf_throughput"] => of("smt_contention_times", "throughput_of_two", "perf_stat", 1.0),
        ["E6"] => of("smt_contention_times", "one_slow_down", "perf_stat against time", 1.0),
        ["51", "mixed_p"] => of("migration_bench", "mixed_over_one_type", "p_core_only", 1.0),
        ["51", "mixed_e"] => of("migration_bench", "mixed_over_one_type", "e_core_only", 1.0),
        ["51", what] => {
            let rules = [("e_p", "e_over_p"), ("mean", "mean_of_types"), ("excess", "excess_of_mixed")];
            let rule = rules.into_iter().find(|(id, _)| *id == what).map_or("excess_per_move", |(_, rule)| rule);
            of("migration_bench", rule, "migration_bench", 1.0)
        }
        ["52", "pin_cost"] => of("openmp_chunks", "bound_over_free", "openmp_chunks", 1.0),
        ["52", "best_chunks"] => of("openmp_chunks", "best_chunk_count", "openmp_chunks", 1.0),
        ["52", "too_small"] => of("openmp_chunks", "too_small_chunks", "openmp_chunks", 1.0),
        ["53", "k_static"] => of("openmp_chunks", "speed_ratio_of_static", "openmp_chunks", 1.0),
        ["53", "k_min"] => of("openmp_chunks", "least_speed_ratio", "openmp_chunks", 1.0),
        ["53", "predict", chunks] => of("openmp_chunks", "predicted_time", &format!("dynamic {}", &chunks[1..]), 1.0),
        ["44", what, run] => {
            let rules = [
                ("nominal_ghz", "nominal_frequency", 1.0),
                ("boost", "boost", 1.0),
                ("effective_ghz", "mean_frequency", 1.0),
                ("ipc", "run_ipc", 1.0),
                ("idle_per_wakeup", "idle_per_wakeup", 1.0),
                ("wakeups_per_sync", "wakeups_per_sync_switch", 1.0),
                ("energy_per_ginstr", "energy_per_giga_instructions", 1.0),
                ("uncore_share", "uncore_share_of_energy", 1.0),
            ];
            match rules.into_iter().find(|(id, ..)| *id == what) {
                Some((_, rule, scale)) => of("power_totals", rule, run, scale),
                None => of("power_totals", "idle_state_share", &format!("{run} all"), 1.0),
            }
        }
        ["45", what] => ratio_of_runs(what),
        ["E9"] => of("power_totals", "run_ratio", "w7u/w8u involuntary_per_s", 1.0),
        ["E10", "c7_share"] => of("power_totals", "idle_state_share", "w7u c7", 1.0),
        ["E10", "c7_per_idle"] => of("power_totals", "run_ratio", "w7u/w8u c7_share", 1.0),
        ["E10", "c7_abs"] => of("power_totals", "run_ratio", "w7u/w8u c7_clk", 1.0),
        ["E11", "less_plugged"] => of("power_totals", "run_change", "w8p/w7p energy.package", -1.0),
        ["E11", "less_unplugged"] => of("power_totals", "run_change", "w8u/w7u energy.package", -1.0),
        ["E11", "more_plugged"] => of("power_totals", "run_change", "w7p/w8p energy.package", 1.0),
        ["E11", "more_unplugged"] => of("power_totals", "run_change", "w7u/w8u energy.package", 1.0),
        ["E11", "core_saving"] => of("power_totals", "run_ratio", "w7p/w7u energy.core", 1.0),
        ["E11", "core_power_ratio"] => of("power_totals", "run_ratio", "w7p/w7u power.core", 1.0),
        ["E11", "saving_58"] => of("power_totals", "run_change", "w7u/w7p energy.core", -1.0),
        ["E11", "parent_child", run] => {
            of(&format!("power_functions_{run}"), "caller_over_callee_energy", "wow64cpu.dll", 1.0)
        }
        ["E11", "energy_cover", run] => functions("functions_cover_energy", run, "energy.core"),
        ["46", "ref_cover", run] => functions("functions_cover", run, "ref_cycles"),
        ["46", "preempt_cover", run] => functions("functions_cover", run, "involuntary"),
        ["49", "life_ratio"] => of("battery", "battery_life_ratio", "win7/win8", 1.0),
        ["49", "need"] => of("battery", "hour_of_work_takes", "win7/win8", 1.0),
        ["49", "short"] => of("battery", "hour_of_work_exceeds_battery_life", "win7/win8", 1.0),
        ["E12", "watts", run] => of("power_totals", "package_power", run, 1.0),
        ["E12", "watts_div8", run] => of("power_totals", "package_power_of_likely_unit", &format!("{run} / 8"), 1.0),
        ["E12", "battery_cross"] => of("battery", "one_battery", "win7/win8", 1.0),
        ["E13", "time_cover", run] => of("power_totals", "time_of_cpus_closes", &format!("{run} on 4 CPUs"), 1.0),
        ["E13", "freq" | "freq_claim"] => of("power_totals", "time_factor", "w7u/w7p frequency", 1.0),
        ["E13", "inactive_s"] => of("power_totals", "preempted_time", "w7u", 1.0),
        ["E13", "inactive_plugged_s"] => of("power_totals", "preempted_time", "w7p", 1.0),
        ["E13", "cpi_ratio"] => of("power_totals", "time_factor", "w7p/w8p cycles per instruction", 1.0),
        ["E18"] => of("openmp_chunks", "ideal_at_claimed_ratio", "openmp_chunks 2", 1.0),
        ["E14", "instructions"] => of("topdown_alone", "per_iteration", "topdown_alone instructions", 1.0),
        ["E14", "loads"] => of("core_bound_likely", "per_iteration", "core_bound_likely L1-dcache-loads", 1.0),
        ["24", "visible_cpu"] => of("vtune_core_type_grid", "threads_within_process", "vtune_core_type_grid", 1.0),
        ["E16", "min_running_toplev"] => {
            of("toplev_single_thread", "running_share_is_enough", "elasticsearch smt_on", 1.0)
        }
        ["E16", "itlb"] => {
            of("core_bound_likely", "misses_at_most_accesses", "core_bound_likely iTLB-load-misses", 1.0)
        }
        ["E16", "slots_fraction"] => of("topdown_alone", "count_is_whole", "topdown_alone slots", 1.0),
        ["61", "domain_clock"] => of("frames_markers", "task_clock", "UE4Domain", 1.0),
        ["62", "off_cpu", "domain"] => of("frames_markers", "task_off_cpu", "UE4Domain", 1.0),
        ["62", "off_cpu", _] => of("frames_markers", "task_off_cpu", "FDeferredShadingSceneRenderer_Render", 1.0),
        _ => None,
    }
}

/// Ratios and changes of runs in document 004, and of two of its functions.
fn ratio_of_runs(what: &str) -> Source {
    let of = |rule, of: &str, scale| Some(("power_totals".to_owned(), rule, of.to_owned(), scale));
    let function = |run: &str, rule, of: &str| Some((format!("power_functions_{run}"), rule, of.to_owned(), 1.0));
    let both = "power_functions_w7p/power_functions_w8p";
    match what {
        "smvp_preempt" => function("w7p", "function_ratio", &format!("{both} smvp involuntary")),
        "preempt_count_plugged" => of("run_ratio", "w7p/w8p involuntary", 1.0),
        "preempt_rate_plugged" => of("run_ratio", "w7p/w8p involuntary_per_s", 1.0),
        "preempt_count_unplugged" => of("run_ratio", "w7u/w8u involuntary", 1.0),
        "faster_plugged" => of("run_ratio", "w7p/w8p elapsed", 1.0),
        "faster_unplugged" => of("run_ratio", "w7u/w8u elapsed", 1.0),
        "slowdown_w7" => of("run_ratio", "w7u/w7p elapsed", 1.0),
        "slowdown_w8" => of("run_change", "w8u/w8p elapsed", 1.0),
        "pkg_saving_w7" => of("run_change", "w7u/w7p energy.package", -1.0),
        "core_saving_w8" => of("run_change", "w8u/w8p energy.core", -1.0),
        "pkg_saving_w8" => of("run_change", "w8u/w8p energy.package", -1.0),
        "c6_ratio" => of("run_ratio", "w7p/w8p c6_clk", 1.0),
        "c_state_5x" => function("w7p", "function_ratio", &format!("{both} wow64cpu.dll c3+c6_clk")),
        "c_state_total" => of("run_ratio", "w7p/w8p c3+c6_clk", 1.0),
        "c_state_total_per_idle" => of("run_ratio", "w7p/w8p c3+c6_share", 1.0),
        "w7_c6_share" => function("w7p", "idle_state_share", "wow64cpu.dll c6"),
        "w8_wait_share" => function("w8p", "idle_state_share", "WaitForSingleObjectEx c3+c6"),
        // A tenth of the clocks of a second, in millions.
        "clk_100ms" => of("nominal_frequency", "w7p", 100.0),
        _ => None,
    }
}

/// The sum of the functions of a run, compared with its total.
fn functions(rule: &'static str, run: &str, id: &str) -> Source {
    let table = format!("power_functions_{run}");
    Some((table.clone(), rule, format!("{table}/{run} {id}"), 1.0))
}

type Source = Option<(String, &'static str, String, f64)>;

fn siblings(rule: &'static str, system: &str) -> Source {
    let table = format!("smt_siblings_{system}");
    Some((table.clone(), rule, table, 1.0))
}

fn compared_siblings(rule: &'static str) -> Source {
    Some(("smt_siblings_hybrid".into(), rule, "smt_siblings_hybrid/smt_siblings_8c16t".into(), 1.0))
}

fn double_busy(rule: &'static str, node: &str) -> Source {
    let table = format!("linuxki_double_busy_{node}");
    Some((table.clone(), rule, table, 1.0))
}

fn smt_pair(node: &str) -> String {
    format!("{node}_node_smt_on/{node}_node_smt_off")
}

fn place(name: &str) -> usize {
    usize::from(name.as_bytes()[0] - b'a') + 1
}

/// Rows computed from more than one statement, or from the difference of two figures.
fn combined(id: &str, all: &[Statement]) -> Option<(f64, Verdict)> {
    let of = |table: &str, rule: &str| -> Vec<&Statement> {
        all.iter().filter(|s| s.table == table && s.rule.id == rule).collect()
    };
    let one = |table, rule, name: &str| of(table, rule).into_iter().find(|s| s.of == name);
    let judged = |s: &Statement, value: f64| Some((value, s.verdict.clone()));
    let words: Vec<&str> = id.split('.').collect();
    match words[..] {
        ["E1"] => {
            let bases = of("cpu_specs", "base_frequency_by_core_type");
            let wrong = bases.iter().filter(|s| s.verdict == Verdict::Contradicts).count();
            let is_complete = bases.len() == 3;
            is_complete.then_some((wrong as f64, Verdict::Contradicts))
        }
        ["E8"] => {
            let differ = of("migration_bench", "core_types_differ");
            let swapped = differ.iter().filter(|s| s.verdict == Verdict::Contradicts).count();
            (differ.len() == 1).then_some((swapped as f64, Verdict::Contradicts))
        }
        ["E1b", system] => {
            let s = one("case2_counters", "within_turbo", &format!("{system} cpu_operating_frequency"))?;
            judged(s, s.difference()?)
        }
        ["15", "vs16"] => {
            let s = one("ready_wait_hybrid", "same_thread_same_time", "Render")?;
            (s.of == "Render").then(|| judged(s, s.difference()?.abs()))?
        }
        ["E4", "tid", tid] => {
            let s = one("relative_ips", "thread_is_in_grid", tid)?;
            judged(s, s.difference()?)
        }
        ["24", which @ ("topdown_min" | "topdown_max")] => {
            extreme(&of("vtune_core_type_grid", "top_level_to_whole"), which)
        }
        ["E16", "min_running_perf"] => extreme(&of("perf_smt_on_off", "counted_all_the_time"), "min"),
        ["24", "e_clock_share", which] if which.starts_with("workers") => {
            let shares = of("vtune_core_type_grid", "clocks_on_e");
            // The process and the two threads on P cores come first.
            extreme(&shares[3..], which)
        }
        ["31", which @ ("row_min" | "row_max")] => {
            let rows = of("linuxki_double_busy_same", "pair_states_to_whole");
            let pairs: Vec<&Statement> = rows.into_iter().filter(|s| s.of != "total").collect();
            extreme(&pairs, which)
        }
        _ => None,
    }
}

/// The smallest or largest value of some statements, with its verdict.
fn extreme(all: &[&Statement], which: &str) -> Option<(f64, Verdict)> {
    let by = |a: &&&Statement, b: &&&Statement| a.computed.unwrap().total_cmp(&b.computed.unwrap());
    let one = if which.ends_with("min") { all.iter().min_by(by) } else { all.iter().max_by(by) };
    one.map(|s| (s.computed.unwrap(), s.verdict.clone()))
}

/// Items that other tests verify with tables of traces; each test names its id.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (&["3"], include_str!("../../../analysis/tests/it/cap_moves.rs")),
    (&["40"], include_str!("../../../engine/tests/it/cap_frames.rs")),
    (&["53"], include_str!("../../../makespan/tests/it/cap_chunks.rs")),
    (&["55", "57"], include_str!("../../../analysis/tests/it/cap_critical.rs")),
];

fn elsewhere(id: &str) -> bool {
    let item = id.split('.').next().unwrap();
    let named = format!("agrees(\"{id}\"");
    ELSEWHERE.iter().any(|(items, test)| items.contains(&item) && test.contains(&named))
}

/// The capabilities and errata of which every row must be computed.
const ITEMS: &[&str] = &[
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24",
    "25", "26", "30", "31", "32", "33", "34", "35", "40", "41", "42", "43", "44", "45", "46", "49", "51", "52", "53",
    "55", "56", "57", "61", "62", "64", "65", "66", "67", "68", "E1", "E1b", "E2", "E3", "E4", "E4b", "E5", "E6", "E8",
    "E9", "E10", "E11", "E12", "E13", "E14", "E15", "E16", "E17", "E18",
];

/// The verdict of a claim with the printed value of a row, for a value without a printed counterpart in the tables.
/// The printed value is in the row's unit, of which `scale` makes one of the statement.
fn claimed(all: &[Statement], name: [&str; 3], scale: f64, row: &Row) -> Verdict {
    let [table, rule, of] = name;
    let [printed, tolerance] = ["printed", "printed_tolerance"].map(|col| number(row, col) / scale);
    let text = format!("table,rule,of,claimed,tolerance\n{table},{rule},{of},{printed},{}\n", tolerance.abs());
    let claim = printed::read("claims", &text).unwrap();
    let computed = all.iter().find(|s| s.table == table && s.rule.id == rule && s.of == of).unwrap();
    // The table with the value is read again together with the claim, as for a user.
    if computed.table == "battery" || computed.table.starts_with("power_") {
        let mut sheets = support::power_sheets();
        sheets.push(claim);
        return check(&sheets, &support::power_request()).pop().unwrap().verdict;
    }
    let mut names = vec![computed.table.as_str()];
    let partner = match computed.table.as_str() {
        "smt_siblings_hybrid" => Some("smt_siblings_8c16t"),
        _ => None,
    };
    names.extend(partner);
    let mut sheets = sheets(&names);
    sheets.push(claim);
    let request = Request {
        smt: smt_pairs(),
        span_s: Some(5.0).filter(|_| computed.table == "perf_smt_on_off"),
        compare: vec![pair("smt_siblings_hybrid", "smt_siblings_8c16t")],
        ..Request::default()
    };
    check(&sheets, &request).pop().unwrap().verdict
}

#[test]
fn every_row_of_these_items_is_computed_with_the_expected_verdict() {
    let (rows, all) = (figures::table("derived_expected"), everything());
    let (mut wrong, mut here, mut there, mut listed) = (Vec::new(), 0, 0, 0);
    for row in &rows {
        let id = row["id"].as_str();
        let wanted = ITEMS.contains(&id.split('.').next().unwrap());
        listed += usize::from(wanted);
        if elsewhere(id) {
            there += 1;
            continue;
        }
        let of_source = source(id).and_then(|(table, rule, of, scale)| {
            let s = all.iter().find(|s| s.table == table && s.rule.id == rule && s.of == of)?;
            let status = row["status"].as_str();
            let verdict = match &s.verdict {
                Verdict::NoClaim if status != "no_claim" && !row["printed"].is_empty() => {
                    claimed(&all, [table.as_str(), rule, of.as_str()], scale, row)
                }
                other => other.clone(),
            };
            Some((s.computed? * scale, verdict))
        });
        let Some((value, verdict)) = combined(id, &all).or(of_source) else {
            if wanted {
                wrong.push(format!("{id}: not computed"));
            }
            continue;
        };
        here += 1;
        // Predictions of a model must only meet the printed tolerance (README.md of the tables).
        let [expected, tolerance] = match id.starts_with("53.predict.") {
            true => ["printed", "printed_tolerance"],
            false => ["expected", "tolerance"],
        }
        .map(|col| number(row, col));
        if (value - expected).abs() > tolerance + 1e-9 {
            wrong.push(format!("{id}: {value}, expected {expected}"));
        }
        let judged = match (row["status"].as_str(), &verdict) {
            ("contradicts", verdict) => *verdict == Verdict::Contradicts,
            // The printed text is a direction only, or that rows agree with each other.
            ("agrees", Verdict::NoClaim) => row["printed"].is_empty(),
            ("agrees", verdict) => *verdict == Verdict::Agrees,
            // If the document prints nothing, there must be no contradiction.
            (_, verdict) => *verdict != Verdict::Contradicts,
        };
        if !judged {
            wrong.push(format!("{id}: {verdict:?}, expected {}", row["status"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!(
        "{} rows: {here} by printed tables, {there} by tables of traces; {listed} belong to the items",
        rows.len()
    );
    assert_eq!((rows.len(), listed), (439, 399));
    assert_eq!((here, there), (374, 25));
    for w in support::contradicted(&all) {
        println!("{w}");
    }
}
