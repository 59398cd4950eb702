//! A utilisation that counts siblings as cores, and so promises more than there is.

use super::{NO_SIBLINGS, shares_cores};
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, smt_utilisation};

pub(super) const RULE: Rule = Rule {
    id: "utilisation-misread",
    about: "the CPUs look half idle, but what idles are siblings of busy cores, which have little left to give",
    page: Page {
        finds: "Classes of cores of whose CPUs much less is busy than of what their cores can do, because one sibling of many cores is busy.",
        matters: "A second sibling adds about a third to what a core does, not as much again. Where utilisation counts each CPU as a core, \
                  50 % may be 77 % of what the machine can do: whoever plans for twice the load runs out of machine.",
        sure: "For how long how many siblings of a core were busy is known. What a second sibling adds is assumed as measured on servers, \
               and depends on the work. Nothing is lost by it, so no milliseconds are promised, and it is never more than low.",
        mend: "Plan by the capacity used (the table smt_utilisation), not by the utilisation of CPUs.",
        example: "One sibling of each core is busy all the time: CPUs are busy for 50 %, of the capacity 77 % is used.",
    },
    tables: &[&tables::SMT_UTILISATION, &tables::SMT_CORES],
    thresholds: &[&LEAST_DIFFERENCE, &LEAST_KNOWN],
    explains: &[],
    look,
};

const LEAST_DIFFERENCE: Threshold = Threshold {
    name: "least_difference",
    unit: Unit::Ratio,
    value: 0.2,
    reason: "a choice: of the greatest difference that there can be (0.27, at half of the CPUs busy) the most of it",
};

const LEAST_KNOWN: Threshold = Threshold {
    name: "least_known",
    unit: Unit::Ratio,
    value: 0.9,
    reason: "a choice: of core time it must be known for so much what all siblings did",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    match shares_cores(given)? {
        None => return Ok(Looked::Lacks(NO_SIBLINGS.to_owned())),
        Some(false) => return Ok(Looked::At(Vec::new())),
        Some(true) => {}
    }
    let mut found = Vec::new();
    given.each(smt_utilisation::Table, |row| {
        let (Some(busy), Some(used)) = (row.get(smt_utilisation::BUSY_SHARE), row.get(smt_utilisation::USED_SHARE)) else { return };
        let [known, unknown] = row.all([smt_utilisation::KNOWN_NS, smt_utilisation::UNKNOWN_NS]).map(|ns| ns as f64);
        if used - busy < given.threshold(&LEAST_DIFFERENCE)
            || known < given.threshold(&LEAST_KNOWN) * (known + unknown)
        {
            return;
        }
        let mut shown = Shown::default();
        shown.push(0, row, &[&smt_utilisation::BUSY_SHARE, &smt_utilisation::USED_SHARE, &smt_utilisation::HEADROOM_SHARE, &smt_utilisation::GAIN]);
        let gain = row.get(smt_utilisation::GAIN);
        // So much more than now, at most.
        let more = |share: f64| ((1.0 / share.max(f64::EPSILON) - 1.0) * 100.0).round() as u32;
        let change = Fix::Headroom { more_percent: more(used) };
        let finding = given.finding(Vec::new(), change, "Plan by the capacity of cores".to_owned());
        found.push(Finding {
            title: format!(
                "CPUs ({}) were busy for {:.1} % of their time, which is {:.1} % of what their cores can do: there is room for {} % more, \
                 not {} %",
                row.get(smt_utilisation::CORE_TYPE),
                busy * 100.0,
                used * 100.0,
                more(used),
                more(busy)
            ),
            confidence: Confidence::Medium,
            evidence: shown.finish(),
            assumptions: vec![
                format!("a core does {gain} times as much with all siblings busy as with one"),
                "nothing is given back: it is told so that nobody plans with what is not there".to_owned(),
            ],
            ..finding
        });
    })?;
    Ok(Looked::At(found))
}
