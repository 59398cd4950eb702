//! What a hostile perf.data may cost in memory: sizes that lie, sections named a thousand times, bytes packed a
//! thousandfold. Alone in its process, since it counts what is allocated.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // a test fails by panicking
#![allow(unsafe_code)]

#[path = "support/allocated.rs"]
mod allocated;
#[allow(dead_code)]
#[path = "perf_data/writer.rs"]
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

/// Reads it both ways; gives the most that was allocated beyond the bytes themselves.
fn cost(what: &str, bytes: &[u8]) {
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
    cost("every attribute has the whole file as its ids", &bytes);
    cost("many attributes in a pipe", &many.pipe());

    let mut features = usual.clone();
    features.features = (2..250).map(|bit| (bit, vec![1; 60_000])).collect();
    cost("features", &features.file());
    let again = features.features.clone();
    (0..8).for_each(|_| features.features.extend(again.iter().cloned()));
    cost("features again and again", &features.pipe());

    let zeros = PerfData { records: vec![vec![0; 64 * MIB]], ..usual.clone() };
    cost("bytes that are no record", &zeros.file());
    cost("packed bytes that are no record", &zeros.packed(64 * MIB).file());

    let empty = record(order, 1, 0, &[]);
    let empties = PerfData { records: vec![empty.repeat(8 * MIB)], ..usual.clone() };
    cost("packed records that say nothing", &empties.packed(64 * MIB).pipe());

    let mut tiny = usual.clone();
    for _ in 0..200_000 {
        tiny.record(81, 0, &[0x28]);
    }
    cost("many packed records of a byte", &tiny.file());

    let mut cpus = usual.clone();
    for n in 0..300_000_u32 {
        cpus.switch(1_000, n.wrapping_mul(9973), 0, 0, 11);
    }
    cost("more CPUs than there can be", &cpus.file());

    let mut index = usual.clone();
    let entry = |n: u64| Bytes::new(order).u64(n).u64(0).u64(n).u64(u64::MAX).1;
    let entries: Vec<u8> = (0..2_000).flat_map(entry).collect();
    let body = Bytes::new(order).u64(2_000).raw(&entries).1;
    index.records = vec![record(order, 69, 0, &body); 500];
    cost("ids", &index.file());

    let mut torn = usual.clone();
    for n in 0..60_000_u64 {
        torn.record(9, 0, &[]);
        torn.switch(1_000 + n, (n % 64) as u32, 0, 0, 11);
    }
    cost("records that cannot be read", &torn.file());
}
