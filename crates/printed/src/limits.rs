//! The frequency that a processor cannot exceed.

use crate::{Figure, Given, Rule, Told};

/// A highest frequency, and who says so.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    /// In GHz.
    pub ghz: f64,
    /// Of which processor, by which source.
    pub of: String,
}

pub(crate) const WITHIN_TURBO: Rule = Rule {
    id: "within_turbo",
    unit: "GHz",
    formula: "a mean frequency is at most the highest turbo frequency of the processor",
};

impl Given<'_> {
    /// The limit of the processor that the tables are of; why there is none.
    fn limit(&self) -> Result<Figure, String> {
        let Some(named) = &self.asked.processor else {
            return match &self.asked.limit {
                Some(limit) => Ok(Figure::exact(limit.ghz)),
                None => {
                    Err("which processor is not said: --processor NAME with a table of processors, or --machine".into())
                }
            };
        };
        let rows = self.of_kind("cpu_specs").flat_map(|s| (0..s.len()).map(move |row| (s, row)));
        let mut of_name = rows.filter(|(s, row)| s.text(*row, "model").eq_ignore_ascii_case(named));
        let found = of_name.next().ok_or_else(|| format!("no table of processors that is given has a row {named}"))?;
        // A whole number of steps of the base clock, by its maker: nothing is rounded off.
        found.0.count(found.1, "max_turbo_ghz").ok_or_else(|| format!("the highest frequency of {named} is no number"))
    }

    /// Whether there is something to hold a frequency against.
    pub(crate) fn has_limit(&self) -> bool {
        self.asked.processor.is_some() || self.asked.limit.is_some()
    }
}

/// Holds a frequency in GHz against the limit.
pub(crate) fn within_turbo(given: &Given<'_>, told: &mut Told<'_>, of: &str, ghz: Figure) {
    match given.limit() {
        Ok(limit) => told.at_most(&WITHIN_TURBO, of, limit, ghz),
        Err(why) => told.cannot(&WITHIN_TURBO, of, why),
    }
}
