//! Replays: laws over drawn programs, and what EEVDF, quotas, groups and real-time threads do with readable ones.

mod eevdf;
mod laws;
mod ran;
