//! Profiles of samply and the Firefox Profiler.
#![no_main]

use import::formats::firefox::Firefox;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&Firefox, bytes));
