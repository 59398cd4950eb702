//! Tests that a hostile trace.dat costs little memory: wrong sizes, many CPUs, highly compressed bytes. It runs in a process of its
//! own, since it counts allocations.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // tests fail by panicking
#![allow(unsafe_code)]

#[path = "it/support/allocated.rs"]
mod allocated;
#[allow(dead_code)]
#[path = "it/trace_dat/writer.rs"]
mod writer;

use allocated::{NOW, PEAK};
use import::formats::trace_dat::TraceDat as Format;
use ingest::{Importer, Input, Limits, Ordered};
use model::Batch;
use std::io::Cursor;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use writer::{Ring, Shape, TraceDat};

const MIB: usize = 1 << 20;

/// Reads bytes, and checks the peak of allocated memory.
fn check_cost(what: &str, bytes: &[u8]) {
    let before = Instant::now();
    let held = NOW.load(Ordering::Relaxed);
    PEAK.store(held, Ordering::Relaxed);
    if let Ok(opened) = Format.open(Input::File(Box::new(Cursor::new(bytes)))) {
        let mut ordered = Ordered::new(opened, false, Limits::default());
        let mut batch = Batch::default();
        while ordered.next(&mut batch) {}
    }
    let cost = PEAK.load(Ordering::Relaxed) - held;
    eprintln!("{what}: {} MiB, {:?}", cost / MIB, before.elapsed());
    assert!(cost < 200 * MIB, "{what}: {} MiB", cost / MIB);
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
}

#[test]
fn hostile_files_cost_little() {
    let seven = Shape { codec: "zstd", ..Shape::SEVEN };

    let mut many = TraceDat::new(Shape { page: 1024, ..Shape::PLAIN }, 5_000);
    for cpu in 0..5_000 {
        many.cpu(cpu).switch(1_000, 0, 0, 11).turn().switch(2_000, 11, 1, 0);
    }
    check_cost("more CPUs than possible", &many.file());

    let mut bomb = TraceDat::new(seven, 1);
    bomb.formats = vec!["x".repeat(60 * MIB)];
    check_cost("a description of 60 MiB", &bomb.file());
    bomb.formats = vec!["name: x\nID: 7\n".to_owned(); 2_000_000];
    check_cost("two million descriptions", &bomb.file());

    let mut names = TraceDat::new(seven, 1);
    let lines: String = (1..2_000_000).map(|n| format!("{n} n{n}\n")).collect();
    names.cmdlines = Box::leak(lines.into_boxed_str());
    names.cpu(0).switch(1_000, 0, 0, 11);
    check_cost("two million names", &names.file());

    // Pages full of the shortest records.
    let large = Shape { page: 8 * MIB, ..Shape::SEVEN };
    let mut dense = TraceDat::new(large, 2);
    for cpu in 0..2 {
        let ring: &mut Ring = dense.cpu(cpu);
        for at in 1_000..1_501_000 {
            ring.record(at, &[0; 8]);
        }
    }
    check_cost("pages of 8 MiB", &dense.file());

    let mut empty = TraceDat::new(seven, 1);
    empty.cpu(0).pages = vec![vec![0; 4096]; 40_000];
    check_cost("empty pages", &empty.file());
    empty.cpu(0).pages = vec![vec![0xff; 4096]; 40_000];
    check_cost("invalid pages", &empty.file());
}
