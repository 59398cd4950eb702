//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests fail by panicking

mod ab_measured;
mod cap_frames;
mod cap_tables;
mod causes;
mod drawn;
mod frames_by_numpy;
mod identity;
mod roles;
#[path = "../../../report/tests/it/support/mod.rs"]
mod support;
