//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // tests fail by panicking

mod alone;
mod answers;
mod frames;
mod kinds;
mod panels;
mod pending;
mod security;
mod share;
mod support;
mod two;
mod types;
