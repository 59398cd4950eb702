//! Files that are cut off or have wrong bytes: the importer returns a result or an error with a place, and never panics, hangs or uses
//! much memory.

use crate::perf_data::writer::{Order, PerfData, USUAL};
use crate::perf_data::{file, pipe};
use std::time::{Duration, Instant};
use testkit::Rng;

/// Returns files of every shape, with some hundred records each.
fn originals() -> Vec<Vec<u8>> {
    let mut originals = Vec::new();
    for order in [Order::Little, Order::Big] {
        let mut d = PerfData::of_tracepoints(order, USUAL);
        for round in 0..20 {
            for at in 0..10 {
                let now = 1_000 + round * 1_000 + at * 40;
                d.switch(now, 0, 0, 0, 11).waking(now + 5, 1, 12).switch(now + 10, 1, 0, 0, 12);
                d.switch(now + 20, 0, 11, 1, 0).switch(now + 30, 1, 12, 256, 0);
            }
            d.round();
        }
        originals.extend([d.file(), d.pipe(), d.packed(3_000).file(), d.packed(3_000).pipe()]);
    }
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/perf_data");
    for name in ["sched-zstd.data", "switch.data"] {
        originals.extend(std::fs::read(format!("{recorded}/{name}")));
    }
    originals
}

/// Reads bytes as a file and as a pipe, and checks time and events.
fn check_limits(bytes: &[u8], what: &str) {
    let before = Instant::now();
    let results = [file(bytes), pipe(bytes)];
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
    for read in results.iter().flatten() {
        assert!(read.events.len() < 100_000, "{what}: {} events", read.events.len());
    }
}

#[test]
fn files_cut_anywhere_are_handled() {
    for (which, bytes) in originals().iter().enumerate() {
        let step = if bytes.len() > 40_000 { 997 } else { 97 };
        for length in (0..bytes.len()).step_by(step) {
            check_limits(&bytes[..length], &format!("file {which} cut at {length}"));
        }
    }
}

#[test]
fn flipped_bytes_are_handled() {
    let mut rng = Rng(1);
    for (which, bytes) in originals().iter().enumerate() {
        for turn in 0..120 {
            let mut bytes = bytes.clone();
            // The header is small, so change it more often.
            let among = if turn % 3 == 0 { 600 } else { bytes.len() };
            for _ in 0..=rng.below(8) {
                bytes[rng.below(among)] = [0, 0xff, 0x80, rng.any() as u8][rng.below(4)];
            }
            check_limits(&bytes, &format!("file {which}, turn {turn}"));
        }
    }
}

#[test]
fn a_pipe_that_is_cut_off_keeps_its_events_and_reports_the_cut() {
    let d = {
        let mut d = PerfData::of_tracepoints(Order::Little, USUAL);
        d.switch(1_000, 0, 0, 0, 11).switch(1_100, 0, 11, 1, 0);
        d
    };
    let bytes = d.pipe();
    let read = pipe(&bytes[..bytes.len() - 20]).unwrap();
    let lines = read.lines();
    assert_eq!(lines[0], "0 cpu0 swapper/0:0 Runnable → t11:11");
    let anomalies: Vec<_> = read.anomalies.0.keys().collect();
    assert_eq!(anomalies, [&"a record is cut off by the end of the file"]);
}

#[test]
fn a_file_of_a_killed_recorder_has_no_size() {
    let mut d = PerfData::of_tracepoints(Order::Little, USUAL);
    d.switch(1_000, 0, 0, 0, 11);
    let mut bytes = d.file();
    bytes[48..56].fill(0);
    bytes[72..104].fill(0);
    // Without the descriptions after the events no tracepoint can be read, but the times can.
    let read = file(&bytes).unwrap();
    assert!(read.lines()[0].contains("Sample"), "{:?}", read.lines());
}

#[test]
fn wrong_sizes_cost_no_memory() {
    let d = {
        let mut d = PerfData::of_tracepoints(Order::Little, USUAL);
        d.switch(1_000, 0, 0, 0, 11);
        d
    };
    let bytes = d.file();
    for at in (16..104).step_by(8) {
        for wrong in [u64::MAX, 1 << 62, 1 << 40, 1 << 27, bytes.len() as u64] {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&wrong.to_le_bytes());
            check_limits(&bytes, &format!("{wrong} at {at}"));
        }
    }
}
