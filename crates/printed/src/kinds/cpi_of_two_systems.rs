//! Clocks per instruction on P cores, of two systems.

use crate::{Given, Head, Kind, Rule, Sheet, Told};

const RATIO: Rule = Rule {
    id: "symmetric_over_hybrid",
    unit: "ratio",
    formula: "clocks per instruction of the system without E cores / of the hybrid one",
};
const LEAST_GAIN: Rule =
    Rule { id: "least_gain", unit: "%", formula: "the least printed ratio of all rows, minus one" };
const MOST_GAIN: Rule =
    Rule { id: "most_gain", unit: "%", formula: "the greatest printed ratio of all rows, minus one" };

/// See [`Kind::doc`].
pub(crate) struct CpiOfTwoSystems;

impl Kind for CpiOfTwoSystems {
    fn id(&self) -> &'static str {
        "cpi_of_two_systems"
    }

    fn doc(&self) -> &'static str {
        "threads' clocks per instruction on two systems: tid, hybrid_p_cpi, symmetric_p_cpi, symmetric_over_hybrid, and job"
    }

    fn knows(&self, head: &Head) -> bool {
        head.has(&["tid", "hybrid_p_cpi", "symmetric_p_cpi", "symmetric_over_hybrid"])
    }

    fn check(&self, sheet: &Sheet, _: &Given<'_>, told: &mut Told<'_>) {
        let mut ratios = Vec::new();
        for row in 0..sheet.len() {
            let job = sheet.text(row, "job");
            let of = if job.is_empty() { sheet.text(row, "tid") } else { job };
            let cell = |col| sheet.figure(row, col);
            match (cell("symmetric_p_cpi"), cell("hybrid_p_cpi"), cell("symmetric_over_hybrid")) {
                (Some(symmetric), Some(hybrid), Some(printed)) => {
                    told.equal(&RATIO, of, symmetric / hybrid, printed);
                    ratios.push(printed.value);
                }
                _ => told.cannot(&RATIO, of, "a ratio is no number"),
            }
        }
        for (rule, ratio) in [
            (&LEAST_GAIN, ratios.iter().copied().reduce(f64::min)),
            (&MOST_GAIN, ratios.iter().copied().reduce(f64::max)),
        ] {
            if let Some(ratio) = ratio {
                told.value(rule, &sheet.name, 100.0 * (ratio - 1.0));
            }
        }
    }
}
