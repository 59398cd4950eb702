//! The viewer's server: pages, and what they draw, on loopback.
//!
//! ```text
//!  GET /?token=…                                   the token of this run becomes a cookie; all below needs it
//!      /                                           the page
//!      /api/about                                  the recording and its machine (JSON)
//!      /api/threads?first=&last=                   threads in the order of their tracks (Arrow IPC)
//!      /api/slices?kind=&first=&last=&from=&to=&width=   what is drawn of some tracks (Arrow IPC)
//!      /api/table/NAME?from=&to=&thread=&cpu=&waker=      rows of any table that overlap a time (Arrow IPC)
//!      /api/findings                               what is wrong (JSON, as `corewise diagnose` tells it); 202 while it is reckoned
//!      /api/tables                                 what can be asked of a part of the recording (JSON)
//!      /api/part/NAME?from=&to=&most=&by=&down=    a table of a part, the first rows by a column (Arrow IPC)
//!      /api/hits?from=&to=&most=&state=&longer=&name=&tid=&pid=&cpu=&core=&type=    stretches searched for (Arrow IPC)
//!      /api/chain?thread=&at=                      who woke a thread, who woke that one, and so on (Arrow IPC)
//!      /beside/api/…                               the same of the second trace, where two are shown
//! ```
//!
//! Pages are part of the binary, found by comparing whole paths; nothing that a request says reaches the file system. Who may
//! ask is in `guard`. Slices come from the levels of detail (`levels/` in the trace folder, see [`prepare`]); tables from
//! the engine: what is told of a moment in one thread, what is reckoned of a time in another, each one question at a time. So many
//! wait, the others are told to ask again; what is read for who has left is read no further.

mod alone;
mod answer;
mod asked;
mod chain;
mod connections;
mod error;
mod feed;
mod findings;
mod guard;
mod hits;
mod kinds;
mod making;
mod pages;
mod panels;
mod part;
mod prepare;
mod questions;
mod routes;
mod rows;
mod server;
mod tracks;

pub use alone::{Page, page};
pub use error::ServeError;
pub use pages::are_built;
pub use prepare::{Prepared, prepare};
pub use server::{Options, Server, Trace};
pub use tracks::Tracks;

/// The tables that are only answered, never stored.
pub const ANSWERS: &[&model::TableDef] = &[&tracks::COLUMNS, &answer::SLICES, &answer::STEPS, &chain::COLUMNS];
