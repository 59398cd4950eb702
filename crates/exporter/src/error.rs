//! Errors of the server.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why snapshots cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExporterError {
    /// The address cannot be listened on.
    #[error("cannot listen on {at}: {why}{}", advice(.why))]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The system's reason.
        why: std::io::Error,
    },
    /// Other hosts could read everything.
    #[error(
        "{0} can be reached by other hosts, which then need a token: give a file that has one with --token-file, or listen on \
         127.0.0.1"
    )]
    NeedsToken(SocketAddr),
    /// The token cannot be used.
    #[error("{}: {why}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// The reason, without the token.
        why: String,
    },
    /// The system does not allow the server to run.
    #[error("cannot serve: {0}")]
    Serve(String),
}

fn advice(why: &std::io::Error) -> &'static str {
    match why.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another program, maybe another corewise watch, uses it: choose another port"
        }
        std::io::ErrorKind::AddrNotAvailable => "; this machine does not have that address",
        std::io::ErrorKind::PermissionDenied => "; choose a port above 1023",
        _ => "",
    }
}
