//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used)] // tests fail by panicking

mod http;
mod prometheus;
mod support;
