//! Errors, with messages that say what happened, where, and what to do.

use ingest::{Ending, Fatal};
use std::path::{Path, PathBuf};

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A system call failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The source cannot be read.
    #[error("{}: {fatal}", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// The place in the file, and the reason.
        fatal: Fatal,
    },
    /// A later reading of the source ended differently from the first, so their results cannot be combined.
    #[error("{}: the file changed while it was read: first {first}, then {then}; try again when nothing writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// How the first reading ended.
        first: String,
        /// How the later reading ended.
        then: String,
    },
    /// No importer recognises the file.
    #[error("{}: unknown format, at byte 0 (corewise reads {known}, and its own trace folders; `corewise formats` says how to record each){hint}", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The known formats.
        known: String,
        /// What the file looks like, and what to do; may be empty.
        hint: &'static str,
    },
    /// Temporary files cannot be written or read.
    #[error("temporary files in {}: {error}; set TMPDIR to a folder with free space", folder.display())]
    Temporary {
        /// The folder of the temporary files.
        folder: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The trace folder cannot be written or read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The caller refused the output.
    #[error("cannot write: {0}")]
    Output(std::io::Error),
    /// The recording does not have what was requested: a table, a process, a mark, a frame. The message says what it has.
    #[error("{0}")]
    NotFound(String),
    /// The recording cannot answer the request as it was made. The message says what to ask instead.
    #[error("{0}")]
    Unfit(String),
    /// The path is no recording that can be opened. The message says what to do.
    #[error("{0}")]
    NotOpened(String),
    /// What was to be read is damaged.
    #[error("{0}")]
    Damaged(String),
    /// A defect of corewise.
    #[error("{0}")]
    Bug(String),
}

impl From<account::SpillError> for EngineError {
    fn from(error: account::SpillError) -> Self {
        Self::temporary(error.0)
    }
}

impl EngineError {
    /// Returns a function for [`Result::map_err`] that adds the path.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }

    /// Converts an error of a temporary file; for [`Result::map_err`].
    pub fn temporary(error: std::io::Error) -> Self {
        Self::Temporary { folder: std::env::temp_dir(), error }
    }

    /// Returns an error unless two readings of a source ended in the same way.
    pub(crate) fn check_same_ending(path: &Path, first: &Ending, then: &Ending) -> Result<(), Self> {
        if first == then {
            return Ok(());
        }
        let describe = |ending: &Ending| match &ending.stopped {
            Some(fatal) => format!("{} events and \"{fatal}\"", ending.events),
            None => format!("{} events", ending.events),
        };
        Err(Self::Changed { path: path.to_owned(), first: describe(first), then: describe(then) })
    }

    /// A folder lacks a table, or has a version of it with other columns.
    pub(crate) fn outdated(folder: &store::Folder, table: &str) -> Self {
        Self::NotOpened(format!(
            "{}: the table {table} is missing or has other columns than this version of corewise expects: import the source again",
            folder.path().display()
        ))
    }
}
