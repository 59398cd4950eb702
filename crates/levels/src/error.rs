//! What can go wrong, in a sentence with where and what to do.

use std::path::{Path, PathBuf};

/// Why levels cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refuses.
    #[error("{}: {doing}: {why}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// While doing what.
        doing: &'static str,
        /// What the system says.
        why: std::io::Error,
    },
    /// The file is not what a writer of this version left.
    #[error("{}: {what}: remove the file, and it is made anew", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// More was asked for than is answered.
    #[error("this is more than {0} slices: ask for a shorter time, a coarser width or fewer tracks")]
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
