//! Errors. Each message says what happened, where, and what to do.

use std::path::{Path, PathBuf};

/// Levels could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system reported an error.
    #[error("{}: {doing}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        why: std::io::Error,
    },
    /// The file is damaged or of another version.
    #[error("{}: {what}: remove the file; it will be created again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        what: &'static str,
    },
    /// The request exceeds the maximum number of slices.
    #[error("more than {0} slices: request a shorter time, a coarser width or fewer tracks")]
    TooMany(usize),
}

impl Error {
    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |why| Self::Io { path: path.to_owned(), doing, why }
    }

    pub(crate) fn damaged(path: &Path, what: &'static str) -> Self {
        Self::Damaged { path: path.to_owned(), what }
    }
}
