//! Real programs, with their debug information in all places where it may be.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod files;
mod support;
