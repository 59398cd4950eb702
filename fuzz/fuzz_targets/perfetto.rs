//! Perfetto traces.
#![no_main]

use import::formats::perfetto::Perfetto;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&Perfetto, bytes));
