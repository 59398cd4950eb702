//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::unit_arg)] // tests fail by panicking

mod cases;
mod laws;
mod referee;
mod support;
