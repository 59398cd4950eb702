//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::panic)] // tests fail by panicking

mod cores;
mod live;
