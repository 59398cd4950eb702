//! Tests that a hostile perf.data costs little memory: wrong sizes, repeated sections, highly compressed bytes. It runs in a process
//! of its own, since it counts allocations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // tests fail by panicking
#![allow(unsafe_code)]

#[path = "it/support/allocated.rs"]
mod allocated;
#[allow(dead_code)]
#[path = "it/perf_data/writer.rs"]
mod writer;

use allocated::{NOW, PEAK};
use import::formats::perf_data::PerfData as Format;
use ingest::{Importer, Input, Limits, Ordered};
use model::Batch;
use std::io::Cursor;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use writer::{Attr, Bytes, Order, PerfData, USUAL, record};

const MIB: usize = 1 << 20;

/// Reads bytes as a file and as a pipe, and checks the peak of allocated memory.
fn check_cost(what: &str, bytes: &[u8]) {
    let before = Instant::now();
    for as_file in [true, false] {
        let held = NOW.load(Ordering::Relaxed);
        PEAK.store(held, Ordering::Relaxed);
        let input = if as_file { Input::File(Box::new(Cursor::new(bytes))) } else { Input::Pipe(Box::new(bytes)) };
        if let Ok(opened) = Format.open(input) {
            let mut ordered = Ordered::new(opened, false, Limits::default());
            let mut batch = Batch::default();
            while ordered.next(&mut batch) {}
        }
        let cost = PEAK.load(Ordering::Relaxed) - held;
        assert!(cost < 160 * MIB, "{what}: {} MiB", cost / MIB);
    }
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
}

#[test]
fn hostile_files_cost_little() {
    let order = Order::Little;
    let mut usual = PerfData::of_tracepoints(order, USUAL);
    usual.switch(1_000, 0, 0, 0, 11);

    let mut many = usual.clone();
    many.attrs = vec![Attr::tracepoint(316, USUAL); 40_000];
    let mut bytes = many.file();
    let all = bytes.len() as u64;
    let attrs_at = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    for at in (0..40_000).map(|n| attrs_at + n * 144 + 128) {
        bytes[at..at + 8].copy_from_slice(&0_u64.to_le_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&(all & !7).to_le_bytes());
    }
    check_cost("every attribute has the whole file as its ids", &bytes);
    check_cost("many attributes in a pipe", &many.pipe());

    let mut features = usual.clone();
    features.features = (2..250).map(|bit| (bit, vec![1; 60_000])).collect();
    check_cost("features", &features.file());
    let again = features.features.clone();
    (0..8).for_each(|_| features.features.extend(again.iter().cloned()));
    check_cost("repeated features", &features.pipe());

    let zeros = PerfData { records: vec![vec![0; 64 * MIB]], ..usual.clone() };
    check_cost("bytes are not a record", &zeros.file());
    check_cost("compressed bytes that are not a record", &zeros.packed(64 * MIB).file());

    let empty = record(order, 1, 0, &[]);
    let empties = PerfData { records: vec![empty.repeat(8 * MIB)], ..usual.clone() };
    check_cost("compressed empty records", &empties.packed(64 * MIB).pipe());

    let mut tiny = usual.clone();
    for _ in 0..200_000 {
        tiny.record(81, 0, &[0x28]);
    }
    check_cost("many compressed records of one byte", &tiny.file());

    let mut cpus = usual.clone();
    for n in 0..300_000_u32 {
        cpus.switch(1_000, n.wrapping_mul(9973), 0, 0, 11);
    }
    check_cost("more CPUs than possible", &cpus.file());

    let mut index = usual.clone();
    let entry = |n: u64| Bytes::new(order).u64(n).u64(0).u64(n).u64(u64::MAX).1;
    let entries: Vec<u8> = (0..2_000).flat_map(entry).collect();
    let body = Bytes::new(order).u64(2_000).raw(&entries).1;
    index.records = vec![record(order, 69, 0, &body); 500];
    check_cost("ids", &index.file());

    let mut unreadable = usual.clone();
    for n in 0..60_000_u64 {
        unreadable.record(9, 0, &[]);
        unreadable.switch(1_000 + n, (n % 64) as u32, 0, 0, 11);
    }
    check_cost("unreadable records", &unreadable.file());
}
