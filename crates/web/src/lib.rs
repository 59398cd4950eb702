//! What the local HTTP servers share (`serve`, the viewer's; `exporter`, that of `corewise watch`): connections limited in number and in
//! time, requests that must name this machine, tokens compared in constant time, the headers of every answer, and
//! the pages that are part of the binary.
//!
//! ```text
//!   listen ──▶ Connections (limits) ──▶ axum::serve ──▶ check_place, same_token ──▶ an answer with HEADERS
//! ```

mod checks;
mod connections;
mod pages;

pub use checks::{HEADERS, Refused, check_place, same_token};
pub use connections::{Answering, Caller, Connection, Connections, Limits, Standing};
pub use pages::{Pages, VIEWER, WATCH};

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};

/// The number of connections that may wait to be accepted. If the queue is full, a client retries after one second, then three.
const WAITING: u32 = 4096;

/// Starts listening on an address; port 0 means any free port.
///
/// # Errors
/// The address is in use or does not belong to this machine. Must be called within a runtime.
pub fn listen(at: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // The port can be reused while connections of an earlier run are still closing.
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    socket.listen(WAITING)
}
