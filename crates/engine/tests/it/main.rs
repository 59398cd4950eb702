//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // tests fail by panicking

mod callchains;
mod cap_frames;
#[path = "../../../store/tests/it/cells/mod.rs"]
mod cells;
mod critical;
mod failing;
mod fixtures;
mod folder;
mod frame_marks;
mod parts;
mod periods;
mod slow_frames;
mod sources;
#[path = "../../../report/tests/it/support/mod.rs"]
mod support;
mod thread_states;
