//! Programs, debug information and the names of generated code never make the reader of names panic, loop or take much memory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::time::{Duration, Instant};
use symbols::generated::{of_jitdump, of_perf_map};

fuzz_target!(|data: &[u8]| {
    let Some((kind, data)) = data.split_first() else { return };
    let addresses = [0, 0x1000, 0x1010, 0x1139, 0x40_1000, 0x40_1136, 1 << 47, u64::MAX];
    match kind {
        b'm' => assert_eq!(of_perf_map(data, &addresses).map_or(8, |found| found.len()), 8),
        b'j' => assert_eq!(of_jitdump(data, &addresses).map_or(8, |found| found.len()), 8),
        b'x' => drop(symbols::decompressed(data)),
        _ => {
            // Each place of a small program, so that all its functions are read.
            let offsets: Vec<u64> = (0..data.len().min(1 << 14) as u64).step_by(7).chain(addresses).collect();
            let until = Instant::now() + Duration::from_secs(5);
            if let Some(named) = symbols::functions::of_image(data, &offsets, until) {
                assert_eq!(named.functions.len(), offsets.len());
            }
        }
    }
});
