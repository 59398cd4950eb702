//! Frame logs of PresentMon, CapFrameX and OCAT.
#![no_main]

use import::formats::present_mon::PresentMon;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&PresentMon, bytes));
