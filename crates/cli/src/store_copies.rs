//! Copies of recordings that the user named by the URL of a store. They exist until the command has ended.

use crate::failure::Failure;
use crate::progress::Line;
use crate::temporary::TemporaryFolder;
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

static COPIES: Mutex<Vec<TemporaryFolder>> = Mutex::new(Vec::new());

/// Makes a private folder for copies.
///
/// # Errors
/// It cannot be made.
pub fn scratch() -> Result<TemporaryFolder, Failure> {
    TemporaryFolder::create("corewise-fetched-").map_err(|why| engine::EngineError::temporary(why).into())
}

/// Returns where a recording can be read: its path, or of a URL the path of a copy.
///
/// # Errors
/// The store has no such recording, does not answer or refuses.
pub fn local(path: &Path) -> Result<Cow<'_, Path>, Failure> {
    if !stores::is_url(path) {
        return Ok(Cow::Borrowed(path));
    }
    let mut line = Line::new();
    line.show(|| format!("Fetching {}", path.display()));
    let folder = scratch()?;
    let copy = fleet::fetch(path, folder.path())?;
    COPIES.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
    Ok(Cow::Owned(copy))
}

/// Checks that a path exists; of a URL, only that this build reads stores of its kind. Nothing is fetched.
///
/// # Errors
/// It does not exist, or is not the URL of a store that this build reads.
pub fn check(path: &Path) -> Result<(), Failure> {
    if stores::is_url(path) {
        stores::Store::open(&path.display().to_string())?;
    } else {
        std::fs::metadata(path).map_err(Failure::at(path))?;
    }
    Ok(())
}

/// Removes all copies.
pub fn remove() {
    COPIES.lock().unwrap_or_else(PoisonError::into_inner).clear();
}
