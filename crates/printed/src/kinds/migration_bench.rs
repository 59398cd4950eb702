//! Elapsed times of a program whose threads are forced from core to core: between core types, and among the cores of one type.

use crate::figure::mean;
use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};

const MIXED_OVER: Rule = Rule {
    id: "mixed_over_one_type",
    unit: "ratio",
    formula: "elapsed with forced moves between core types / elapsed on one core type",
};
const E_OVER_P: Rule =
    Rule { id: "e_over_p", unit: "ratio", formula: "elapsed on E cores / elapsed on P cores, as named in the table" };
const MEAN_OF_TYPES: Rule = Rule {
    id: "mean_of_types",
    unit: "ms",
    formula: "the mean of the elapsed times on P cores and on E cores: half of the iterations on each",
};
const EXCESS: Rule = Rule {
    id: "excess_of_mixed",
    unit: "ms",
    formula: "elapsed with forced moves between core types − the mean of both types",
};
const PER_MOVE: Rule = Rule {
    id: "excess_per_move",
    unit: "us",
    formula: "excess of mixed / iterations per thread: at most this per forced move and thread, as each iteration calls the system to set the \
              affinity, and its cost is not separate",
};
const PER_INNER: Rule = Rule {
    id: "time_per_inner_iteration",
    unit: "ns",
    formula: "elapsed / iterations per thread / inner iterations: the work, the call and the moves together",
};
const TYPES_DIFFER: Rule = Rule {
    id: "core_types_differ",
    unit: "ratio",
    formula: "elapsed on E cores / elapsed on P cores of compute-bound work is at least 1.149, the least ratio in a measured table of six threads \
              (document 000, relative_ips: 1 / 0.87). A smaller ratio points to runs on other cores than the named ones (core types \
              assumed by the number of their class, or both groups on one type), or to time that is not the work's: calls, moves",
};
const TYPES_VERIFIED: Rule = Rule {
    id: "core_types_verified",
    unit: "",
    formula: "different numbers of P cores and E cores show whether the two types were swapped",
};
const CONTROL: Rule = Rule {
    id: "move_has_control",
    unit: "",
    formula: "a run that sets the affinity to the same core (mode same_core) separates the call from the move",
};
const SPREAD: Rule = Rule {
    id: "modes_have_spread",
    unit: "",
    formula: "several runs of each mode, without which the differences have no interval",
};

/// The least E / P ratio of times that a table shows: instructions per second of the thread `Audio`, 0.87, in document 000's relative_ips.
const LEAST_E_OVER_P: f64 = 1.0 / 0.87;

const MIXED: &str = "mixed";
const P_ONLY: &str = "p_core_only";
const E_ONLY: &str = "e_core_only";
const SAME_CORE: &str = "same_core";

/// See [`Kind::doc`].
pub(crate) struct MigrationBench;

/// What separates the terms, or why they are not separate.
fn soundness(sheet: &Sheet, out: &mut StatementSink<'_>) {
    let modes = sheet.groups("mode");
    let number = |col: &str| (0..sheet.len()).find_map(|row| sheet.count(row, col)).map(|count| count.value);
    if let (Some(p), Some(e)) = (number("p_cores_printed"), number("e_cores_printed"))
        && p == e
    {
        let why = format!("{p} P cores and {e} E cores: equal numbers do not show whether the types were swapped");
        out.not_evaluated(&TYPES_VERIFIED, &sheet.name, why);
    }
    if !modes.iter().any(|(mode, _)| *mode == SAME_CORE) {
        let why = "no run sets the affinity to the same core: the cost of the call is part of the excess";
        out.not_evaluated(&CONTROL, &sheet.name, why);
    }
    if modes.iter().any(|(_, rows)| rows.len() < 2) {
        out.not_evaluated(&SPREAD, &sheet.name, "one run of a mode: the spread is unknown");
    }
}

impl Kind for MigrationBench {
    fn id(&self) -> &'static str {
        "migration_bench"
    }

    fn doc(&self) -> &'static str {
        "elapsed times of threads that are moved from core to core in each iteration: mode (mixed, p_core_only, e_core_only, same_core), \
         iterations_per_thread, elapsed_ms, and inner_iterations, p_cores_printed, e_cores_printed"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["mode", "iterations_per_thread", "elapsed_ms"])
    }

    fn check(&self, sheet: &Sheet, _: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let elapsed = |mode: &str| {
            let times: Vec<Figure> =
                sheet.rows_where("mode", mode).filter_map(|row| sheet.figure(row, "elapsed_ms")).collect();
            mean(&times)
        };
        let count = |col: &str| (0..sheet.len()).find_map(|row| sheet.count(row, col)).filter(|n| n.value > 0.0);
        let (mixed, p, e) = (elapsed(MIXED), elapsed(P_ONLY), elapsed(E_ONLY));
        for (mode, time) in [(P_ONLY, p), (E_ONLY, e)] {
            if let (Some(mixed), Some(time)) = (mixed, time) {
                out.value(&MIXED_OVER, mode, (mixed / time).value);
            }
        }
        if let (Some(p), Some(e)) = (p, e) {
            out.value(&E_OVER_P, &sheet.name, (e / p).value);
            out.computed_at_least(&TYPES_DIFFER, &sheet.name, e / p, LEAST_E_OVER_P);
            let of_types = (p + e).scaled(0.5);
            out.value(&MEAN_OF_TYPES, &sheet.name, of_types.value);
            if let Some(mixed) = mixed {
                out.value(&EXCESS, &sheet.name, (mixed - of_types).value);
                if let Some(iterations) = count("iterations_per_thread") {
                    out.value(&PER_MOVE, &sheet.name, ((mixed - of_types) / iterations).scaled(1e3).value);
                }
            }
        }
        if let (Some(outer), Some(inner)) = (count("iterations_per_thread"), count("inner_iterations")) {
            for (mode, time) in [(MIXED, mixed), (P_ONLY, p), (E_ONLY, e)] {
                if let Some(time) = time {
                    out.value(&PER_INNER, mode, (time / (outer * inner)).scaled(1e6).value);
                }
            }
        }
        soundness(sheet, out);
    }
}
