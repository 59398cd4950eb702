//! The results of trials of a finding's fix (`corewise try`), as they are kept with a recording.

use crate::Ns;
use serde::{Deserialize, Serialize};

/// What a fix did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// The 95 % interval of the change lies below −2 %.
    Helped,
    /// The 95 % interval contains changes of less than 2 %.
    NoEffect,
    /// The 95 % interval lies above 2 %.
    Harmed,
    /// Too few pairs for an interval.
    TooFewPairs,
    /// No thread that the fix is for was found, or its file never existed.
    NotApplied,
}

impl TrialVerdict {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Helped => "helped",
            Self::NoEffect => "no effect",
            Self::Harmed => "harmed",
            Self::TooFewPairs => "too few pairs",
            Self::NotApplied => "not applied",
        }
    }
}

/// The result of one trial.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tried {
    /// The rule of the finding.
    pub rule: String,
    /// The name of the finding's first thread.
    pub thread: String,
    /// The kind of the fix, as in the JSON of [`crate::Fix`].
    pub fix: String,
    /// What it did.
    pub verdict: TrialVerdict,
    /// The number of pairs.
    pub pairs: u32,
    /// The change of what was measured, as a share: −0.1 is 10 % less.
    pub change: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// The predicted saving and its range, ns.
    pub predicted_ns: Ns,
    /// The range of the prediction, ns.
    pub predicted_range_ns: [Ns; 2],
    /// The measured saving, ns; `None` if no time was measured.
    pub saved_ns: Option<Ns>,
    /// Its 95 % interval, ns.
    pub saved_range_ns: Option<[Ns; 2]>,
    /// In how many runs the finding was there, without and with the fix.
    pub found: [u32; 2],
    /// When the trial ended, seconds since 1970.
    pub at_unix_s: i64,
    /// The version of corewise.
    pub corewise: String,
}

/// How often the fix of a finding was tried, and what it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TriedSum {
    /// The number of trials that show something.
    pub times: u32,
    /// How often it helped.
    pub helped: u32,
    /// How often it had no effect.
    pub no_effect: u32,
    /// How often it harmed.
    pub harmed: u32,
}

impl TriedSum {
    /// Adds a trial; one that shows nothing does not count.
    pub fn add(&mut self, verdict: TrialVerdict) {
        let count = match verdict {
            TrialVerdict::Helped => &mut self.helped,
            TrialVerdict::NoEffect => &mut self.no_effect,
            TrialVerdict::Harmed => &mut self.harmed,
            TrialVerdict::TooFewPairs | TrialVerdict::NotApplied => return,
        };
        *count += 1;
        self.times += 1;
    }
}
