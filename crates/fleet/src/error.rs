//! Errors of a catalogue. Each message says what happened, where, and what to do.

use engine::EngineError;
use std::path::{Path, PathBuf};
use stores::StoreError;

/// A catalogue could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The file system reported an error.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// Not a catalogue.
    #[error("{}: is not a catalogue: {why}: make one with `corewise fleet index RUNS --into {}`", path.display(), path.display())]
    NotACatalogue {
        /// The path.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// Written by a newer corewise.
    #[error("{}: written by a newer corewise (catalogue {found}, this one reads up to {known}): please update corewise", path.display())]
    Newer {
        /// The catalogue.
        path: PathBuf,
        /// The version found.
        found: u32,
        /// The newest version that can be read.
        known: u32,
    },
    /// A file of the catalogue is damaged.
    #[error("{}: damaged: {what}; remove the catalogue and index the recordings again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        what: String,
    },
    /// Another process is indexing.
    #[error("{}: another `corewise fleet` writes to this catalogue: wait until it has ended", .0.display())]
    Busy(PathBuf),
    /// Another process is indexing into a store, or was until a few minutes ago.
    #[error("{}: another `corewise fleet` writes to this catalogue, or was interrupted: try again in 5 minutes", .0.display())]
    AtWork(PathBuf),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Request(String),
    /// An object store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A table could not be written.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl FleetError {
    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, what, source }
    }

    pub(crate) fn damaged(path: &Path, what: impl std::fmt::Display) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_string() }
    }
}
