//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // tests fail by panicking

mod callchains;
mod cap_frames;
#[path = "../../../store/tests/it/cells/mod.rs"]
mod cells;
mod critical;
mod failing;
mod firefox;
mod fixtures;
mod folder;
mod frame_marks;
mod parts;
#[allow(dead_code, reason = "the tests of the importer use all of it")]
#[path = "../../../import/tests/it/perf_data/writer.rs"]
mod perf_data;
mod periods;
mod samples;
mod slow_frames;
mod sources;
#[path = "../../../report/tests/it/support/mod.rs"]
mod support;
mod thread_states;
mod trials;
mod unwound;
