//! Labels that were edited after the recording: a small file next to the recorded data, which does not change.
//!
//! ```text
//! run.cw/labels.json             of a trace folder
//! run.data.labels.json           of any other recording, next to it
//! ```
//!
//! The file has all labels, so that a label of the recorder can be removed. It is replaced atomically: after a crash, the old or the new one
//! is there.

use crate::error::Error;
use crate::manifest::MANIFEST;
use ingest::{Facts, LABEL};
use safefs::Dir;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The name of the file in a trace folder, and how its name ends next to any other recording.
pub const LABELS: &str = "labels.json";

/// A longer file is taken as damaged, so that it cannot fill the memory.
const MAX_BYTES: u64 = 1 << 20;
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
    let (folder, name) = place(recording);
    folder.join(name)
}

/// The folder of the file, and its name.
fn place(recording: &Path) -> (PathBuf, OsString) {
    if recording.join(MANIFEST).exists() {
        return (recording.to_owned(), LABELS.into());
    }
    let mut name = recording.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(LABELS);
    let folder = recording.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    (folder.to_owned(), name)
}

/// Reads the edited labels of a recording; `None` if they were never edited.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn edited_labels(recording: &Path) -> Result<Option<Labels>, Error> {
    let path = labels_file(recording);
    let (folder, name) = place(recording);
    let file = match Dir::open(&folder).and_then(|dir| dir.open_file(&name)) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(Error::io(&path, "reading it")(why)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(Error::io(&path, "reading it"))?;
    let edited: Edited = serde_json::from_slice(&bytes).map_err(|why| Error::damaged(&path, why, REMOVE))?;
    if edited.version != 1 {
        return Err(Error::Newer { path, found: edited.version, known: 1 });
    }
    Ok(Some(edited.labels))
}

/// Replaces the labels of a recording, atomically. The recorded data and the trace's ID do not change.
///
/// # Errors
/// The file cannot be written.
pub fn write_labels(recording: &Path, labels: &Labels) -> Result<(), Error> {
    let (folder, name) = place(recording);
    let json = serde_json::to_vec_pretty(&Edited { version: 1, labels: labels.clone() });
    let mut json = json.map_err(|why| Error::Bug(why.to_string()))?;
    json.push(b'\n');
    let replace = || {
        let name = name.to_str().ok_or(ErrorKind::InvalidFilename)?;
        let folder = Dir::open_for_writing(&folder)?;
        folder.replace(name, &json)?;
        folder.sync()
    };
    replace().map_err(Error::io(&labels_file(recording), "writing it"))
}

/// Puts the edited labels of a recording in the place of those in its facts. If they cannot be read, the labels of the recorder stay, and the
/// facts say so.
pub fn with_edited_labels(recording: &Path, facts: &mut Facts) {
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
