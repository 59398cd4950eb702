//! What a document says of values that follow from tables.

use crate::{Figure, Given, Head, Kind, Rule, Sheet, Statement, Told};
use std::collections::HashMap;

const CLAIM: Rule = Rule {
    id: "claim",
    unit: "",
    formula: "what is claimed of a value is the value, within `tolerance`, else the claim's own digits",
};

/// See [`Kind::doc`].
pub(crate) struct Claims;

impl Kind for Claims {
    fn id(&self) -> &'static str {
        "claims"
    }

    fn doc(&self) -> &'static str {
        "what a document says of values that `corewise check` computed: rule, of, claimed, and tolerance"
    }

    fn knows(&self, head: &Head) -> bool {
        head.has(&["rule", "of", "claimed"])
    }

    /// They are held last: against what all tables said.
    fn check(&self, _: &Sheet, _: &Given<'_>, _: &mut Told<'_>) {}
}

/// Holds claims against values.
pub(crate) fn hold(sheet: &Sheet, values: &mut Vec<Statement>) {
    let mut held = Vec::new();
    // The first of a name, of those that are computed.
    let computed = values.iter().rev().filter_map(|s| Some(((s.rule.id, s.of.as_str()), s.computed?)));
    let computed: HashMap<(&str, &str), f64> = computed.collect();
    let mut told = Told::new(&sheet.name, &mut held);
    for row in 0..sheet.len() {
        let (rule, of) = (sheet.text(row, "rule"), sheet.text(row, "of"));
        let name = format!("{rule} of {of}");
        let value = computed.get(&(rule, of)).copied();
        match (value, sheet.figure_alone(row, "claimed")) {
            (_, None) => told.cannot(&CLAIM, name, "what is claimed is no number"),
            (None, _) => {
                told.cannot(&CLAIM, name, "no table gives such a value: `--format json` tells those that there are")
            }
            (Some(value), Some(claimed)) => {
                let tolerance = sheet.figure_alone(row, "tolerance").map_or(claimed.rounding, |t| t.value.abs());
                told.equal(&CLAIM, name, Figure::exact(value), Figure { rounding: tolerance, ..claimed });
            }
        }
    }
    values.append(&mut held);
}
