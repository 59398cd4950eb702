//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // tests fail by panicking

mod choice;
mod costs;
mod described;
mod drawing;
mod hostile;
mod judgement;
mod overlay;
mod recorded;
mod support;
