//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout)] // tests fail by panicking

mod ab;
mod ab_cores;
mod bench;
mod costs;
mod counters;
mod diagnose;
mod documented;
mod export;
mod files;
mod fleet;
mod format_1;
mod interrupts;
mod label;
mod mark_counters;
mod marks;
mod mistakes;
#[cfg(not(feature = "stores"))]
mod no_stores;
mod parking;
mod power;
mod printed;
mod quota;
mod record;
mod safe_files;
mod secrets;
mod settings;
mod sql;
mod stacks;
#[cfg(feature = "stores")]
mod stores;
mod support;
mod try_fix;
mod version;
mod view;
mod watch_listen;
mod words;
