//! Labels that were edited after the recording: a small file next to the recorded data, which does not change.
//!
//! The file has all labels, so that a label of the recorder can be removed.

use crate::added;
use crate::error::Error;
use ingest::{Facts, LABEL};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the file in a trace folder, and how its name ends next to any other recording.
pub const LABELS: &str = "labels.json";

const REMOVE: &str = "remove this file: the labels of the recorder are used again";

/// Labels by key.
pub type Labels = BTreeMap<String, String>;

#[derive(Serialize, Deserialize)]
struct Edited {
    version: u32,
    labels: Labels,
}

/// Returns the file with the edited labels of a recording, which may not exist.
#[must_use]
pub fn labels_file(recording: &Path) -> PathBuf {
    added::file(recording, LABELS)
}

/// Reads the edited labels of a recording; `None` if they were never edited.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn edited_labels(recording: &Path) -> Result<Option<Labels>, Error> {
    let edited: Option<Edited> = added::read(recording, LABELS, REMOVE)?;
    match edited {
        Some(Edited { version, .. }) if version != 1 => {
            Err(Error::Newer { path: labels_file(recording), found: version, known: 1 })
        }
        edited => Ok(edited.map(|edited| edited.labels)),
    }
}

/// Replaces the labels of a recording, atomically. The recorded data and the trace's ID do not change.
///
/// # Errors
/// The file cannot be written.
pub fn write_labels(recording: &Path, labels: &Labels) -> Result<(), Error> {
    added::write(recording, LABELS, &Edited { version: 1, labels: labels.clone() })
}

/// Puts the edited labels of a recording in the place of those in its facts. If they cannot be read, the labels of the recorder stay, and the
/// facts say so.
pub(crate) fn with_edited_labels(recording: &Path, facts: &mut Facts) {
    match edited_labels(recording) {
        Ok(None) => {}
        Ok(Some(labels)) => {
            facts.about.retain(|(name, _)| !name.starts_with(LABEL));
            facts.about.extend(labels.into_iter().map(|(key, value)| (format!("{LABEL}{key}"), value)));
        }
        Err(why) => facts.lacks.push(format!("The edited labels are not used, but those of the recorder: {why}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::MANIFEST;

    fn facts(of: &[(&str, &str)]) -> Facts {
        let about = of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Facts { about, ..Facts::default() }
    }

    fn labels(of: &[(&str, &str)]) -> Labels {
        of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn edited_labels_take_the_place_of_all_recorded_ones() {
        let folder = tempfile::tempdir().unwrap();
        let (trace, file) = (folder.path().join("a.cw"), folder.path().join("b.data"));
        std::fs::create_dir(&trace).unwrap();
        std::fs::write(trace.join(MANIFEST), "{}").unwrap();
        std::fs::write(&file, "x").unwrap();
        for (recording, at) in [(&trace, "a.cw/labels.json"), (&file, "b.data.labels.json")] {
            assert_eq!(edited_labels(recording).unwrap(), None);
            write_labels(recording, &labels(&[("os", "new"), ("plug", "no")])).unwrap();
            assert_eq!(labels_file(recording), folder.path().join(at));
            let mut of = facts(&[("hostname", "h"), ("label.os", "old"), ("label.try", "1")]);
            with_edited_labels(recording, &mut of);
            assert_eq!(of, facts(&[("hostname", "h"), ("label.os", "new"), ("label.plug", "no")]));
            // No temporary file is left.
            write_labels(recording, &Labels::new()).unwrap();
            assert_eq!(edited_labels(recording).unwrap(), Some(Labels::new()));
        }
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 3);
    }

    #[test]
    fn what_a_crash_leaves_is_the_old_or_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.data");
        std::fs::write(&file, "x").unwrap();
        write_labels(&file, &labels(&[("os", "old")])).unwrap();
        // Killed before the rename: the temporary file is cut off, and not read.
        std::fs::write(folder.path().join("b.data.labels.json.new"), "{\"ver").unwrap();
        assert_eq!(edited_labels(&file).unwrap(), Some(labels(&[("os", "old")])));
        write_labels(&file, &labels(&[("os", "new")])).unwrap();
        assert_eq!(edited_labels(&file).unwrap(), Some(labels(&[("os", "new")])));
    }

    #[test]
    fn labels_that_cannot_be_read_are_named_and_the_recorded_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b.data");
        for (text, expected) in
            [("{", "damaged"), ("{\"version\":2,\"labels\":{}}", "newer"), ("{\"version\":1,\"labels\":[]}", "damaged")]
        {
            std::fs::write(labels_file(&file), text).unwrap();
            assert!(edited_labels(&file).unwrap_err().to_string().contains(expected));
            let mut of = facts(&[("label.os", "old")]);
            with_edited_labels(&file, &mut of);
            assert_eq!(of.about, facts(&[("label.os", "old")]).about);
            assert!(of.lacks[0].contains("b.data.labels.json"), "{:?}", of.lacks);
        }
    }
}
