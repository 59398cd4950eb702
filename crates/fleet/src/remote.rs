//! A catalogue in an object store: its files are copied, and those that change are sent back. If the tables are packed, partitions are copied only
//! when they are needed.
//!
//! Only one run may write. A run first replaces `catalogue.json`, and only the version that it has read: of two that begin at the same time, the second
//! one fails there. A run that finds it incomplete and recently written does not begin, since another one is at work or was interrupted.

use crate::catalogue::{ABOUT, PART, is_complete};
use crate::error::FleetError;
use crate::packed::{PACKED, packed_name};
use crate::tables::{ERRORS, PARTITIONED, RECORDINGS};
use safefs::Dir;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use stores::{Object, Store, StoreError, Version, When};
use tempfile::TempDir;

/// How often a catalogue is fetched again that is written meanwhile.
const TRIES: usize = 3;

/// A catalogue in a store, and the copy of it.
#[derive(Debug)]
pub(crate) struct Remote {
    store: Store,
    /// The version of `catalogue.json` that was read or written last; `None`: there is none.
    version: Option<Version>,
    copy: TempDir,
    /// What the store has and the copy does not, by key.
    there: Mutex<BTreeMap<String, Object>>,
    /// Keys whose files were written or removed since they were last sent.
    changed: Mutex<BTreeSet<String>>,
}

impl Remote {
    /// Fetches a catalogue; an empty copy, if there is nothing.
    ///
    /// # Errors
    /// The store does not answer or refuses, has other objects there, or the copy cannot be written.
    pub(crate) fn fetch(url: &str) -> Result<Self, FleetError> {
        let store = Store::open(url)?;
        let mut tries = 0;
        loop {
            let about = store.read(ABOUT)?;
            let remote = Self::fetch_as_of(Store::open(url)?, about)?;
            tries += 1;
            // Written meanwhile: the files may be of different versions.
            let is_same = store.read(ABOUT)?.map(|(_, version)| version) == remote.version;
            if is_same || tries == TRIES {
                return Ok(remote);
            }
        }
    }

    fn fetch_as_of(store: Store, about: Option<(Vec<u8>, Version)>) -> Result<Self, FleetError> {
        let copy = tempfile::Builder::new().prefix("corewise-catalogue-").tempdir();
        let copy =
            copy.map_err(FleetError::io(&std::env::temp_dir(), "making a folder for a copy of the catalogue"))?;
        let (mut there, mut other) = (BTreeMap::new(), None::<String>);
        store.list("", &mut |object: Object| {
            if object.name() == PART || object.key.starts_with(PACKED) {
                there.insert(object.key.clone(), object);
            } else if object.name() != ABOUT {
                other = Some(object.key);
            }
        })?;
        let Some((json, version)) = about else {
            if let Some(other) = other.or_else(|| there.into_keys().next()) {
                let why = format!("it has no {ABOUT}, but {other}");
                return Err(FleetError::NotACatalogue { path: store.url().into(), why });
            }
            return Ok(Self { store, version: None, copy, there: Mutex::default(), changed: Mutex::default() });
        };
        let into = Dir::open_for_writing(copy.path()).map_err(FleetError::io(copy.path(), "opening it"))?;
        into.replace(ABOUT, &json).map_err(FleetError::io(copy.path(), "writing it"))?;
        let remote = Self { store, version: Some(version), copy, there: Mutex::new(there), changed: Mutex::default() };
        let packed: BTreeSet<String> = PARTITIONED.iter().map(|def| packed_name(def)).collect();
        let is_packed = is_complete(&json) && packed.iter().all(|key| remote.lock().contains_key(key));
        let is_wanted = |key: &str| !is_packed || packed.contains(key) || key.starts_with(ERRORS.name);
        remote.get(&is_wanted)?;
        Ok(remote)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Object>> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies what the copy does not have.
    fn get(&self, is_wanted: &dyn Fn(&str) -> bool) -> Result<(), FleetError> {
        let mut there = self.lock();
        let wanted: Vec<Object> = there.values().filter(|object| is_wanted(&object.key)).cloned().collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let into = Dir::open_for_writing(self.copy()).map_err(FleetError::io(self.copy(), "opening it"))?;
        self.store.fetch(&wanted, "", &into)?;
        wanted.iter().for_each(|object| drop(there.remove(&object.key)));
        Ok(())
    }

    fn key<'a>(&self, file: &'a Path) -> Option<&'a str> {
        file.strip_prefix(self.copy()).ok().and_then(Path::to_str)
    }

    /// Copies files if the store has them and the copy does not.
    ///
    /// # Errors
    /// The store does not answer or refuses.
    pub(crate) fn ensure(&self, files: &[PathBuf]) -> Result<(), FleetError> {
        let keys: BTreeSet<&str> = files.iter().filter_map(|file| self.key(file)).collect();
        self.get(&|key| keys.contains(key))
    }

    /// The files of a table that the copy does not have.
    pub(crate) fn missing(&self, table: &str) -> Vec<String> {
        self.lock().keys().filter(|key| key.split('/').next() == Some(table)).cloned().collect()
    }

    /// The folder of the copy.
    pub(crate) fn copy(&self) -> &Path {
        self.copy.path()
    }

    /// The URL of the catalogue.
    pub(crate) fn url(&self) -> &Path {
        Path::new(self.store.url())
    }

    /// Whether there is a catalogue.
    pub(crate) fn exists(&self) -> bool {
        self.version.is_some()
    }

    /// Notes that a file of the copy was written or removed.
    pub(crate) fn note(&self, file: &Path) {
        if let Some(key) = self.key(file) {
            self.lock().remove(key);
            self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
        }
    }

    /// Replaces `catalogue.json`, if it is as it was.
    ///
    /// # Errors
    /// Another run has written it meanwhile; the store does not answer or refuses.
    pub(crate) fn put_about(&mut self, json: Vec<u8>) -> Result<(), FleetError> {
        let when = self.version.take().map_or(When::New, When::Same);
        match self.store.put(ABOUT, json, when) {
            Ok(version) => self.version = Some(version),
            Err(StoreError::Changed(_)) => return Err(FleetError::Busy(self.url().to_owned())),
            Err(why) => return Err(why.into()),
        }
        Ok(())
    }

    /// Sends what has changed: `recordings` last, so that a recording is there when all of its rows are, and packed tables after that.
    ///
    /// # Errors
    /// The store does not answer or refuses. What was not sent is sent by the next call.
    pub(crate) fn send(&self) -> Result<(), FleetError> {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys: Vec<String> = changed.iter().cloned().collect();
        keys.sort_by_key(|key| (key.starts_with(PACKED), key.split('/').next() == Some(RECORDINGS.name)));
        for key in keys {
            let path = self.copy().join(&key);
            match File::open(&path) {
                Ok(file) => self.store.put_file(&key, file)?,
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                    self.store.remove(std::slice::from_ref(&key))?
                }
                Err(why) => return Err(FleetError::io(&path, "reading it")(why)),
            }
            changed.remove(&key);
        }
        Ok(())
    }
}
