//! Capabilities 24–26 and erratum E4b: the formulas of the tables of counters give the published values.

use crate::support;
use analysis::rates::{TypeMatters, mips, per, relative_ips};
use std::collections::HashMap;
use testkit::figures::{Row, number, table};

/// The expected value and tolerance of an entry of `derived_expected.csv`.
fn expected() -> HashMap<String, (f64, f64)> {
    let rows = table("derived_expected");
    rows.iter().map(|row| (row["id"].clone(), (number(row, "expected"), number(row, "tolerance")))).collect()
}

fn check(id: &str, value: f64, expected: &HashMap<String, (f64, f64)>) {
    let (of, tolerance) = expected[id];
    assert!((value - of).abs() <= tolerance + 1e-9, "{id}: {value}, expected {of}");
}

fn id_of(row: &Row) -> String {
    row["job"].to_lowercase().replace(' ', "_")
}

#[test]
fn cap_24_cycles_per_instruction_over_both_types() {
    let (expected, grid) = (expected(), table("vtune_core_type_grid"));
    for row in &grid {
        let id = &row["pid_or_tid"];
        let cycles = number(row, "p_clockticks") + number(row, "e_clockticks");
        let id = [format!("24.cpi.{id}"), format!("E4.cpi.{id}")].into_iter().find(|id| expected.contains_key(id));
        check(&id.unwrap(), per(cycles, number(row, "instructions")).unwrap(), &expected);
    }
    let render = grid.iter().find(|row| row["pid_or_tid"] == "9496").unwrap();
    let cycles = number(render, "p_clockticks") + number(render, "e_clockticks");
    check("E4b.render", per(cycles, number(render, "cpu_s") * 1e9).unwrap(), &expected);
    assert_eq!(grid.len(), 16);
}

#[test]
fn cap_25_relative_ips_and_its_classes() {
    use TypeMatters::{Little, Much, Slightly};
    let (expected, rates) = (expected(), table("relative_ips"));
    let three_digits: HashMap<String, f64> =
        table("p_cpi_hybrid_vs_symmetric").iter().map(|row| (id_of(row), number(row, "hybrid_p_cpi"))).collect();
    let mut classes = Vec::new();
    for row in &rates {
        let (id, p, e) = (id_of(row), number(row, "p_minstr_per_s"), number(row, "e_minstr_per_s"));
        let ratio = relative_ips(e, p).unwrap();
        check(&format!("25.ratio.{id}"), ratio, &expected);
        assert_eq!(relative_ips(p, p), Some(1.0));
        classes.push(TypeMatters::of(ratio));
        // The rate at the frequency that the document implies, by the formula in the other direction.
        let (mhz, _) = expected[&format!("25.f_p.{id}")];
        assert!((mips(mhz, three_digits[&id]).unwrap() - p).abs() < 0.05, "{id}");
        let (low, high) = (expected["25.f_e_low"].0, expected["25.f_e_high"].0);
        let cpi = number(row, "e_cpi");
        assert!(mips(low, cpi + 0.005).unwrap() < e && e < mips(high, cpi - 0.005).unwrap(), "{id}");
    }
    assert_eq!(classes, [Much, Much, Slightly, Slightly, Little, Little]);
}

#[test]
fn cap_26_two_systems() {
    let expected = expected();
    let rows = table("p_cpi_hybrid_vs_symmetric");
    for row in &rows {
        let ratio = per(number(row, "symmetric_p_cpi"), number(row, "hybrid_p_cpi")).unwrap();
        check(&format!("26.{}", id_of(row)), ratio, &expected);
    }
    assert_eq!(rows.len(), 6);
}

/// A recording in which Render runs on both types with the published rates: the table has the published ratios.
#[test]
fn cap_25_26_from_a_recording() {
    let row = table("relative_ips").into_iter().find(|row| id_of(row) == "render").unwrap();
    let (p, e) = (number(&row, "p_minstr_per_s"), number(&row, "e_minstr_per_s"));
    // In a millisecond; the E core's cycles by its printed CPI.
    let (p_instructions, e_instructions) = ((p * 1e3).round(), (e * 1e3).round());
    let (p_cycles, e_cycles) = ((p_instructions * 0.925).round(), (e_instructions * number(&row, "e_cpi")).round());
    let drawn = format!(
        "cpu0 P0/5200  A . .\ncpu1 E1/3900  . A .\n\
         count . A=cycles:{p_cycles}/1,A=instructions:{p_instructions}/1 A=cycles:{e_cycles}/1@1,A=instructions:{e_instructions}/1@1"
    );
    let analysed = support::drawn(&drawn, testkit::machine(&drawn), |span| span);
    use model::tables::{THREAD_IPC, thread_ipc as of};
    let rows: Vec<_> = analysed.tables[THREAD_IPC.name]
        .rows_of(of::Table)
        .map(|row| {
            (row.get(of::RELATIVE_IPS), row.get(of::EFFECTIVE_MHZ), row.get(of::CPI), row.get(of::DOUBT).is_some())
        })
        .collect();
    let near = |value: Option<f64>, of: f64, by: f64| assert!((value.unwrap() - of).abs() < by, "{value:?} {of}");
    assert_eq!(rows.len(), 2);
    near(rows[0].0, 1.0, 1e-9);
    near(rows[1].0, expected()["25.ratio.render"].0, 1e-4);
    near(rows[0].1, 4820.0, 0.1);
    near(rows[1].2, number(&row, "e_cpi"), 1e-3);
    assert!(rows.iter().all(|row| !row.3));
}
