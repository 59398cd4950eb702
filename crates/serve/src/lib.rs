//! The viewer's server: pages, and what they draw, on loopback.
//!
//! ```text
//!  GET /?token=…                                   the token of this run becomes a cookie; all below needs it
//!      /                                           the page
//!      /api/about                                  the recording and its machine (JSON)
//!      /api/threads?first=&last=                   threads in the order of their tracks (Arrow IPC)
//!      /api/slices?kind=&first=&last=&from=&to=&width=   what is drawn of some tracks (Arrow IPC)
//!      /api/table/NAME?from=&to=&thread=&cpu=      rows of any table of a part of the recording (Arrow IPC)
//! ```
//!
//! Pages are part of the binary, found by comparing whole paths; nothing that a request says reaches the file system. Who may
//! ask is in `guard`. Slices come from the levels of detail (`levels/` in the trace folder, see [`prepare`]); tables from
//! the engine, one question at a time.

mod answer;
mod asked;
mod connections;
mod error;
mod feed;
mod guard;
mod kinds;
mod making;
mod pages;
mod prepare;
mod questions;
mod routes;
mod server;
mod tracks;

pub use error::ServeError;
pub use pages::are_built;
pub use prepare::{Prepared, prepare};
pub use server::{Options, Server};
pub use tracks::Tracks;

/// The tables that are only answered, never stored.
pub const ANSWERS: &[&model::TableDef] = &[&tracks::COLUMNS, &answer::SLICES, &answer::STEPS];
