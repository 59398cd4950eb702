//! Errors of starting a server, with messages that say what happened, where, and what to do.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The trace cannot be read.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// The levels of detail cannot be made or read.
    #[error(transparent)]
    Levels(#[from] levels::Error),
    /// The levels of detail cannot be written anywhere.
    #[error("{}: {why}; the trace folder is not writable either: set XDG_CACHE_HOME to a writable folder for the levels of detail", path.display())]
    NoPlace {
        /// The user's cache.
        path: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// The user's cache cannot be written.
    #[error("{}: {why}: set XDG_CACHE_HOME to a writable folder, or import the recording with `corewise import FILE -o run.cw` and view run.cw", path.display())]
    NoCache {
        /// The cache.
        path: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// The address is in use or does not belong to this machine.
    #[error("cannot listen on {at}: {why}: choose another --port, or omit it")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The system's error.
        why: std::io::Error,
    },
    /// The limit of a page is too small for the data that it needs.
    #[error("{limit} bytes are too few for the coarsest view of this recording: increase --html-limit")]
    Limit {
        /// The limit in bytes.
        limit: usize,
    },
    /// The system does not provide random numbers, threads or timers.
    #[error("cannot start the server: {0}")]
    Start(String),
}
