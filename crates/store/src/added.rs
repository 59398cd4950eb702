//! What is added to a recording after it was made: small files next to the recorded data, which does not change.
//!
//! ```text
//! run.cw/labels.json             of a trace folder
//! run.data.labels.json           of any other recording, next to it
//! ```
//!
//! A file is replaced as a whole, atomically: after a crash, the old or the new one is there.

use crate::error::Error;
use crate::manifest::MANIFEST;
use crate::{labels, tried};
use ingest::Facts;
use safefs::Dir;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// A longer file is taken as damaged, so that it cannot fill the memory.
const MAX_BYTES: u64 = 1 << 20;

/// Adds to the facts of a recording what was added to it: edited labels, and the trials of fixes.
pub fn with_added(recording: &Path, facts: &mut Facts) {
    labels::with_edited_labels(recording, facts);
    tried::with_trials(recording, facts);
}

/// The files that may have been added to a recording; each may not exist.
#[must_use]
pub fn added_files(recording: &Path) -> [PathBuf; 2] {
    [labels::LABELS, tried::TRIED].map(|name| file(recording, name))
}

/// The file of this name of a recording, which may not exist.
pub(crate) fn file(recording: &Path, name: &str) -> PathBuf {
    let (folder, name) = place(recording, name);
    folder.join(name)
}

/// The folder of the file, and its name there.
fn place(recording: &Path, name: &str) -> (PathBuf, OsString) {
    if recording.join(MANIFEST).exists() {
        return (recording.to_owned(), name.into());
    }
    let mut own = recording.file_name().unwrap_or_default().to_owned();
    own.push(".");
    own.push(name);
    let folder = recording.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    (folder.to_owned(), own)
}

/// Reads a file; `None` if it does not exist. `advice`: what to do if it is damaged.
pub(crate) fn read<T: DeserializeOwned>(
    recording: &Path,
    name: &str,
    advice: &'static str,
) -> Result<Option<T>, Error> {
    let path = file(recording, name);
    let (folder, name) = place(recording, name);
    let file = match Dir::open(&folder).and_then(|dir| dir.open_file(&name)) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(Error::io(&path, "reading it")(why)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(Error::io(&path, "reading it"))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|why| Error::damaged(&path, why, advice))
}

/// Replaces a file.
pub(crate) fn write<T: Serialize>(recording: &Path, name: &str, value: &T) -> Result<(), Error> {
    let path = file(recording, name);
    let (folder, name) = place(recording, name);
    let mut json = serde_json::to_vec_pretty(value).map_err(|why| Error::Bug(why.to_string()))?;
    json.push(b'\n');
    let replace = || {
        let name = name.to_str().ok_or(ErrorKind::InvalidFilename)?;
        let folder = Dir::open_for_writing(&folder)?;
        folder.replace(name, &json)?;
        folder.sync()
    };
    replace().map_err(Error::io(&path, "writing it"))
}
