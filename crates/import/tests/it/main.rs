//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // tests fail by panicking

mod ctf;
mod frame_logs;
mod perf_data;
mod perfetto;
mod schedviz;
mod states;
mod text;
mod trace_dat;
