//! Rules that counts and ratios must pass: for the tables of counters, and for tables that other tools printed.
//!
//! A value that fails is shown with the reason. It is neither corrected nor left out.
//!
//! There is no rule for instructions per cycle alone: no description of a machine has the width of its cores, and fused instructions
//! take one slot together, so a width would not limit them.

/// A ratio or an estimate from counts of less than this share of the time is refused.
pub use model::MIN_COUNTED_SHARE as MIN_RUNNING_SHARE;

/// From this multiple of the nominal power of a processor on, its measured power is doubted.
pub use model::ABOVE_TDP;

/// From this share on, an event counted all the time: perf prints rounded shares, and the first event of a group starts a little later.
pub const ALL_RUNNING: f64 = 0.995;

/// How far a measured frequency may exceed the maximum. Counters and clock are not read at the same instant, the kernel adjusts its clock,
/// and the maximum is nominal.
pub const FREQUENCY_TOLERANCE: f64 = 0.01;

/// From this running time on, a processor that counts has counted a cycle and an instruction, in ns.
const MUST_COUNT_NS: i64 = 10_000;

/// Returns an event without its PMU and modifier: `cycles` for `cpu_core/cycles/u` and `cycles:u`.
#[must_use]
pub fn plain(event: &str) -> &str {
    match event.split_once('/') {
        Some((_, rest)) => rest.split_once('/').map_or(rest, |(name, _)| name),
        None => event.split_once(':').map_or(event, |(name, _)| name),
    }
}

/// Returns the name of another event of the same PMU with the same modifier: `cpu_core/cycles/u` for `cpu_core/instructions/u`.
#[must_use]
pub fn of_same_pmu(event: &str, other: &str) -> Option<String> {
    let name = plain(event);
    let at = event.find(name)?;
    Some(format!("{}{other}{}", event.get(..at)?, event.get(at + name.len()..)?))
}

/// Returns the event of which this one counts a part: all accesses of misses, as perf divides them (util/stat-shadow.c), and the
/// architectural events of Intel.
#[must_use]
pub fn accesses(event: &str) -> Option<String> {
    let all = match plain(event) {
        "branch-misses" => "branches".to_owned(),
        "cache-misses" => "cache-references".to_owned(),
        name if name.eq_ignore_ascii_case("br_misp_retired.all_branches") => {
            name.to_ascii_uppercase().replace("MISP", "INST")
        }
        name if name.eq_ignore_ascii_case("longest_lat_cache.miss") => {
            name.to_ascii_uppercase().replace("MISS", "REFERENCE")
        }
        name => format!("{}-loads", name.strip_suffix("-load-misses")?),
    };
    of_same_pmu(event, &all)
}

/// Returns misses as a share of accesses; more than 1 is impossible for a part of them. `None` without accesses and misses.
#[must_use]
pub fn miss_share(misses: f64, accesses: f64) -> Option<f64> {
    (accesses > 0.0 || misses > 0.0).then(|| misses / accesses)
}

/// Returns the fraction of a printed count, if it has one. Such a count was extrapolated.
#[must_use]
pub fn fraction(count: f64) -> Option<f64> {
    Some(count.fract().abs()).filter(|fraction| *fraction > 0.0)
}

/// Returns whether a mean frequency is above the maximum of the CPUs on which it was measured; both in MHz.
#[must_use]
pub fn is_above_turbo(mhz: f64, max_mhz: f64) -> bool {
    mhz > max_mhz * (1.0 + FREQUENCY_TOLERANCE)
}

/// Returns whether an event of which every running thread causes some is 0, in a time in ns.
#[must_use]
pub fn is_dead(count: i64, counted_ns: i64) -> bool {
    count == 0 && counted_ns >= MUST_COUNT_NS
}

/// Says why a frequency is doubtful.
pub(crate) fn above_turbo(mhz: Option<f64>, max_mhz: Option<f64>) -> Option<String> {
    let (mhz, max) = mhz.zip(max_mhz).filter(|(mhz, max)| is_above_turbo(*mhz, *max))?;
    Some(format!("{mhz:.0} MHz, but the maximum of these CPUs is {max:.0} MHz"))
}

/// Says why a count of misses is doubtful.
pub(crate) fn more_misses(misses: f64, accesses: f64, of: &str) -> Option<String> {
    let share = miss_share(misses, accesses).filter(|share| *share > 1.0)?;
    Some(if share.is_finite() {
        format!("{:.0} % of {of}, of which it should be a part", 100.0 * share)
    } else {
        format!("{of} counted 0, of which it should be a part")
    })
}

/// Says why a count of 0 is doubtful.
pub(crate) fn dead(count: i64, counted_ns: i64) -> Option<String> {
    is_dead(count, counted_ns)
        .then(|| "0 while threads ran: the hypervisor or the firmware may not provide the counter".to_owned())
}

/// Why an event may never have counted.
pub(crate) const NEVER_COUNTED: &str =
    "never counted: the NMI watchdog, another tool or a hypervisor may have taken the counter";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_whole_of_a_part_is_of_the_same_pmu() {
        let pairs = [
            ("branch-misses", "branches"),
            ("cpu_core/LLC-load-misses/u", "cpu_core/LLC-loads/u"),
            ("cache-misses:k", "cache-references:k"),
            ("cpu_atom/BR_MISP_RETIRED.ALL_BRANCHES/", "cpu_atom/BR_INST_RETIRED.ALL_BRANCHES/"),
            ("LONGEST_LAT_CACHE.MISS", "LONGEST_LAT_CACHE.REFERENCE"),
        ];
        for (part, whole) in pairs {
            assert_eq!(accesses(part).unwrap(), whole);
        }
        assert_eq!([accesses("branches"), accesses("L1-dcache-store-misses"), accesses("")], [None, None, None]);
    }

    #[test]
    fn limits_are_not_exceeded_by_what_equals_them() {
        assert!(!is_above_turbo(5050.0, 5000.0) && is_above_turbo(5051.0, 5000.0));
        assert_eq!([more_misses(5.0, 5.0, "loads"), more_misses(0.0, 0.0, "loads")], [None, None]);
        assert_eq!(more_misses(410.65, 100.0, "loads").unwrap(), "411 % of loads, of which it should be a part");
        assert!(more_misses(1.0, 0.0, "loads").unwrap().starts_with("loads counted 0"));
        assert_eq!(
            [dead(0, 9_999).is_some(), dead(0, 10_000).is_some(), dead(1, 10_000).is_some()],
            [false, true, false]
        );
        assert_eq!([fraction(3.0), fraction(2.5)], [None, Some(0.5)]);
    }
}
