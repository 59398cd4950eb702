//! Captures of CapFrameX.
#![no_main]

use import::formats::cap_frame_x::CapFrameX;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&CapFrameX, bytes));
