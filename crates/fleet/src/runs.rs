//! Where recordings are: a folder, or a folder of an object store, from which each one is fetched to be opened and then removed again.

use crate::error::FleetError;
use crate::measure::{Outcome, measure};
use crate::walk::{CACHES, Found, Kind, LEVELS, Walk};
use safefs::Dir;
use std::path::{Path, PathBuf};
use stores::{Object, Store, StoreError};
use tempfile::TempDir;

/// A folder, or a folder of a store.
#[derive(Debug)]
pub(crate) enum Runs {
    /// Its path, without links.
    Folder(PathBuf),
    Store(Box<Store>),
}

impl Runs {
    /// Opens a folder or a URL.
    ///
    /// # Errors
    /// It is no folder, or no URL of a store.
    pub(crate) fn open(runs: &Path) -> Result<Self, FleetError> {
        if stores::is_url(runs) {
            return Ok(Self::Store(Box::new(Store::open(&runs.display().to_string())?)));
        }
        let root = runs.canonicalize().map_err(FleetError::io(runs, "opening it"))?;
        if !root.is_dir() {
            return Err(FleetError::Request(format!(
                "{}: is not a folder: name the folder of the recordings",
                runs.display()
            )));
        }
        Ok(Self::Folder(root))
    }

    /// The folder or URL, below which all paths of recordings are.
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Folder(root) => root,
            Self::Store(store) => Path::new(store.url()),
        }
    }

    /// Finds all recordings.
    ///
    /// # Errors
    /// A store cannot be listed. What cannot be read of a folder is in the result.
    pub(crate) fn walk(&self) -> Result<Walk, FleetError> {
        match self {
            Self::Folder(root) => Ok(Walk::of(root)),
            Self::Store(store) => crate::walk_store::walk(store),
        }
    }

    /// The number of recordings that are opened at the same time, if nothing else is wanted: more where they must arrive first.
    pub(crate) fn jobs(&self) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        match self {
            Self::Folder(_) => cpus,
            Self::Store(_) => 2 * cpus,
        }
    }

    /// Opens and measures a recording. Copies are made in the folder `scratch`.
    pub(crate) fn measure(&self, found: &Found, scratch: &Path) -> Outcome {
        let path = crate::index::name(&found.path);
        if found.kind == Kind::Interrupted {
            return Outcome::Error(format!("{path}: {}", interrupted(&found.path)));
        }
        let store = match self {
            Self::Folder(_) => {
                return match measure(found, &found.path, &path) {
                    // Nothing could open it by the path in the catalogue.
                    Outcome::Recording(_) if found.path.to_str().is_none() => {
                        Outcome::Error(format!("{path}: its path is not UTF-8: rename it, and index again"))
                    }
                    outcome => outcome,
                };
            }
            Self::Store(store) => store,
        };
        match fetched(store, found, scratch) {
            Ok(Some((copy, at))) => match measure(found, &at, &path) {
                // The copy's path means nothing to the reader.
                Outcome::Error(why) => Outcome::Error(why.replace(&at.display().to_string(), &path)),
                outcome => {
                    drop(copy);
                    outcome
                }
            },
            Ok(None) => Outcome::Other,
            Err(why) => Outcome::Unreachable { why: why.to_string(), is_down: why.is_down() },
        }
    }
}

/// What to say of a recording that was interrupted.
pub(crate) fn interrupted(path: &Path) -> String {
    format!("this recording was interrupted before it was converted: run `corewise recover {}`", path.display())
}

/// The key of a recording in a store.
pub(crate) fn key<'a>(store: &Store, found: &'a Found) -> &'a str {
    let path = found.path.to_str().unwrap_or_default();
    path.strip_prefix(store.url()).unwrap_or_default().trim_start_matches('/')
}

/// The objects of a recording, without those that only the viewer needs.
///
/// # Errors
/// The store does not answer, or what it has is not what was found.
pub(crate) fn objects(store: &Store, found: &Found) -> Result<Vec<Object>, StoreError> {
    let key = key(store, found);
    let mut all = Vec::new();
    if found.kind == Kind::File {
        all.push(store.find(key)?);
        match store.find(&labels_key(key)) {
            Ok(labels) => all.push(labels),
            Err(StoreError::NotFound(_)) => {}
            Err(why) => return Err(why),
        }
    } else {
        store.list(key, &mut |object| {
            if below(&object.key, key).split('/').next() != Some(LEVELS) {
                all.push(object);
            }
        })?;
    }
    let is_measured = |object: &&Object| match found.kind {
        Kind::File => object.key == key,
        Kind::Trace | Kind::Interrupted => !is_cache(below(&object.key, key)),
    };
    let bytes: u64 = all.iter().filter(is_measured).map(|object| object.bytes).sum();
    if i64::try_from(bytes) != Ok(found.bytes) {
        return Err(StoreError::Changed(store.url_of(key)));
    }
    Ok(all)
}

/// A key without the folder in which it is.
pub(crate) fn below<'a>(key: &'a str, folder: &str) -> &'a str {
    if folder.is_empty() { key } else { key.strip_prefix(folder).map_or(key, |key| key.trim_start_matches('/')) }
}

/// Whether an object of a trace folder is no part of its size.
pub(crate) fn is_cache(below: &str) -> bool {
    below.split_once('/').is_some_and(|(first, _)| CACHES.contains(&first))
}

/// The key of the edited labels of a file.
pub(crate) fn labels_key(key: &str) -> String {
    format!("{key}.{}", engine::LABELS)
}

/// Fetches a recording; `None` if it is a file of no known format. Returns the folder that has the copy, and the copy.
pub(crate) fn fetched(store: &Store, found: &Found, scratch: &Path) -> Result<Option<(TempDir, PathBuf)>, StoreError> {
    let (key, objects) = (key(store, found), objects(store, found)?);
    if let (Kind::File, Some(file)) = (found.kind, objects.first()) {
        let head = store.head(file, engine::HEAD)?;
        if !engine::may_be_recording(&head) {
            return Ok(None);
        }
    }
    let local = |why: std::io::Error| StoreError::Local {
        url: store.url_of(key),
        why: format!("a folder for its copy cannot be made in {}: {why}", scratch.display()),
    };
    let folder = tempfile::Builder::new().prefix("fetched-").tempdir_in(scratch).map_err(local)?;
    let into = Dir::open_for_writing(folder.path()).map_err(local)?;
    let name = found.path.file_name().map_or("recording".into(), |name| name.to_string_lossy());
    let at = folder.path().join(name.as_ref());
    match found.kind {
        Kind::File => store.fetch(&objects, key, &into)?,
        Kind::Trace | Kind::Interrupted => store.fetch(&objects, key, &into.make(name.as_ref()).map_err(local)?)?,
    }
    Ok(Some((folder, at)))
}
