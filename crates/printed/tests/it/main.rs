//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // tests fail by panicking

mod cap_power;
mod cap_printed;
mod cases;
mod derived_expected;
mod hostile;
mod measured;
mod support;
