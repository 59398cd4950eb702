//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests fail by panicking

mod cap_cases;
mod capacities;
mod cases;
mod nothing_to_check;
mod sarif;
#[path = "../../../report/tests/it/support/mod.rs"]
mod support;
