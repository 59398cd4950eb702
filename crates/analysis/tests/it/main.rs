//! The tests of this crate that use it from outside, in one program: a module for each subject.
#![allow(clippy::unwrap_used, clippy::panic)] // tests fail by panicking

mod cap_counters;
mod cap_critical;
mod cap_marks;
mod cap_moves;
mod cap_parking;
mod cap_regions;
mod cap_settings;
mod cap_smt;
mod cap_threads;
mod cap_wait;
mod cases;
mod critical;
mod laws;
mod power_over_time;
mod requests;
mod support;
mod without;
