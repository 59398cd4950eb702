//! Rules on counts for which the running share is known, and on counts that cannot be what they are called.

use crate::{Figure, Rule, StatementSink};
use analysis::plausible::{ALL_RUNNING, MIN_RUNNING_SHARE, fraction, miss_share, plain};

/// The smallest running share with which counts are used.
const MIN_SHARE: Rule = Rule {
    id: "running_share_is_enough",
    unit: "%",
    formula: "the smallest share of the time for which an event counted is at least 5 %; values from less are refused",
};
const EXACT: Rule = Rule {
    id: "counted_all_the_time",
    unit: "%",
    formula: "counts that are printed without an error were counted for 100 % of the time; events of a core type's PMU, for the time \
              on that type",
};
const WHOLE: Rule = Rule {
    id: "count_is_whole",
    unit: "count",
    formula: "the fraction of a count is 0; otherwise it was extrapolated",
};
const MISSES: Rule = Rule {
    id: "misses_at_most_accesses",
    unit: "%",
    formula: "misses / accesses of one run, interval and PMU is at most 100 %",
};
const PER_ITERATION: Rule = Rule {
    id: "per_iteration",
    unit: "count",
    formula: "instructions or loads / iterations of a loop whose body has one path is a whole number, within 0.05: otherwise the loop had another \
              number of iterations, as with a counter that was not initialised",
};

/// The difference from a whole number per iteration that start-up and interrupts may cause.
const WHOLE_PER_ITERATION: f64 = 0.05;
/// The events whose number per iteration is fixed by the program's code.
const OF_CODE: &[&str] = &["instructions", "inst_retired.any", "l1-dcache-loads"];

/// Verifies that a running share in percent is large enough for any use.
pub(crate) fn refused(out: &mut StatementSink<'_>, of: &str, share: Figure) {
    out.computed_at_least(&MIN_SHARE, of, share, 100.0 * MIN_RUNNING_SHARE);
}

/// Verifies the smallest running share in percent of counts that are printed as exact.
pub(crate) fn exact(out: &mut StatementSink<'_>, of: &str, share: Figure) {
    out.within(&EXACT, of, share.value, 100.0, 100.0 * (1.0 - ALL_RUNNING));
    if share.value < 100.0 * MIN_RUNNING_SHARE {
        refused(out, of, share);
    }
}

/// Verifies that a count is a whole number.
pub(crate) fn whole(out: &mut StatementSink<'_>, of: &str, count: f64) {
    if let Some(fraction) = fraction(count) {
        out.within(&WHOLE, of, fraction, 0.0, 0.0);
    }
}

/// Verifies that there are no more misses than accesses.
pub(crate) fn misses(out: &mut StatementSink<'_>, of: &str, misses: Figure, accesses: Figure) {
    if let Some(share) = miss_share(misses.value, accesses.value) {
        out.computed_at_most(&MISSES, of, Figure::exact(100.0 * share), 100.0);
    }
}

/// Verifies that an event that the code determines has a whole number per iteration.
pub(crate) fn per_iteration(out: &mut StatementSink<'_>, of: &str, event: &str, count: Figure, iterations: Figure) {
    if OF_CODE.contains(&plain(event).to_lowercase().as_str()) {
        let each = count / iterations;
        out.within(&PER_ITERATION, of, each.value, each.value.round(), WHOLE_PER_ITERATION);
    }
}
