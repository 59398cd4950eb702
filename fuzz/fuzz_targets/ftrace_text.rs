//! ftrace's text, and pages of systrace.
#![no_main]

use import::formats::ftrace_text::FtraceText;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&FtraceText, bytes));
