//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // tests fail by panicking

mod block;
mod counters;
mod counters_offline;
mod futexes;
mod hidden_switches;
mod live;
mod names;
mod objects;
mod sample;
mod sets;
mod settings;
mod support;
mod unwound;
