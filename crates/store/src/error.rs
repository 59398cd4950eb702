//! What can go wrong with a trace folder, in words that say where and what to do.

use std::path::{Path, PathBuf};

/// A trace folder could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The folder is there already and is not empty.
    #[error("{}: is there already and not empty; nothing is overwritten: choose another folder or remove it", .0.display())]
    Exists(PathBuf),
    /// Not a trace folder.
    #[error("{}: is not a trace folder: {why}", path.display())]
    NotATrace {
        /// Which path.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// The folder is of a format that this corewise does not know yet.
    #[error(
        "{}: written by a newer corewise (format {found}, this one reads up to {known}): please update corewise",
        path.display()
    )]
    Newer {
        /// Which manifest.
        path: PathBuf,
        /// The format found.
        found: u32,
        /// The newest known.
        known: u32,
    },
    /// A file of the folder is damaged.
    #[error("{}: damaged: {what}; {todo}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where in it.
        what: String,
        /// What to do.
        todo: &'static str,
    },
    /// The folder does not have this table.
    #[error("{}: has no table {name}; it has: {has}", path.display())]
    NoTable {
        /// Which folder.
        path: PathBuf,
        /// The table asked for.
        name: String,
        /// Those it has.
        has: String,
    },
    /// A fault of corewise itself.
    #[error("a bug in corewise, please report it: {0}")]
    Bug(String),
    /// Rows could not be written out.
    #[error("writing {format}: {source}")]
    Output {
        /// csv, json, md or parquet.
        format: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What to do about a damaged event or state file.
pub(crate) const AGAIN: &str = "import the source again, or copy the folder again";
/// What to do about a damaged cached table.
pub(crate) const RECOMPUTE: &str = "remove this file: corewise computes it again";

impl Error {
    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, what, source }
    }

    pub(crate) fn damaged(path: &Path, what: impl std::fmt::Display, todo: &'static str) -> Self {
        // Messages of the parquet crate begin with its own words for the kind of error, of no use here.
        let what = what.to_string();
        let what = what.strip_prefix("Parquet error: ").unwrap_or(&what).to_owned();
        Self::Damaged { path: path.to_owned(), what, todo }
    }
}
