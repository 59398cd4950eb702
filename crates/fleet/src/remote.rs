//! A catalogue in an object store: its files are copied when it is opened, and those that change are sent back.
//!
//! Only one run may write. A run first replaces `catalogue.json`, and only the version that it has read: of two that begin at the same time, the second
//! one fails there. Whoever finds it incomplete and recently written waits, since a run is at work or was interrupted.

use crate::catalogue::{ABOUT, PART};
use crate::error::FleetError;
use crate::tables::RECORDINGS;
use safefs::Dir;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use stores::{Object, Store, StoreError, Version, When};
use tempfile::TempDir;

/// A catalogue in a store, and the copy of it.
#[derive(Debug)]
pub(crate) struct Remote {
    store: Store,
    /// The version of `catalogue.json` that was read or written last; `None`: there is none.
    version: Option<Version>,
    copy: TempDir,
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
        let about = store.read(ABOUT)?;
        let copy = tempfile::Builder::new().prefix("corewise-catalogue-").tempdir();
        let copy =
            copy.map_err(FleetError::io(&std::env::temp_dir(), "making a folder for a copy of the catalogue"))?;
        let into = Dir::open_for_writing(copy.path()).map_err(FleetError::io(copy.path(), "opening it"))?;
        let (mut parts, mut others) = (Vec::new(), None::<String>);
        store.list("", &mut |object: Object| match object.name() {
            PART => parts.push(object),
            ABOUT => {}
            _ => others = Some(object.key.clone()),
        })?;
        let Some((json, version)) = about else {
            if let Some(other) = others.or_else(|| parts.first().map(|object| object.key.clone())) {
                let why = format!("it has no {ABOUT}, but {other}");
                return Err(FleetError::NotACatalogue { path: url.into(), why });
            }
            return Ok(Self { store, version: None, copy, changed: Mutex::default() });
        };
        store.fetch(&parts, "", &into)?;
        into.replace(ABOUT, &json).map_err(FleetError::io(copy.path(), "writing it"))?;
        Ok(Self { store, version: Some(version), copy, changed: Mutex::default() })
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
        if let Some(key) = file.strip_prefix(self.copy()).ok().and_then(Path::to_str) {
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

    /// Sends what has changed: `recordings` last, so that a recording is there when all of its rows are.
    ///
    /// # Errors
    /// The store does not answer or refuses. What was not sent is sent by the next call.
    pub(crate) fn send(&self) -> Result<(), FleetError> {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keys: Vec<String> = changed.iter().cloned().collect();
        keys.sort_by_key(|key| key.split('/').next() == Some(RECORDINGS.name));
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
