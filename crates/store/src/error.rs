//! Errors of a trace folder. Each message says what happened, where, and what to do.

use std::path::{Path, PathBuf};

/// A trace folder could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
    /// The folder exists and is not empty.
    #[error("{}: already exists and is not empty; nothing was overwritten: choose another folder or remove it", .0.display())]
    Exists(PathBuf),
    /// Not a trace folder.
    #[error("{}: is not a trace folder: {why}", path.display())]
    NotATrace {
        /// The path.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// The folder was written in a newer format than this corewise can read.
    #[error(
        "{}: written by a newer corewise (format {found}, this one reads up to {known}): please update corewise",
        path.display()
    )]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// The format version of the folder.
        found: u32,
        /// The newest version that can be read.
        known: u32,
    },
    /// A file of the folder is damaged.
    #[error("{}: damaged: {what}; {todo}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage, and its place in the file.
        what: String,
        /// What the user can do.
        todo: &'static str,
    },
    /// The folder does not have this table.
    #[error("{}: has no table {name}; it has: {has}", path.display())]
    NoTable {
        /// The folder.
        path: PathBuf,
        /// The requested table.
        name: String,
        /// The tables that the folder has.
        has: String,
    },
    /// A bug in corewise.
    #[error("a bug in corewise, please report it: {0}")]
    Bug(String),
    /// Rows could not be written to the output.
    #[error("writing {format}: {source}")]
    Output {
        /// csv, json, md or parquet.
        format: &'static str,
        /// The system's error.
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
        // Messages of the parquet crate begin with the kind of error, which is of no use here.
        let what = what.to_string();
        let what = what.strip_prefix("Parquet error: ").unwrap_or(&what).to_owned();
        Self::Damaged { path: path.to_owned(), what, todo }
    }
}
