//! Clocks per instruction on P cores on two systems.

use crate::{CheckContext, Head, Kind, Rule, Sheet, StatementSink};

const RATIO: Rule = Rule {
    id: "symmetric_over_hybrid",
    unit: "ratio",
    formula: "clocks per instruction on the system without E cores / on the hybrid one",
};
const MIN_GAIN: Rule =
    Rule { id: "least_gain", unit: "%", formula: "the smallest printed ratio of all rows, minus one" };
const MAX_GAIN: Rule = Rule { id: "most_gain", unit: "%", formula: "the largest printed ratio of all rows, minus one" };

/// See [`Kind::doc`].
pub(crate) struct CpiOfTwoSystems;

impl Kind for CpiOfTwoSystems {
    fn id(&self) -> &'static str {
        "cpi_of_two_systems"
    }

    fn doc(&self) -> &'static str {
        "threads' clocks per instruction on two systems: tid, hybrid_p_cpi, symmetric_p_cpi, symmetric_over_hybrid, and job"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["tid", "hybrid_p_cpi", "symmetric_p_cpi", "symmetric_over_hybrid"])
    }

    fn check(&self, sheet: &Sheet, _: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        let mut ratios = Vec::new();
        for row in 0..sheet.len() {
            let job = sheet.text(row, "job");
            let of = if job.is_empty() { sheet.text(row, "tid") } else { job };
            let cell = |col| sheet.figure(row, col);
            match (cell("symmetric_p_cpi"), cell("hybrid_p_cpi"), cell("symmetric_over_hybrid")) {
                (Some(symmetric), Some(hybrid), Some(printed)) => {
                    out.equal(&RATIO, of, symmetric / hybrid, printed);
                    ratios.push(printed.value);
                }
                _ => out.not_evaluated(&RATIO, of, "a ratio is not a number"),
            }
        }
        for (rule, ratio) in
            [(&MIN_GAIN, ratios.iter().copied().reduce(f64::min)), (&MAX_GAIN, ratios.iter().copied().reduce(f64::max))]
        {
            if let Some(ratio) = ratio {
                out.value(rule, &sheet.name, 100.0 * (ratio - 1.0));
            }
        }
    }
}
