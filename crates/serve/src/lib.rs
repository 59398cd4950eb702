//! The viewer's server: its pages and their data, on loopback.
//!
//! ```text
//!  GET /?token=…                                   sets the token of this run as a cookie, which all other requests need; or that of the shared address
//!      /                                           the page
//!      /api/progress                               what is being prepared (JSON); requests for data wait until that is done
//!      /api/about                                  the recording and its machine (JSON)
//!      /api/threads?first=&last=                   threads in the order of their tracks (Arrow IPC)
//!      /api/slices?kind=&first=&last=&from=&to=&width=   slices of some tracks (Arrow IPC)
//!      /api/table/NAME?from=&to=&thread=&cpu=&waker=      rows of a table that overlap a time (Arrow IPC)
//!      /api/findings                               the findings (JSON, as printed by `corewise diagnose`); 202 while they are computed
//!      /api/tables                                 the tables available for a part of the recording (JSON)
//!      /api/part/NAME?from=&to=&most=&by=&down=    the first rows of a table for a part, sorted by a column (Arrow IPC)
//!      /api/hits?from=&to=&most=&state=&longer=&name=&tid=&pid=&cpu=&core=&type=    stretches that match a search (Arrow IPC)
//!      /api/chain?thread=&at=                      the chain of wakeups that led to a thread (Arrow IPC)
//!      /api/frames/sources?intervals=              the sources of frames (JSON)
//!      /api/frames?of=&budget=                     the slowest frames of a source, and a histogram of all (Arrow IPC)
//!      /api/frames/causes?of=&budget=&rank=        the causes of one of them (Arrow IPC)
//!      /api/path?from=&to=&thread=                 the critical path to the end of a thread (Arrow IPC)
//!      /second/api/…                               the same for the second trace, if two are shown
//!      /api/changes                                what changed between two traces, by role of threads (JSON); 202 while they are compared
//! ```
//!
//! Pages are part of the binary and found by comparing whole paths; no part of a request reaches the file system. `guard` checks
//! requests, and `web` limits connections. Slices come from the levels of detail (`levels/` in the trace folder, see [`prepare`]); tables come from the engine, in
//! two threads that answer one query at a time: one for short lookups, one for computations over a time range. A limited number of
//! queries wait; further ones are answered with 503. A query ends early if its client disconnects.

mod alone;
mod answer;
mod build_levels;
mod cache;
mod chain;
mod changes;
mod error;
mod feed;
mod findings;
mod frames;
mod guard;
mod hits;
mod kinds;
mod pages;
mod panels;
mod part;
mod pending;
mod prepare;
mod queries;
mod query;
mod routes;
mod rows;
mod server;
#[cfg(test)]
mod testing;
mod tracks;

pub use alone::{Page, page, page_at};
pub use cache::{Cache, CacheEntry};
pub use changes::{ChangeMetric, Changes, ChangesReceiver, ChangesSender, RoleChange, ValueChange, changes};
pub use error::ServeError;
pub use pages::are_built;
pub use pending::Preparation;
pub use prepare::{Prepared, prepare};
pub use server::{Options, Server, Trace};
pub use tracks::Tracks;

/// Tables that exist only in answers and are never stored.
pub const ANSWERS: &[&model::TableDef] =
    &[&tracks::COLUMNS, &answer::SLICES, &answer::STEPS, &chain::COLUMNS, &frames::COLUMNS];
