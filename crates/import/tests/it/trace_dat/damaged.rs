//! Files that are cut off or have wrong bytes: the importer returns a result or an error with a place, and never panics, hangs or uses
//! much memory.

use crate::trace_dat::file;
use crate::trace_dat::writer::{Order, Shape, TraceDat};
use std::time::{Duration, Instant};
use testkit::Rng;

/// Returns files of every shape, with some hundred records each.
fn originals() -> Vec<Vec<u8>> {
    let mut originals = Vec::new();
    for (version, order, codec) in [
        (6, Order::Little, "none"),
        (6, Order::Big, "none"),
        (7, Order::Big, "none"),
        (7, Order::Little, "zstd"),
        (7, Order::Little, "zlib"),
    ] {
        let mut d = TraceDat::new(Shape { order, version, page: 1024, long: 8, codec }, 2);
        d.cmdlines = "11 eleven\n";
        d.text_option(2, "CPU: 0\noverrun: 3\ndropped events: 1\n").text_option(7, "12");
        for at in 0..120 {
            let now = 1_000 + at * 40;
            d.cpu(0).switch(now, 0, 0, 11).switch(now + 20, 11, 1, 0);
            d.cpu(1).waking(now + 5, 11).print(now + 7, 11, "B|1|x").other(now + 9, 150);
        }
        d.cpu(0).lose(Some(2)).switch(9_000, 0, 0, 12);
        originals.push(d.file());
    }
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/trace_dat");
    for name in ["v6.dat", "v7-zstd.dat"] {
        originals.extend(std::fs::read(format!("{recorded}/{name}")));
    }
    originals
}

fn check_limits(bytes: &[u8], what: &str) {
    let before = Instant::now();
    if let Ok(read) = file(bytes) {
        assert!(read.events.len() < 100_000, "{what}: {} events", read.events.len());
        let laws = account::Laws::check(&crate::trace_dat::fixtures::totals(&read)).unwrap();
        assert!(laws.all_hold(), "{what}: {laws:?}");
    }
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
}

#[test]
fn files_cut_anywhere_are_handled() {
    for (which, bytes) in originals().iter().enumerate() {
        for length in (0..bytes.len()).step_by(197) {
            check_limits(&bytes[..length], &format!("file {which} cut at {length}"));
        }
    }
}

#[test]
fn flipped_bytes_are_handled() {
    let mut rng = Rng(1);
    for (which, bytes) in originals().iter().enumerate() {
        for turn in 0..150 {
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
fn wrong_sizes_are_handled() {
    for (which, bytes) in originals().iter().take(5).enumerate() {
        let size = bytes.len();
        for at in (18..size.min(2_000)).chain(size.saturating_sub(400)..size - 8).step_by(13) {
            for wrong in [u64::MAX, 1 << 62, 1 << 40, 1 << 27, size as u64, 0x00ff_ffff_00ff_ffff] {
                let mut bytes = bytes.clone();
                bytes[at..at + 8].copy_from_slice(&wrong.to_le_bytes());
                check_limits(&bytes, &format!("file {which}: {wrong} at {at}"));
            }
        }
    }
}

#[test]
fn a_cut_file_keeps_its_events_and_reports_the_cut() {
    let mut d = TraceDat::new(Shape::PLAIN, 1);
    d.cpu(0).switch(1_000, 0, 0, 11).turn().switch(2_000, 11, 1, 0);
    let bytes = d.file();
    let read = file(&bytes[..bytes.len() - 4096]).unwrap();
    assert_eq!(read.lines(), ["0 cpu0 swapper/0:0 Runnable → t11:11", "0 cpu0 lost -1 of Some(0): 0–∞"]);
    assert_eq!(read.anomalies.0.keys().collect::<Vec<_>>(), [&"the file ends before a CPU's events do"]);
}

#[test]
fn only_the_damaged_page_is_lost() {
    let mut d = TraceDat::new(Shape::PLAIN, 1);
    d.cpu(0).switch(1_000, 0, 0, 11).turn().switch(2_000, 11, 1, 0).turn().switch(3_000, 0, 0, 12);
    let mut bytes = d.file();
    let second = bytes.len() - 2 * 4096;
    bytes[second + 8..second + 12].copy_from_slice(&5_000_u32.to_le_bytes()); // longer than a page
    let read = file(&bytes).unwrap();
    let expected = [
        "0 cpu0 swapper/0:0 Runnable → t11:11",
        "2000 cpu0 lost -1 of Some(0): 0–2000",
        "2000 cpu0 swapper/0:0 Runnable → t12:12",
    ];
    assert_eq!(read.lines(), expected);
    assert_eq!(read.anomalies.0.len(), 1);
}

#[test]
fn cpus_with_the_same_data_are_refused() {
    let mut d = TraceDat::new(Shape::PLAIN, 2);
    d.cpu(0).switch(1_000, 0, 0, 11);
    d.cpu(1).switch(1_000, 0, 0, 12);
    let mut bytes = d.file();
    let table = bytes.windows(10).position(|w| w == b"flyrecord\0").unwrap() + 10;
    let first: Vec<u8> = bytes[table..table + 16].to_vec();
    bytes[table + 16..table + 32].copy_from_slice(&first);
    let refused = file(&bytes).err().unwrap();
    assert!(refused.what.contains("overlap"), "{refused}");
}
