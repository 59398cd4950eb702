//! Rows of `power_over_time` are as long as the steps of the source require.

use crate::support::drawn;
use model::{Span, Value};
use topology::Machine;

/// How often the source is read, ms.
const READ_MS: usize = 100;

/// Draws a source that is read every 100 ms and changes by a step of so many mJ at every n-th reading, without a known time between updates.
fn drawing(seconds: usize, step_mj: u32, every: usize) -> String {
    let (mut cpu, mut energy) = (vec!["A"; seconds * 1000], vec![".".to_owned(); seconds * 1000]);
    cpu.push(".");
    energy.push(".".to_owned());
    for n in 1..=seconds * 1000 / READ_MS {
        let mj = if n % every == 0 { step_mj } else { 0 };
        energy[n * READ_MS] = format!("bat={mj}/{READ_MS}");
    }
    let domain: String = [" bat=battery"].into_iter().chain(vec![" ."; seconds * 1000]).collect();
    format!("cpu0 {}\ndomain{domain}\nenergy {}", cpu.join(" "), energy.join(" "))
}

/// The length (ms), whether it has a figure, and the energy (J) of each row.
fn rows(drawing: &str) -> Vec<(i64, bool, f64)> {
    let mut analysed = drawn(drawing, Machine::default(), |whole: Span| whole);
    let table = analysed.tables.remove("power_over_time").unwrap();
    let col = |name: &str| table.def.col(name).unwrap();
    let int = |value: &Value| if let Value::Int(n) = value { *n } else { panic!("{value:?} is not a time") };
    let row = |row: &Vec<Value>| {
        let joules = if let Value::Float(joules) = row[col("joules")] { Some(joules) } else { None };
        let ms = (int(&row[col("end_ns")]) - int(&row[col("start_ns")])) / 1_000_000;
        (ms, joules.is_some(), joules.unwrap_or(0.0))
    };
    table.rows.iter().map(row).collect()
}

#[test]
fn a_source_in_large_steps_has_long_rows_with_figures_and_none_in_a_short_time() {
    // 12 W in steps of 3.6 J: a step takes 300 ms, which is a thirtieth of 9 s.
    let short = rows(&drawing(5, 3600, 3));
    assert!(short.iter().all(|(_, has_figure, _)| !has_figure), "{short:?}");
    let long = rows(&drawing(30, 3600, 3));
    let with_figure: Vec<_> = long.iter().filter(|(_, has_figure, _)| *has_figure).collect();
    assert!(with_figure.len() >= 2, "{long:?}");
    for (ms, _, joules) in with_figure {
        assert!(*ms >= 9000, "{long:?}");
        assert!((joules / (*ms as f64 * 0.012) - 1.0).abs() < 0.05, "{long:?}");
    }
}

#[test]
fn a_source_in_small_steps_has_rows_of_the_readings_precision() {
    // 12 W, which change at each reading: the change may be 100 ms old.
    let rows = rows(&drawing(10, 1200, 1));
    assert!(rows.iter().all(|(ms, has_figure, _)| *has_figure && *ms >= 3000), "{rows:?}");
    // The last second is too short for a figure of its own.
    assert_eq!(rows.iter().map(|(ms, ..)| *ms).collect::<Vec<_>>(), [3000, 3000, 4000]);
}
