//! The maximum frequency of a processor.

use crate::{CheckContext, Figure, Request, Rule, Sheet, StatementSink};

pub(crate) const WITHIN_TURBO: Rule = Rule {
    id: "within_turbo",
    unit: "GHz",
    formula: "a mean frequency is at most the maximum turbo frequency of the processor",
};

/// The limit of the processor to which the tables belong, or why it is unknown.
pub(crate) fn limit(sheets: &[Sheet], request: &Request) -> Result<Figure, String> {
    let Some(named) = &request.processor else {
        let max = request.max_ghz.map(Figure::exact);
        let how = "the processor is unknown: set --processor NAME with a table of processors, or --machine";
        return max.ok_or_else(|| how.to_owned());
    };
    let specs = sheets.iter().filter(|s| s.kind.id() == "cpu_specs");
    let mut rows = specs.flat_map(|s| (0..s.len()).map(move |row| (s, row)));
    let found = rows.find(|(s, row)| s.text(*row, "model").eq_ignore_ascii_case(named));
    let (specs, row) = found.ok_or_else(|| format!("no table of processors has a row {named}"))?;
    // The vendor specifies a whole number of steps of the base clock, so it is exact.
    specs.count(row, "max_turbo_ghz").ok_or_else(|| format!("the maximum frequency of {named} is not a number"))
}

impl CheckContext<'_> {
    /// Whether a maximum frequency is given.
    pub(crate) fn has_limit(&self) -> bool {
        self.request.processor.is_some() || self.request.max_ghz.is_some()
    }
}

/// Verifies a frequency in GHz against the limit.
pub(crate) fn within_turbo(ctx: &CheckContext<'_>, out: &mut StatementSink<'_>, of: &str, ghz: Figure) {
    match &ctx.limit {
        Ok(limit) => out.at_most(&WITHIN_TURBO, of, *limit, ghz),
        Err(why) => out.not_evaluated(&WITHIN_TURBO, of, why),
    }
}
