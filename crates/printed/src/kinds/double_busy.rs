//! Pairs of sibling CPUs by how many of the two were busy, as printed by Linux-KI.

use super::cpu_utilisation::fully_busy;
use crate::figure::mean;
use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};

const TO_WHOLE: Rule = Rule {
    id: "pair_states_to_whole",
    unit: "%",
    formula: "a pair is idle, busy on one, busy on the other or busy on both: together 100 %",
};
const MEAN_IS_TOTAL: Rule =
    Rule { id: "pair_mean_is_total", unit: "%", formula: "the mean over the pairs equals the row of totals" };
const LOGICAL_BUSY: Rule = Rule {
    id: "logical_busy",
    unit: "%",
    formula: "(one busy + the other busy) / 2 + both busy: the utilisation of CPUs",
};
const CORE_BUSY: Rule =
    Rule { id: "core_busy", unit: "%", formula: "one busy + the other busy + both busy: the utilisation of cores" };

const STATES: [&str; 4] = ["double_idle_pct", "lcpu1_busy_pct", "lcpu2_busy_pct", "double_busy_pct"];

/// See [`Kind::doc`].
pub(crate) struct DoubleBusy;

impl Kind for DoubleBusy {
    fn id(&self) -> &'static str {
        "double_busy"
    }

    fn doc(&self) -> &'static str {
        "pairs of siblings and their total, as printed by Linux-KI: row (pair, total), double_idle_pct, lcpu1_busy_pct, \
         lcpu2_busy_pct, double_busy_pct, and lp_a, lp_b"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["row"]) && head.has(&STATES)
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let states = |row| -> Option<Vec<Figure>> { STATES.iter().map(|col| sheet.figure(row, col)).collect() };
        let mut pairs = Vec::new();
        for row in sheet.rows_where("row", "pair") {
            let of = format!("{},{}", sheet.text(row, "lp_a"), sheet.text(row, "lp_b"));
            match states(row) {
                Some(states) => {
                    out.equal(&TO_WHOLE, of, states.iter().copied().sum(), Figure::exact(100.0));
                    pairs.push(states);
                }
                None => out.not_evaluated(&TO_WHOLE, of, "a share is not a number"),
            }
        }
        for row in sheet.rows_where("row", "total") {
            let Some(total) = states(row) else { continue };
            out.equal(&TO_WHOLE, "total", total.iter().copied().sum(), Figure::exact(100.0));
            for (at, col) in STATES.iter().enumerate() {
                let of: Vec<Figure> = pairs.iter().map(|p| p[at]).collect();
                if let Some(mean) = mean(&of) {
                    out.equal(&MEAN_IS_TOTAL, *col, mean, total[at]);
                }
            }
            let one = total[1] + total[2];
            let logical = one.scaled(0.5) + total[3];
            out.value(&LOGICAL_BUSY, &sheet.name, logical.value);
            out.value(&CORE_BUSY, &sheet.name, (one + total[3]).value);
            fully_busy(ctx, out, &sheet.name, logical);
        }
    }
}
