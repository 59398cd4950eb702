//! Capabilities 43–46 and 49, and errata E9–E13: the totals, functions and battery lives of document 004. What contradicts itself is found in the
//! figures alone, claims are found wrong, and nothing else is reported. The values are verified in derived_expected.rs.

use crate::support::{self, agreeing, contradicted, power_request, power_sheets, sheets};
use printed::{Request, Statement, Verdict, check, read};
use testkit::figures::{number, table};

fn of<'a>(all: &'a [Statement], rule: &str) -> Vec<&'a Statement> {
    all.iter().filter(|s| s.rule.id == rule).collect()
}

/// E11, E12 and E13: what no claim is needed for.
const WRONG: [&str; 14] = [
    "time_of_cpus_closes of w7p on 4 CPUs",
    "time_of_cpus_closes of w7u on 4 CPUs",
    "time_of_cpus_closes of w8p on 4 CPUs",
    "time_of_cpus_closes of w8u on 4 CPUs",
    "package_power of w7p",
    "package_power of w7u",
    "package_power of w8p",
    "package_power of w8u",
    "implied_capacity of win8/w8u",
    "implied_capacity of win7/w7u",
    "functions_cover_energy of power_functions_w7p/w7p energy.core",
    "functions_cover_energy of power_functions_w7p/w7p energy.package",
    "functions_cover_energy of power_functions_w7u/w7u energy.core",
    "functions_cover_energy of power_functions_w7u/w7u energy.package",
];
const CALLERS: [&str; 2] = ["caller_over_callee_energy of wow64cpu.dll"; 2];

#[test]
fn cap_43_to_46_and_49_and_e11_to_e13_in_the_figures_alone() {
    let all = support::power();
    assert_eq!(contradicted(&all), [&WRONG[..], &CALLERS[..]].concat());
    // 43: the nominal frequency of all runs but the first, and parts of the package's energy. 46: each sum of functions is within its total, in
    // twelve columns of four runs, energy is complete on two of them, callees are within their callers. One battery.
    let callees = 2 + 2 * 2;
    assert_eq!(agreeing(&all), 3 + 4 + 4 * 12 + 2 * 2 + callees + (callees - 2) + 1);
    // E12: 189.5 W on a part of 17 W; an eighth is possible in all runs.
    let watts: Vec<f64> =
        of(&all, "package_power").iter().map(|s| (s.computed.unwrap() * 10.0).round() / 10.0).collect();
    assert_eq!(watts, [189.5, 60.6, 157.3, 137.1]);
    let likely: Vec<&str> = of(&all, "package_power_of_likely_unit").iter().map(|s| s.of.as_str()).collect();
    assert_eq!(likely, ["w7p / 8", "w7u / 8", "w8p / 8", "w8u / 8"]);
}

/// Without the part's nominal power, the battery shows the same: it would hold 252 or 229 Wh.
#[test]
fn e12_without_the_part() {
    let request = Request { tdp_w: None, ..power_request() };
    let all = check(&sheets(&["power_totals", "battery"]), &request);
    assert!(of(&all, "package_power").iter().all(|s| s.verdict == Verdict::NoClaim));
    assert_eq!(contradicted(&all)[4..], WRONG[8..10]);
    // A part of 80 W may use 189.5 W for a while: nothing is doubted, and no unit is looked for.
    let all = check(&sheets(&["power_totals"]), &Request { tdp_w: Some(80.0), ..Request::default() });
    assert_eq!((contradicted(&all).len(), of(&all, "package_power_of_likely_unit").len()), (4, 0));
}

/// E13: the slowdown is the frequency's, as the factors of the time show; of the added time, 2 % was preempted.
#[test]
fn e13_factors_of_the_time() {
    let all = support::power();
    let factor = |pair: &str, name: &str| {
        let of = format!("{pair} {name}");
        all.iter().find(|s| s.rule.id == "time_factor" && s.of == of).unwrap().computed.unwrap()
    };
    for pair in ["w7u/w7p", "w7p/w8p", "w8u/w8p"] {
        let product: f64 = ["instructions", "cycles per instruction", "frequency", "CPUs in use"]
            .map(|f| factor(pair, f))
            .iter()
            .product();
        let elapsed = of(&all, "run_ratio").into_iter().find(|s| s.of == format!("{pair} elapsed")).unwrap();
        assert!((product - elapsed.computed.unwrap()).abs() < 1e-9, "{pair}: {product}");
    }
    let preempted = of(&all, "preempted_share_of_added_time");
    let share = preempted.iter().find(|s| s.of == "w7u/w7p").unwrap().computed.unwrap();
    assert!((share - 2.23).abs() < 0.005, "{share}");
}

/// The claims of document 004 in power_claims.csv are those of derived_expected.csv, and each has the verdict that is listed there.
#[test]
fn claims_e9_to_e13_are_wrong_and_the_others_hold() {
    let mut all = power_sheets();
    all.push(read("power_claims", &testkit::figures::text("power_claims")).unwrap());
    let statements = check(&all, &power_request());
    let claims = of(&statements, "claim");
    let (listed, rows) = (table("power_claims"), table("derived_expected"));
    assert_eq!((claims.len(), listed.len()), (36, 36));
    for (claim, row) in claims.iter().zip(&listed) {
        let source = rows.iter().find(|of| of["id"] == row["id"]).unwrap();
        let same = |a: &str, b: &str| (number(row, a).abs() - number(source, b)).abs() < 1e-9;
        assert!(same("claimed", "printed") && same("tolerance", "printed_tolerance"), "{row:?}");
        let expected = if source["status"] == "contradicts" { Verdict::Contradicts } else { Verdict::Agrees };
        assert_eq!(claim.verdict, expected, "{}: {}", row["id"], claim.of);
    }
    let wrong: Vec<&str> = claims
        .iter()
        .zip(&listed)
        .filter(|(s, _)| s.verdict == Verdict::Contradicts)
        .map(|(_, row)| row["id"].as_str())
        .collect();
    let expected = [
        "44.c_residency.w8p",
        "45.c_state_total",
        "45.c_state_total_per_idle",
        "E9",
        "E10.c7_share",
        "E10.c7_per_idle",
        "E10.c7_abs",
        "E11.less_plugged",
        "E11.less_unplugged",
        "E11.core_saving",
        "E11.saving_58",
        "E13.freq_claim",
    ];
    assert_eq!(wrong, expected);
}
