//! The trials of fixes (`corewise try`), kept with the recording whose findings they are about.

use crate::added;
use crate::error::Error;
use ingest::Facts;
use model::Tried;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name of the file in a trace folder, and how its name ends next to any other recording.
pub const TRIED: &str = "tried.json";

/// The maximum number of trials that are kept: the latest.
const MAX: usize = 1000;
const REMOVE: &str = "remove this file: the results of former trials are lost then";

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    trials: Vec<Tried>,
}

/// Reads the trials of a recording, in the order in which they were made.
///
/// # Errors
/// The file cannot be read, or is damaged.
fn trials(recording: &Path) -> Result<Vec<Tried>, Error> {
    match added::read::<Kept>(recording, TRIED, REMOVE)? {
        Some(Kept { version, .. }) if version != 1 => {
            Err(Error::Newer { path: added::file(recording, TRIED), found: version, known: 1 })
        }
        kept => Ok(kept.map_or_else(Vec::new, |kept| kept.trials)),
    }
}

/// Adds a trial to a recording.
///
/// # Errors
/// The file cannot be read or written.
pub fn add_trial(recording: &Path, trial: Tried) -> Result<(), Error> {
    let mut trials = trials(recording)?;
    trials.push(trial);
    let first = trials.len().saturating_sub(MAX);
    added::write(recording, TRIED, &Kept { version: 1, trials: trials.split_off(first) })
}

/// Adds the trials of a recording to its facts, or says there why they are missing.
pub(crate) fn with_trials(recording: &Path, facts: &mut Facts) {
    match trials(recording) {
        Ok(trials) => facts.tried = trials,
        Err(why) => facts.lacks.push(format!("The results of trials are not shown: {why}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Ns, TrialVerdict};

    fn tried(at: i64) -> Tried {
        Tried {
            rule: "pinned-to-one-cpu".to_owned(),
            thread: "worker".to_owned(),
            fix: "affinity".to_owned(),
            verdict: TrialVerdict::Helped,
            pairs: 10,
            change: Some(-0.4),
            interval: Some([-0.5, -0.3]),
            predicted_ns: Ns(5),
            predicted_range_ns: [Ns(4), Ns(6)],
            saved_ns: Some(Ns(5)),
            saved_range_ns: None,
            found: [10, 0],
            at_unix_s: at,
            corewise: "0.2.0".to_owned(),
        }
    }

    #[test]
    fn trials_are_kept_in_order_next_to_a_recording() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.data");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(trials(&file).unwrap(), []);
        (1..=2).for_each(|at| add_trial(&file, tried(at)).unwrap());
        assert_eq!(trials(&file).unwrap(), [tried(1), tried(2)]);
        let mut facts = Facts::default();
        with_trials(&file, &mut facts);
        assert_eq!(facts.tried.len(), 2);
        std::fs::write(folder.path().join("run.data.tried.json"), "{").unwrap();
        with_trials(&file, &mut facts);
        assert!(facts.lacks[0].starts_with("The results of trials are not shown"), "{:?}", facts.lacks);
    }
}
