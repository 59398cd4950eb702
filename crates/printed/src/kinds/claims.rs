//! Claims of a document about values that are computed from tables.

use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, Statement, StatementSink};
use std::collections::HashMap;

const CLAIM: Rule = Rule {
    id: "claim",
    unit: "",
    formula: "a claimed value equals the computed value within `tolerance`, or within the rounding of the claim",
};

/// See [`Kind::doc`].
pub(crate) struct Claims;

impl Kind for Claims {
    fn id(&self) -> &'static str {
        "claims"
    }

    fn doc(&self) -> &'static str {
        "claims of a document about values that `corewise check` computes: rule, of, claimed, and tolerance, and table (of the value, if \
         several have it)"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["rule", "of", "claimed"])
    }

    /// Claims are verified last, against the statements of all tables.
    fn check(&self, _: &Sheet, _: &CheckContext<'_>, _: &mut StatementSink<'_>) {}
}

/// Verifies claims against computed values.
pub(crate) fn verify(sheet: &Sheet, values: &mut Vec<Statement>) {
    let mut verified = Vec::new();
    // The first computed value of each name, in each table and in all of them (an empty name).
    let computed = values.iter().rev().filter_map(|s| Some((s, s.computed?)));
    let names = |s: &Statement| [s.table.clone(), String::new()].map(|table| (table, s.rule.id, s.of.clone()));
    let computed: HashMap<(String, &str, String), f64> =
        computed.flat_map(|(s, value)| names(s).map(|name| (name, value))).collect();
    let mut out = StatementSink::new(&sheet.name, &mut verified);
    for row in 0..sheet.len() {
        let (rule, of) = (sheet.text(row, "rule"), sheet.text(row, "of"));
        let name = format!("{rule} of {of}");
        let value = computed.get(&(sheet.text(row, "table").to_owned(), rule, of.to_owned())).copied();
        match (value, sheet.figure_alone(row, "claimed")) {
            (_, None) => out.not_evaluated(&CLAIM, name, "the claimed value is not a number"),
            (None, _) => {
                out.not_evaluated(&CLAIM, name, "no table gives this value; `--format json` lists the available ones")
            }
            (Some(value), Some(claimed)) => {
                let tolerance = sheet.figure_alone(row, "tolerance").map_or(claimed.rounding, |t| t.value.abs());
                out.equal(&CLAIM, name, Figure::exact(value), Figure { rounding: tolerance, ..claimed });
            }
        }
    }
    values.append(&mut verified);
}
