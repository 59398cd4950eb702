//! A debuginfod server on this machine, in all moods.
#![cfg(feature = "remote")]
#![allow(clippy::unwrap_used, missing_docs)]

mod debuginfod;
