//! Capabilities 17, 27, 33, 44 and 45, and errata E9 to E13: runs made of printed tables give every value and ratio of
//! testdata/figures/derived_expected.csv within its tolerance, and frequency or CPI as the cause.

use compare::{CompareOptions, METRICS, Matrix, Run, Why, compare, explain, preempted_time, read_printed, smt};
use std::path::PathBuf;
use testkit::figures::{Row, expected, number, table};

/// A run of a table in testdata/figures.
fn run(name: &str) -> Run {
    let (table, run) = name.split_once('#').map_or((name, ""), |(table, run)| (table, run));
    let run = if run.is_empty() { String::new() } else { format!("#{run}") };
    let path = format!("{}/../../testdata/figures/{table}.csv{run}", env!("CARGO_MANIFEST_DIR"));
    let mut runs = read_printed(&PathBuf::from(path)).unwrap().unwrap();
    assert_eq!(runs.len(), 1);
    runs.remove(0).1
}

fn power(which: &str) -> Run {
    run(&format!("power_totals#{which}"))
}

fn perf(which: &str) -> Run {
    run(&format!("perf_smt_on_off#{which}"))
}

/// `render` of `17.switches.render` is the row `Render`, `worker_1` is `Worker 1`.
fn job(word: &str) -> String {
    let word = word.replace('_', " ");
    word[..1].to_uppercase() + &word[1..]
}

/// A value in the unit of the expected file.
fn change(a: f64, b: f64) -> f64 {
    100.0 * (b / a - 1.0)
}

