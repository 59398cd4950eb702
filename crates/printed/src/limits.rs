//! The frequency that a processor cannot exceed.

use crate::{Asked, Figure, Given, Rule, Sheet, Told};

pub(crate) const WITHIN_TURBO: Rule = Rule {
    id: "within_turbo",
    unit: "GHz",
    formula: "a mean frequency is at most the highest turbo frequency of the processor",
};

/// The limit of the processor that the tables are of; why there is none.
pub(crate) fn limit(sheets: &[Sheet], asked: &Asked) -> Result<Figure, String> {
    let Some(named) = &asked.processor else {
        let said = asked.max_ghz.map(Figure::exact);
        let how = "which processor is not said: --processor NAME with a table of processors, or --machine";
        return said.ok_or_else(|| how.to_owned());
    };
    let specs = sheets.iter().filter(|s| s.kind.id() == "cpu_specs");
    let mut rows = specs.flat_map(|s| (0..s.len()).map(move |row| (s, row)));
    let found = rows.find(|(s, row)| s.text(*row, "model").eq_ignore_ascii_case(named));
    let (specs, row) = found.ok_or_else(|| format!("no table of processors that is given has a row {named}"))?;
    // A whole number of steps of the base clock, by its maker: nothing is rounded off.
    specs.count(row, "max_turbo_ghz").ok_or_else(|| format!("the highest frequency of {named} is no number"))
}

impl Given<'_> {
    /// Whether there is something to hold a frequency against.
    pub(crate) fn has_limit(&self) -> bool {
        self.asked.processor.is_some() || self.asked.max_ghz.is_some()
    }
}

/// Holds a frequency in GHz against the limit.
pub(crate) fn within_turbo(given: &Given<'_>, told: &mut Told<'_>, of: &str, ghz: Figure) {
    match &given.limit {
        Ok(limit) => told.at_most(&WITHIN_TURBO, of, *limit, ghz),
        Err(why) => told.cannot(&WITHIN_TURBO, of, why),
    }
}
