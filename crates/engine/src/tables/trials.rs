//! The trials of fixes that are kept with a recording.

use crate::Session;
use crate::tables::rows::Batches;
use model::Rows;

impl Session {
    /// Writes the rows of the trials.
    pub(crate) fn trial_rows(&self, out: &mut Batches<'_>) {
        for tried in &self.facts().tried {
            let ends = |at: usize| tried.interval.map(|interval| interval[at]);
            let saved = |at: usize| tried.saved_range_ns.map(|range| range[at]);
            let [low, high] = tried.predicted_range_ns;
            out.row(&[
                tried.at_unix_s.into(),
                tried.rule.as_str().into(),
                tried.thread.as_str().into(),
                tried.fix.as_str().into(),
                tried.verdict.as_str().into(),
                i64::from(tried.pairs).into(),
                tried.change.into(),
                ends(0).into(),
                ends(1).into(),
                tried.predicted_ns.into(),
                low.into(),
                high.into(),
                tried.saved_ns.into(),
                saved(0).into(),
                saved(1).into(),
                i64::from(tried.found[0]).into(),
                i64::from(tried.found[1]).into(),
                tried.corewise.as_str().into(),
            ]);
        }
    }
}
