//! What can go wrong, in a sentence with where and what to do.

use engine::EngineError;
use std::path::{Path, PathBuf};

/// An error of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The trace cannot be read, or a table not be written.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// As the system says.
        error: std::io::Error,
    },
    /// What was written cannot be handed on.
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
    /// Words for anything else.
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
