//! What can go wrong before a server answers, in a sentence with where and what to do.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The trace cannot be read.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// The levels of detail cannot be made or read.
    #[error(transparent)]
    Levels(#[from] levels::Error),
    /// There is no place for the levels of detail.
    #[error("{}: {why}; neither can levels of detail be written to the trace's folder: set XDG_CACHE_HOME to a folder that can be written", path.display())]
    NoPlace {
        /// The user's cache.
        path: PathBuf,
        /// What the system says.
        why: std::io::Error,
    },
    /// The address is taken, or not ours.
    #[error("cannot listen on {at}: {why}: choose another --port, or leave it out")]
    Listen {
        /// Which.
        at: SocketAddr,
        /// What the system says.
        why: std::io::Error,
    },
    /// A page of one file has no room for what it cannot be without.
    #[error("{limit} bytes are too few for the coarsest picture of this recording: allow more with --html-limit")]
    Limit {
        /// How many were allowed.
        limit: usize,
    },
    /// The system gives no random numbers, threads or timers.
    #[error("cannot start the server: {0}")]
    Start(String),
}
