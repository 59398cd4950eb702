//! SchedViz: a folder of buffers and their formats, or eBPF output.
#![no_main]

use import::formats::schedviz::SchedViz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::folder(&SchedViz, bytes));