/// Checks all rows with a prefix; `value` must know every one of them.
fn check(prefix: &str, count: usize, value: impl Fn(&[&str]) -> Option<f64>) {
    let rows = expected(prefix);
    assert_eq!(rows.len(), count, "{prefix}");
    let mut wrong = Vec::new();
    for (id, wanted, tolerance) in rows {
        match value(&id.split('.').collect::<Vec<_>>()) {
            Some(got) if (got - wanted).abs() <= tolerance + 1e-9 => {}
            got => wrong.push(format!("{prefix}{id}: {got:?}, not {wanted} ± {tolerance}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cap_17_every_thread_of_both_systems() {
    let (symmetric, hybrid) = (run("ready_wait_symmetric"), run("ready_wait_hybrid"));
    let change = |id: &str, who: &str| {
        let of = |run: &Run| run.rows[&job(who)][id];
        Some(change(of(&symmetric), of(&hybrid)))
    };
    check("17.", 33, |id| match id {
        ["switches", who] => change("switches", who),
        ["ready_ms", who] => change("ready_ns", who),
        ["wait_ms", who] => change("blocked_ns", who),
        ["max_ready_us", who] => change("max_ready_ns", who),
        ["max_wait", who] => Some(hybrid.rows[&job(who)]["max_blocked_ns"] / 1e6),
        ["involuntary", "symmetric", who] => Some(symmetric.rows[&job(who)]["involuntary"]),
        ["involuntary", "hybrid", who] => Some(hybrid.rows[&job(who)]["involuntary"]),
        _ => None,
    });
    // The source is silent about the workers: their ready time doubles or triples, and their longest wait is 70 to 81 % longer.
    for (who, ready, wait) in [("worker_1", 103.1, 80.5), ("worker_2", 200.3, 70.1), ("worker_3", 178.4, 81.2)] {
        assert!((change("ready_ns", who).unwrap() - ready).abs() < 0.06);
        assert!((change("max_blocked_ns", who).unwrap() - wait).abs() < 0.06);
    }
    assert_eq!(hybrid.rows.len(), 5);
    assert!(hybrid.values.is_empty() && hybrid.format == "ready_wait");
}

/// The figures are read by another reader too: cells as printed.
#[test]
fn the_values_are_those_of_the_cells() {
    for row in table("ready_wait_hybrid") {
        let run = run("ready_wait_hybrid");
        let of = &run.rows[&row["job"]];
        let ns = |col: &str, factor: f64| (number(&row, col) * factor).round();
        assert_eq!(of["running_ns"].round(), ns("cpu_ms", 1e6));
        assert_eq!(of["max_blocked_ns"].round(), ns("max_wait_us", 1e3));
        assert_eq!(of["voluntary"], number(&row, "count_waits"));
    }
    let counted = |row: &&Row| row["status"] == "counted" && row["event"] != "cpu-clock";
    for row in table("perf_smt_on_off").iter().filter(counted) {
        assert_eq!(perf(&row["run"]).values[&row["event"]], number(row, "value"), "{row:?}");
    }
}

#[test]
fn cap_27_counters_of_two_systems() {
    let (hybrid, symmetric) = (run("case2_counters#hybrid"), run("case2_counters#symmetric"));
    let ratio = |id: &str| hybrid.values[id] / symmetric.values[id];
    assert!((ratio("tma_l3_bound") - 2.07).abs() < 0.005 && (ratio("cpi") - 1.497).abs() < 0.0005);
    assert!((hybrid.values["frequency"] - 5.2460e6).abs() < 1.0);
}

#[test]
fn cap_33_smt_on_and_off() {
    let misses = |event: &str| (event.ends_with("-misses")).then(|| format!("{event}.share"));
    check("33.", 60, |id| match id {
        ["other" | "same", event] => {
            let of = |smt: &str| perf(&format!("{}_node_smt_{smt}", id[0])).values[*event];
            Some(of("on") / of("off"))
        }
        ["ipc", run] | ["ratio", run, "instructions"] => Some(perf(run).values["ipc"]),
        ["core_ipc", run] => {
            let (on, off) = (run.replace("_off", "_on"), run.replace("_on", "_off"));
            let both = smt(&[&perf(&off)], &[&perf(&on)], [1, 2]).unwrap();
            Some(both.core_ipc[usize::from(run.ends_with("_on"))])
        }
        ["ratio", run, "cycles"] => Some(perf(run).values["frequency"] / 1e6),
        ["ratio", run, event] => Some(100.0 * perf(run).values[&misses(event)?]),
        ["rate", run, event] => {
            let (run, rows) = (perf(run), table("perf_smt_on_off"));
            let row = rows.iter().find(|row| row["run"] == id[1] && row["event"] == *event).unwrap();
            let per_ms = run.values[*event] / (run.values["cpu_ns"] / 1e6);
            Some(if row["printed_ratio_unit"] == "million_per_s" { per_ms / 1e3 } else { per_ms })
        }
        _ => None,
    });
    // E15: the ratios that contradict the printed ones.
    check("E15.ratio.", 10, |id| match id {
        [run, "instructions"] => Some(perf(run).values["ipc"]),
        [run, "cycles"] => Some(perf(run).values["frequency"] / 1e6),
        [run, event] => Some(100.0 * perf(run).values[&misses(event)?]),
        _ => None,
    });
}

#[test]
fn cap_33_smt_in_one_line() {
    let of = smt(&[&perf("other_node_smt_off")], &[&perf("other_node_smt_on")], [1, 2]).unwrap();
    assert_eq!(
        of.line,
        "1.331 × the instructions in 1.969 × the cycles, which each SMT sibling counts for itself: instructions per cycle of a \
         core 1.54 → 2.08"
    );
    // Counts were extrapolated from 31 to 60 % of the time, which is said.
    let lacks = perf("other_node_smt_on").lacks;
    assert!(lacks[0].contains("counted for only 31 to 39 % of the time"), "{lacks:?}");
    assert!((perf("same_node_smt_off").values["running_share"] - 0.2286).abs() < 1e-9);
    // Without the elapsed time, the CPU time is explained: twice the CPUs, for 1.331 × the instructions.
    let why = explain(&[&perf("other_node_smt_off")], &[&perf("other_node_smt_on")]).unwrap();
    assert_eq!(
        why.line.unwrap(),
        "2.003 × the CPU time: CPI 0.65 → 0.96 explains 1.479 ×; instructions 576.3 → 767.1 G (1.331 ×), frequency 2.34 → 2.30 \
         GHz (1.017 ×)"
    );
}

#[test]
fn cap_44_derived_values_of_each_run() {
    check("44.", 36, |id| {
        let [what, run] = id else { return None };
        let run = power(run);
        let of = |id: &str| run.values[id];
        Some(match *what {
            "nominal_ghz" => of("nominal_frequency") / 1e6,
            "boost" => of("boost"),
            "effective_ghz" => of("frequency") / 1e6,
            "ipc" => of("ipc"),
            "c_residency" => 100.0 * of("c_state_share"),
            "idle_per_wakeup" => of("idle_per_wakeup_clk"),
            "wakeups_per_sync" => of("wakeups_per_wait"),
            "energy_per_ginstr" => of("energy.per_giga_instructions"),
            "uncore_share" => 100.0 * of("energy.uncore_share"),
            _ => return None,
        })
    });
}

#[test]
fn cap_45_ratios_of_runs_and_functions() {
    let ratio = |over: &str, under: &str, id: &str| power(over).values[id] / power(under).values[id];
    let function = |run: &str, name: &str, id: &str| self::run(&format!("power_functions_{run}")).rows[name][id];
    let light_c_states = |run: &str| power(run).values["c3_clk"] + power(run).values["c6_clk"];
    let saving = |run: &str, id: &str| 100.0 * (1.0 - ratio(&format!("{run}u"), &format!("{run}p"), id));
    check("45.", 18, |id| {
        Some(match *id.first()? {
            "smvp_preempt" => function("w7p", "smvp", "involuntary") / function("w8p", "smvp", "involuntary"),
            "preempt_count_plugged" => ratio("w7p", "w8p", "involuntary"),
            "preempt_rate_plugged" => ratio("w7p", "w8p", "involuntary_per_s"),
            "preempt_count_unplugged" => ratio("w7u", "w8u", "involuntary"),
            "faster_plugged" => ratio("w7p", "w8p", "elapsed"),
            "faster_unplugged" => ratio("w7u", "w8u", "elapsed"),
            "slowdown_w7" => ratio("w7u", "w7p", "elapsed"),
            "slowdown_w8" => 100.0 * (ratio("w8u", "w8p", "elapsed") - 1.0),
            "pkg_saving_w7" => saving("w7", "energy.package"),
            "core_saving_w8" => saving("w8", "energy.core"),
            "pkg_saving_w8" => saving("w8", "energy.package"),
            "c6_ratio" => ratio("w7p", "w8p", "c6_clk"),
            "c_state_5x" => {
                let of = |run| function(run, "wow64cpu.dll", "c3_clk") + function(run, "wow64cpu.dll", "c6_clk");
                of("w7p") / of("w8p")
            }
            "c_state_total" => light_c_states("w7p") / light_c_states("w8p"),
            "c_state_total_per_idle" => light_c_states("w7p") / light_c_states("w8p") / ratio("w7p", "w8p", "idle_clk"),
            "w7_c6_share" => 100.0 * function("w7p", "wow64cpu.dll", "c6_share"),
            "w8_wait_share" => 100.0 * function("w8p", "WaitForSingleObjectEx", "c_state_share"),
            "clk_100ms" => power("w7p").values["nominal_frequency"] * 100.0 / 1e6,
            _ => return None,
        })
    });
    // E9: 379 is the ratio of counts; by time it is 130.
    check("E9", 1, |_| Some(ratio("w7u", "w8u", "involuntary_per_s")));
    // E10: C7 alone, not C3 and C7.
    let c7_of_idle = |run: &str| power(run).values["c7_clk"] / power(run).values["idle_clk"];
    check("E10.", 3, |id| {
        Some(match *id.first()? {
            "c7_share" => 100.0 * c7_of_idle("w7u"),
            "c7_per_idle" => c7_of_idle("w7u") / c7_of_idle("w8u"),
            "c7_abs" => ratio("w7u", "w8u", "c7_clk"),
            _ => return None,
        })
    });
    // E11: 30 % more is not 30 % less.
    for (which, seven, eight) in [("plugged", "w7p", "w8p"), ("unplugged", "w7u", "w8u")] {
        check(&format!("E11.less_{which}"), 1, |_| Some(-change(1.0, ratio(eight, seven, "energy.package"))));
        check(&format!("E11.more_{which}"), 1, |_| Some(change(1.0, ratio(seven, eight, "energy.package"))));
    }
    check("E11.saving_58", 1, |_| Some(saving("w7", "energy.core")));
    // E12 and E13: the power in the printed unit, and how much of the CPUs' time the table accounts for.
    check("E12.watts.", 4, |id| Some(power(id[0]).values["power.package"]));
    check("E13.time_cover.", 4, |id| {
        let of = |what: &str| power(id[0]).values[what];
        Some(100.0 * (of("cpu_ns") + of("idle_ns")) / (4.0 * of("elapsed")))
    });
    check("E11.core_", 2, |id| match id {
        ["saving"] => Some(ratio("w7p", "w7u", "energy.core")),
        ["power_ratio"] => Some(ratio("w7p", "w7u", "energy.core") / ratio("w7p", "w7u", "elapsed")),
        _ => None,
    });
}

#[test]
fn all_values_of_known_tables_are_declared() {
    let tables = [power("w7p"), run("case2_counters#hybrid"), run("ready_wait_hybrid"), run("power_functions_w7p")];
    for run in &tables {
        for id in run.values.keys().chain(run.rows.values().flat_map(|row| row.keys())) {
            assert!(METRICS.iter().any(|def| def.id == id), "{id} is not declared");
        }
    }
}

/// All pieces sum to the change, and the factors' product is its ratio.
fn consistent(why: &Why) {
    let sum: f64 = why.pieces.iter().map(|piece| piece.ns).sum();
    let change = why.means[1] - why.means[0];
    assert!((sum - change).abs() <= 1e-9 * why.means[0], "{sum}, not {change}");
}

fn piece(why: &Why, cause: &str) -> f64 {
    why.pieces.iter().find(|piece| piece.cause == cause).unwrap().ns
}

/// E13: Windows 7 unplugged is 2.961 × slower, and the lower frequency alone would be 2.998 ×.
#[test]
fn e13_frequency_explains_the_slowdown() {
    let (plugged, unplugged) = (power("w7p"), power("w7u"));
    let why = explain(&[&plugged], &[&unplugged]).unwrap();
    consistent(&why);
    assert_eq!(
        why.line.as_deref().unwrap(),
        "2.961 × slower: frequency 2.41 → 0.80 GHz explains 2.998 ×; CPI 1.05 → 0.99 (0.939 ×), CPUs in use 2.82 → 2.68 (1.050 ×)"
    );
    let frequency = plugged.values["frequency"] / unplugged.values["frequency"];
    check("E13.freq", 2, |_| Some(frequency));
    // In the split by logarithmic means, the frequency has 101 % of the change.
    assert_eq!(why.pieces[0].cause, "frequency");
    assert!((piece(&why, "frequency") / (why.means[1] - why.means[0]) - 1.0117).abs() < 0.0005);
    // The scheduler cannot: threads were preempted for 3.5 s of 209 s.
    let seconds = |run: &Run| run.values["preempted_ns"] / 1e9;
    check("E13.inactive", 2, |id| Some(seconds(if id == ["_s"] { &unplugged } else { &plugged })));
    assert_eq!(
        preempted_time(&[&plugged], &[&unplugged]).unwrap(),
        "threads were preempted for 0.42 → 3.50 s, of 74.12 → 209.1 s of CPU time"
    );
}

/// What counters say is in the comparison of printed tables: whole cores if the user says that the sides differ in SMT, and preempted time.
#[test]
fn comparisons_of_printed_counters_say_what_these_show() {
    let counted = |a: Run, b: Run, siblings| {
        let options = CompareOptions { siblings, across: true, ..CompareOptions::default() };
        compare([&[a], &[b]], &options).unwrap().counted
    };
    let smt = |siblings| counted(perf("other_node_smt_off"), perf("other_node_smt_on"), siblings);
    assert!(smt([1, 1]).is_empty());
    let of = smt([1, 2]);
    assert!(of.len() == 1 && of[0].contains("instructions per cycle of a core"), "{of:?}");
    assert_eq!(
        counted(power("w7p"), power("w7u"), [1, 1]),
        ["threads were preempted for 0.42 → 3.50 s, of 74.12 → 209.1 s of CPU time"]
    );
}

/// E13: plugged in, Windows 8 is 8 % faster, and CPI is all of it: the same frequency, and 0.1 % fewer instructions.
#[test]
fn e13_cpi_explains_the_gain() {
    let (w7, w8) = (power("w7p"), power("w8p"));
    let why = explain(&[&w7], &[&w8]).unwrap();
    consistent(&why);
    assert_eq!(why.line.as_deref().unwrap(), "1.080 × faster: CPI 1.05 → 0.97 explains 1.081 ×");
    check("E13.cpi_ratio", 1, |_| Some(w7.values["cpi"] / w8.values["cpi"]));
    assert!((w7.values["cpi"] - 1.0507).abs() < 5e-5 && (w8.values["cpi"] - 0.9722).abs() < 5e-5);
    assert!(piece(&why, "cpi") < -0.99 * 1.957e9);
    assert!(piece(&why, "frequency").abs() < 0.005e9 && piece(&why, "work").abs() < 0.03e9);
}

/// The same run on both sides has no change, and no pieces but zeros; a run without counters has no explanation.
#[test]
fn no_change_is_explained_by_nothing() {
    let run = power("w8u");
    let why = explain(&[&run, &run], &[&run]).unwrap();
    assert!(why.pieces.iter().all(|piece| piece.ns == 0.0));
    assert_eq!(why.line.unwrap(), "no change of more than 0.5 %");
    assert!(explain(&[&run], &[&Run::default()]).is_none());
}

/// Capability 50: the four-way matrix of switches, energy, idle residency and time, as text and as a page.
#[test]
fn cap_50_four_sides_side_by_side() {
    let runs = ["w7p", "w7u", "w8p", "w8u"].map(power).to_vec();
    let matrix = Matrix::new(runs, &["os".to_owned(), "power".to_owned()], Vec::new()).unwrap();
    let text = matrix.text(100);
    let lines: Vec<String> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        "Switches of the program",
        "w7u 1 212 131 47 789",
        "w8p 1 135 788 96",
        "Energy while it ran",
        "w7p 1 3940.08 1045.95",
        "Idle residency",
        // C3 and C7 together are 25.4 %.
        "w7u 1 4.9 0.0 20.6",
        "Time split of the program's threads",
        "w7u 1 209115.0 3499.9 208967.8",
    ] {
        assert!(lines.iter().any(|of| of == line), "{line}:\n{text}");
    }
    let page = matrix.html();
    let document = roxmltree::Document::parse(&page[page.find("<html").unwrap()..]).unwrap();
    let captions = document.descendants().filter(|node| node.has_tag_name("figcaption")).count();
    assert_eq!(captions, 5);
    // A side with less has a shorter bar.
    assert!(page.contains("<text class=\"value\" x=\"100%\" y=\"13\">4986.03 J</text>"), "{page}");
}
