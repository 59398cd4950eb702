//! Shows the snapshots of `watch` continuously: as metrics for Prometheus, and as a page, over HTTP.
//!
//! ```text
//!  GET /metrics     all metrics, in the format of the header Accept: classic text (the default), OpenMetrics, protobuf
//!      /            the page
//!      /api/now     the data of the page (JSON): sums, of which it takes differences
//!      /-/healthy   whether the server runs; needs no token
//! ```
//!
//! A [`Source`] gives snapshots; nothing here knows how they are made. Requests are checked and connections limited by `web`. Beyond
//! loopback, data need a token.

mod accept;
mod choice;
mod classes;
mod error;
mod metrics;
mod now;
mod readings;
mod server;
mod token;
mod unit;
mod view;

pub use accept::Format;
pub use error::ExporterError;
pub use metrics::{DEFINITIONS, Definition};
pub use readings::{FRESH, Source};
pub use server::{Options, Server};
pub use token::Token;
pub use unit::unit;
