//! The text of perf script.
#![no_main]

use import::formats::perf_script::PerfScript;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&PerfScript, bytes));
