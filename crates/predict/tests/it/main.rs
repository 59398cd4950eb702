//! Programs of drawn recordings, and what is predicted from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests fail by panicking

mod demand;
mod outcome;
#[path = "../../../report/tests/it/support/mod.rs"]
mod support;
