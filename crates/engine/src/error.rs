//! What can go wrong, in a sentence with where and what to do.

use ingest::{Ending, Fatal};
use std::path::{Path, PathBuf};

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// As the system says.
        error: std::io::Error,
    },
    /// The source cannot be read.
    #[error("{}: {fatal}", path.display())]
    Source {
        /// Which file.
        path: PathBuf,
        /// Where in it, and why.
        fatal: Fatal,
    },
    /// A later reading of the source ended otherwise than the first: what was found in both cannot be put together.
    #[error("{}: it changed while it was read: first {first}, then {then}; when nothing writes it any more, try again", path.display())]
    Changed {
        /// Which file.
        path: PathBuf,
        /// How the first reading ended.
        first: String,
        /// How the later one did.
        then: String,
    },
    /// No importer knows the file.
    #[error("{}: not a format that corewise reads, from byte 0 on (it reads {known}, and its own trace folders)", path.display())]
    UnknownFormat {
        /// Which file.
        path: PathBuf,
        /// The formats that there are.
        known: String,
    },
    /// Temporary files cannot be written or read.
    #[error("temporary files in {}: {error}; set TMPDIR to a folder with room", folder.display())]
    Temporary {
        /// Where.
        folder: PathBuf,
        /// As the system says.
        error: std::io::Error,
    },
    /// The trace folder cannot be written or read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// What was asked for cannot be handed out.
    #[error("cannot write: {0}")]
    Output(std::io::Error),
    /// Words for anything else.
    #[error("{0}")]
    Other(String),
}

impl From<account::SpillError> for EngineError {
    fn from(error: account::SpillError) -> Self {
        Self::temporary(error.0)
    }
}

impl EngineError {
    /// For [`Result::map_err`].
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }

    /// For [`Result::map_err`].
    pub fn temporary(error: std::io::Error) -> Self {
        Self::Temporary { folder: std::env::temp_dir(), error }
    }

    /// Two readings of a source must end alike.
    pub(crate) fn unless_alike(path: &Path, first: &Ending, then: &Ending) -> Result<(), Self> {
        if first == then {
            return Ok(());
        }
        let words = |ending: &Ending| match &ending.stopped {
            Some(fatal) => format!("{} events and \"{fatal}\"", ending.events),
            None => format!("{} events", ending.events),
        };
        Err(Self::Changed { path: path.to_owned(), first: words(first), then: words(then) })
    }

    /// A folder lacks a table, or has it as another version defines it.
    pub(crate) fn outdated(folder: &store::Folder, table: &str) -> Self {
        Self::Other(format!(
            "{}: the table {table} is not in this folder as this corewise defines it: import the source again",
            folder.path().display()
        ))
    }
}
