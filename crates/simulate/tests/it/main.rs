//! Replays: laws over drawn programs, and what EEVDF, quotas, groups and real-time threads do with readable ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests fail by panicking

mod eevdf;
mod laws;
mod ran;
