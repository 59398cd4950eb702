//! Core time is known or unknown; the used part of a core with a busy CPU is at least 1/1.3.

use super::support::Analysed;
use model::Value;
use proptest::prelude::*;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let [cores, cpus, known, unknown, used] =
        ["cores", "cpus", "known_ns", "unknown_ns", "used_ns"].map(|col| a.ints("smt_utilisation", col));
    let table = &a.tables["smt_utilisation"];
    for row in 0..table.rows.len() {
        prop_assert_eq!(known[row] + unknown[row], cores[row] * a.span.len().0);
        let share = |col| match &table.rows[row][table.def.col(col).unwrap()] {
            Value::Float(v) => Some(*v),
            _ => None,
        };
        prop_assert_eq!(share("used_share").is_some(), known[row] > 0);
        let (Some(busy), Some(share), Some(rest)) = (share("busy_share"), share("used_share"), share("headroom_share"))
        else {
            continue;
        };
        prop_assert!((share + rest - 1.0).abs() < 1e-9);
        prop_assert!((share * known[row] as f64 - used[row] as f64).abs() < 1.0);
        prop_assert!((-1e-9..=1.0 + 1e-9).contains(&share));
        // Cores of one CPU have no gain: there the two are equal.
        prop_assert!(cores[row] != cpus[row] || (share - busy).abs() < 1e-9);
    }
    let busy: i64 = ["one_busy_ns", "many_busy_ns"].iter().flat_map(|col| a.ints("smt_cores", col)).sum();
    let idle: i64 = a.ints("smt_cores", "idle_ns").iter().sum();
    prop_assert_eq!(known.iter().sum::<i64>(), idle + busy);
    let (used, rounding) = (used.iter().sum::<i64>() as f64, used.len() as f64);
    prop_assert!((busy as f64 / 1.3 - rounding..=busy as f64 + rounding).contains(&used));
    Ok(())
}
