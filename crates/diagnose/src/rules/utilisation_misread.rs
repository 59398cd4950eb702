//! CPU utilisation that counts SMT siblings as cores and so overstates the free capacity.

use super::{NO_SIBLINGS, shares_cores};
use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, smt_utilisation};
use model::{Fix, Ns};

pub(super) const RULE: Rule = Rule {
    id: "utilisation-misread",
    about: "CPUs look half idle, but the idle ones are siblings of busy cores with little capacity left",
    page: Page {
        description: "Core classes where CPU utilisation is much lower than the used capacity, because one sibling of many cores is busy.",
        rationale: "A second sibling adds about a third to a core's throughput, not as much again. If utilisation counts each CPU as a core, \
                  50 % may be 77 % of what the machine can do: capacity planning for twice the load fails.",
        certainty: "For how long how many siblings of a core were busy is known. The gain of a second sibling is an assumption, measured on servers; \
               it depends on the work. No time is lost, so there is no potential saving, and the severity is never more than low.",
        fix: "Plan by used capacity (the table smt_utilisation), not by CPU utilisation.",
        example: "One sibling of each core is busy all the time: CPU utilisation is 50 %, used capacity 77 %.",
    },
    tables: &[&tables::SMT_UTILISATION, &tables::SMT_CORES],
    thresholds: &[&MIN_DIFFERENCE, &MIN_KNOWN],
    explains: &[],
    worst: Fits::Running,
    shares_out_work: false,
    check,
};

const MIN_DIFFERENCE: Threshold = Threshold {
    name: "min_difference",
    unit: Unit::Ratio,
    value: 0.2,
    reason: "heuristic: most of the largest possible difference (0.27, with half of the CPUs busy)",
};

const MIN_KNOWN: Threshold = Threshold {
    name: "min_known",
    unit: Unit::Ratio,
    value: 0.9,
    reason: "heuristic: the share of core time for which the state of all siblings must be known",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    match shares_cores(ctx)? {
        None => return Ok(RuleOutcome::MissingData(NO_SIBLINGS.to_owned())),
        Some(false) => return Ok(RuleOutcome::Findings(Vec::new())),
        Some(true) => {}
    }
    let mut found = Vec::new();
    ctx.each_row(smt_utilisation::Table, |row| {
        let (Some(busy), Some(used)) = (row.get(smt_utilisation::BUSY_SHARE), row.get(smt_utilisation::USED_SHARE)) else { return };
        let [known, unknown] = row.all([smt_utilisation::KNOWN_NS, smt_utilisation::UNKNOWN_NS]).map(|ns| ns.as_f64());
        if used - busy < ctx.threshold(&MIN_DIFFERENCE)
            || known < ctx.threshold(&MIN_KNOWN) * (known + unknown)
        {
            return;
        }
        let mut evidence = EvidenceRows::default();
        evidence.push(Ns::ZERO, row, &[&smt_utilisation::BUSY_SHARE, &smt_utilisation::USED_SHARE, &smt_utilisation::HEADROOM_SHARE, &smt_utilisation::GAIN]);
        let gain = row.get(smt_utilisation::GAIN);
        // How much more work is possible, at most.
        let more = |share: f64| ((1.0 / share.max(f64::EPSILON) - 1.0) * 100.0).round() as u32;
        let change = Fix::Headroom { more_percent: more(used) };
        let finding = ctx.finding(Vec::new(), change, "Plan by the capacity of cores".to_owned());
        found.push(Finding {
            title: format!(
                "CPUs ({}) were busy for {:.1} % of the time, which is {:.1} % of their cores' capacity: {} % more work is possible, \
                 not {} %",
                row.get(smt_utilisation::CORE_TYPE),
                busy * 100.0,
                used * 100.0,
                more(used),
                more(busy)
            ),
            confidence: Confidence::Medium,
            evidence: evidence.finish(),
            assumptions: vec![
                format!("a core does {gain} times as much work with all siblings busy as with one"),
                "no saving is estimated: this finding is for capacity planning".to_owned(),
            ],
            ..finding
        });
    })?;
    Ok(RuleOutcome::Findings(found))
}
