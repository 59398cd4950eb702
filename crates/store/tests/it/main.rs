//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::unit_arg)] // tests fail by panicking

mod cells;
mod folder;
mod format_1;
mod formats;
mod symbolized;
