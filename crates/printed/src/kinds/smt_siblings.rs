//! Sibling CPUs: the shares of time for which both were idle and both were active.

use crate::figure::mean;
use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};

const WITHIN_WHOLE: Rule = Rule {
    id: "idle_and_active_within_whole",
    unit: "%",
    formula: "both idle and both active exclude each other: together at most 100 %",
};
const BOTH_ACTIVE: Rule = Rule {
    id: "both_active",
    unit: "%",
    formula: "the mean over the cores of the time for which both siblings were active",
};
const ONE_ACTIVE: Rule =
    Rule { id: "one_active", unit: "%", formula: "the mean over the cores of 100 − both idle − both active" };
const REDUCTION: Rule =
    Rule { id: "both_active_reduction", unit: "%", formula: "1 − mean of both active in one table / in another" };
const REDUCTION_POINTS: Rule = Rule {
    id: "both_active_reduction_points",
    unit: "points",
    formula: "mean of both active in another table − in this one, in percentage points",
};

/// See [`Kind::doc`].
pub(crate) struct SmtSiblings;

/// The means over the cores: both active, and exactly one.
fn means(sheet: &Sheet) -> Option<[Figure; 2]> {
    let of = |row| Some((sheet.figure(row, "both_idle_pct")?, sheet.figure(row, "both_active_pct")?));
    let rows: Vec<_> = (0..sheet.len()).map(of).collect::<Option<_>>()?;
    let active: Vec<Figure> = rows.iter().map(|(_, active)| *active).collect();
    let one: Vec<Figure> = rows.iter().map(|(idle, active)| Figure::exact(100.0) - *idle - *active).collect();
    Some([mean(&active)?, mean(&one)?])
}

impl Kind for SmtSiblings {
    fn id(&self) -> &'static str {
        "smt_siblings"
    }

    fn doc(&self) -> &'static str {
        "sibling CPUs, one core per row: both_idle_pct, both_active_pct, and lp_a, lp_b"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["both_idle_pct", "both_active_pct"])
    }

    fn check(&self, sheet: &Sheet, ctx: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for row in 0..sheet.len() {
            let of = format!("{},{}", sheet.text(row, "lp_a"), sheet.text(row, "lp_b"));
            match (sheet.figure(row, "both_idle_pct"), sheet.figure(row, "both_active_pct")) {
                (Some(idle), Some(active)) => {
                    out.at_most(&WITHIN_WHOLE, of, Figure::exact(100.0), idle + active);
                }
                _ => out.not_evaluated(&WITHIN_WHOLE, of, "a share is not a number"),
            }
        }
        let Some([active, one]) = means(sheet) else { return };
        out.value(&BOTH_ACTIVE, &sheet.name, active.value);
        out.value(&ONE_ACTIVE, &sheet.name, one.value);
        for base in ctx.compared_with(sheet) {
            if let Some([other, _]) = means(base) {
                let of = format!("{}/{}", sheet.name, base.name);
                out.value(&REDUCTION, &of, 100.0 * (1.0 - active.value / other.value));
                out.value(&REDUCTION_POINTS, of, other.value - active.value);
            }
        }
    }
}
