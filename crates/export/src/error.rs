//! Errors of exports.

use engine::EngineError;
use std::path::{Path, PathBuf};

/// An error of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The trace cannot be read, or a table cannot be written.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A system call failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
    /// Any other error, as a message.
    #[error("{0}")]
    Words(String),
}

impl ExportError {
    /// For [`Result::map_err`].
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }
}
