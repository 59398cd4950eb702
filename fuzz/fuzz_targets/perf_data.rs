//! perf.data, as a file and as a pipe.
#![no_main]

use import::formats::perf_data::PerfData;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&PerfData, bytes));
