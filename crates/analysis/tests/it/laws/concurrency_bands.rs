//! The bands of every instant and their sums, which equal the rows of `concurrency`.

use super::support::Analysed;
use super::support::instants::instants;
use model::{CoreType, CpuState};
use proptest::prelude::*;
use std::collections::BTreeMap;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    const COLS: [&str; 7] =
        ["performance", "middle", "efficient", "low_power", "uniform", "second_siblings", "unknown"];
    const TYPES: [CoreType; 5] =
        [CoreType::Performance, CoreType::Middle, CoreType::Efficient, CoreType::LowPower, CoreType::Uniform];
    let mut bands = BTreeMap::<[i64; 7], i64>::new();
    for instant in instants(a) {
        let mut now = [0; 7];
        for core in &instant.cores {
            let of = |state| core.cpus.iter().filter(|c| c.followed && c.state == state).count() as i64;
            let band = TYPES.iter().position(|t| *t == core.core_type).unwrap();
            now[band] += of(CpuState::Busy).min(1);
            now[5] += (of(CpuState::Busy) - 1).max(0);
            now[6] += of(CpuState::Unknown);
        }
        *bands.entry(now).or_default() += instant.ns;
    }
    let cols = COLS.map(|col| a.ints("concurrency_bands", col));
    let durations = a.ints("concurrency_bands", "duration_ns");
    let row = |row: usize| (cols.each_ref().map(|c| c[row]), durations[row]);
    let actual: Vec<_> = (0..durations.len()).map(row).collect();
    prop_assert_eq!(&actual, &bands.into_iter().collect::<Vec<_>>());

    let mut summed = BTreeMap::<(i64, i64), i64>::new();
    for (bands, duration) in actual {
        *summed.entry((bands[..6].iter().sum(), bands[6])).or_default() += duration;
    }
    let [running, unknown, duration] = ["running", "unknown", "duration_ns"].map(|col| a.ints("concurrency", col));
    let concurrency: Vec<_> = running.into_iter().zip(unknown).zip(duration).collect();
    prop_assert_eq!(concurrency, summed.into_iter().collect::<Vec<_>>());
    Ok(())
}
