//! A machine in any format of text: the user's TOML, hwloc's XML, lscpu, `/proc/cpuinfo`, YAML, JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::machine_text(bytes));
