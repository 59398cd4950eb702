//! trace.dat.
#![no_main]

use import::formats::trace_dat::TraceDat;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&TraceDat, bytes));
