//! CTF: a folder of `metadata` and streams.
#![no_main]

use import::formats::ctf::Ctf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::folder(&Ctf, bytes));
