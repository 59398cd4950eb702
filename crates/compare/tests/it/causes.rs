//! The change of drawn pairs of runs lands in the piece of the injected cause, and the pieces sum to it.

use crate::drawn::{CASES, Case};
use faults::Set;

/// A pair that no other cause by chance disturbs much; `examples/causes.rs` judges many.
const SEED: u64 = 400;

/// The simulated siblings are a quarter faster together than one alone, the comparison assumes 1.31: `ln 0.655 / ln 0.625` = 0.9003 of the effect
/// lands in the piece.
const ASSUMED_SIBLING: f64 = 0.88;

fn judged(injected: &str) {
    let cases: Vec<&Case> =
        CASES.iter().filter(|case| case.injected == injected && !case.how.contains("hybrid")).collect();
    assert!(!cases.is_empty());
    for case in cases {
        let folder = tempfile::tempdir().unwrap();
        let of = case.judge(Set::Training, SEED, folder.path()).unwrap_or_else(|why| panic!("{why}"));
        let least = if injected == "sibling" { ASSUMED_SIBLING } else { 0.9 };
        let text = format!("{case:?}: {:.1} % of {:.0} ns; {:#?}", of.share() * 100.0, of.injected_ns, of.why);
        assert!(of.share() >= least, "{text}");
        assert!(of.is_exact(), "{text}");
        assert!(of.unknown_ns.abs() < 1e-3 * of.injected_ns.abs(), "{text}");
        // The largest piece is one of the right ones.
        assert!(case.is_right(&of.why.pieces[0]), "{text}");
    }
}

#[test]
fn another_frequency_is_of_the_frequency() {
    judged("frequency");
}

#[test]
fn slower_cores_are_of_the_core_type() {
    judged("core_type");
}

#[test]
fn a_busy_sibling_is_of_the_sibling() {
    judged("sibling");
}

#[test]
fn waiting_for_a_cpu_is_ready() {
    judged("ready");
}

#[test]
fn more_or_less_computing_is_work() {
    judged("work");
}

#[test]
fn a_lock_is_not_work() {
    judged("lock");
}
