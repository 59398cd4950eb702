//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // tests fail by panicking

mod cases;
mod counters;
mod places;
mod programs;
mod round_trip;
mod samples;
mod stacks;
mod support;
mod waits;
