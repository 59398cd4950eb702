//! The trials of fixes that are kept with a recording.

use super::columns::{Count, Int, Ns, Ratio, ThreadName, Word};
use crate::column::table;

table! {
    /// The trials of fixes.
    TRIALS: trials {
        version: 1,
        made_from: Kept,
        large: false,
        doc: "The trials of the fixes of this recording's findings (`corewise try`), in the order in which they were made; \
              at most the last thousand. The same for many recordings: the table `trials` of a catalogue.",
        key: [TRIED_S, RULE],
        columns: {
            TRIED_S: Int = "When the trial ended, seconds since 1970 (UTC).",
            RULE: Word = "The rule of the finding.",
            THREAD_NAME: ThreadName = "The finding's first thread.",
            FIX: Word = "The kind of the fix, as in the JSON of `corewise diagnose`.",
            VERDICT: Word = "`helped`, `no effect`, `harmed`, `too few pairs` or `not applied`.",
            PAIRS: Count = "Number of pairs of runs.",
            CHANGE: Option<Ratio> =
                "The change of what was measured: −0.1 is 10 % less; null if there was nothing without the fix.",
            CHANGE_LOW: Option<Ratio> = "The lower end of its 95 % interval.",
            CHANGE_HIGH: Option<Ratio> = "The upper end of its 95 % interval.",
            PREDICTED_NS: Ns = "The saving that the finding predicted.",
            PREDICTED_LOW_NS: Ns = "The lower end of its range.",
            PREDICTED_HIGH_NS: Ns = "The upper end of its range.",
            SAVED_NS: Option<Ns> = "The measured saving in each run; null if no time was measured.",
            SAVED_LOW_NS: Option<Ns> = "The lower end of its 95 % interval.",
            SAVED_HIGH_NS: Option<Ns> = "The upper end of its 95 % interval.",
            FOUND_WITHOUT: Count = "Number of runs without the fix that have the finding.",
            FOUND_WITH: Count = "Number of runs with the fix that have it.",
            COREWISE: Word = "The version of corewise.",
        }
    }
}
