//! Sum of running × duration = busy; sum of unknown × duration = unknown; the durations tile the span.

use super::support::Analysed;
use model::{CpuState, Ns};
use proptest::prelude::*;

pub fn holds(a: &Analysed) -> Result<(), TestCaseError> {
    let followed = |cpu| a.totals.cpus.iter().any(|c| c.cpu == cpu && c.followed);
    let time = |state| -> i64 {
        let of = a.cpus.iter().filter(|s| s.state == state && followed(s.cpu));
        of.filter_map(|s| s.span.overlap(a.span)).map(|s| s.len()).sum::<Ns>().0
    };
    let durations = a.ints("concurrency", "duration_ns");
    let weighed = |col| -> i64 { a.ints("concurrency", col).iter().zip(&durations).map(|(n, d)| n * d).sum() };
    prop_assert_eq!(weighed("running"), time(CpuState::Busy));
    prop_assert_eq!(weighed("unknown"), time(CpuState::Unknown));
    prop_assert_eq!(durations.iter().sum::<i64>(), a.span.len().0);
    Ok(())
}
