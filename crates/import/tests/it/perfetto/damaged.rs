//! Traces that are cut off or have wrong bytes: the importer returns a result or an error with a place, and never panics, hangs or uses
//! much memory.

use crate::perfetto::read;
use crate::perfetto::writer::{Message, bundle, events, kernel_only, switch, trace};
use std::io::Write;
use std::time::{Duration, Instant};
use testkit::Rng;

const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/perfetto");

fn originals() -> Vec<Vec<u8>> {
    let files = ["plain", "compact", "compressed", "programs"];
    files.iter().map(|f| std::fs::read(format!("{OURS}/{f}.pftrace")).unwrap()).collect()
}

fn check_limits(bytes: &[u8], what: &str) {
    let before = Instant::now();
    if let Ok(read) = read(bytes) {
        assert!(read.events.len() < 200_000, "{what}: {} events", read.events.len());
    }
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
}

#[test]
fn files_cut_anywhere_are_handled() {
    for (which, bytes) in originals().iter().enumerate() {
        for length in (0..bytes.len()).step_by(bytes.len() / 150 + 1) {
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
            let among = if turn % 3 == 0 { bytes.len().min(600) } else { bytes.len() };
            for _ in 0..=rng.below(8) {
                bytes[rng.below(among)] = [0, 0xff, 0x80, rng.any() as u8][rng.below(4)];
            }
            check_limits(&bytes, &format!("file {which}, turn {turn}"));
        }
    }
}

#[test]
fn events_before_a_cut_are_kept_and_the_cut_is_reported() {
    let bytes =
        trace(&[kernel_only(), bundle(0, &events(&[switch(5, 0, 0, 11)])), bundle(0, &events(&[switch(9, 11, 1, 0)]))]);
    let read = read(&bytes[..bytes.len() - 3]).unwrap();
    assert_eq!(read.all(), ["0 cpu0 swapper:0 Runnable → t11:11"]);
    assert!(read.anomalies.0.contains_key("a packet is cut off by the end of the file"));
}

#[test]
fn wrong_sizes_are_handled() {
    let good = trace(&[bundle(0, &events(&[switch(5, 0, 0, 11)]))]);
    for size in [65 << 20, 1 << 40, u64::MAX] {
        let mut bytes = good.clone();
        bytes.push(10);
        let wrong = Message::default().number(1, size).0;
        bytes.extend_from_slice(&wrong[1..]);
        bytes.extend_from_slice(&good);
        let read = read(&bytes).unwrap();
        assert_eq!(read.all().len(), 1);
        assert!(read.anomalies.0.contains_key("a packet of more than 64 MiB was skipped"), "{:?}", read.anomalies.0);
    }
}

#[test]
fn a_file_with_garbage_between_packets_stops_with_a_place() {
    let mut bytes = trace(&[bundle(0, &events(&[switch(5, 0, 0, 11)]))]);
    let place = bytes.len() as u64;
    bytes.extend([0xff; 40]);
    let read = read(&bytes).unwrap();
    assert_eq!(read.all().len(), 1);
    assert_eq!(read.stopped.map(|s| s.offset), Some(place));
}

#[test]
fn the_size_of_uncompressed_packets_is_limited() {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..100 {
        packed.write_all(&[0; 1 << 20]).unwrap();
    }
    let bytes =
        trace(&[Message::default().bytes(50, &packed.finish().unwrap()), bundle(0, &events(&[switch(5, 0, 0, 11)]))]);
    let read = read(&bytes).unwrap();
    assert_eq!(read.all().len(), 1);
    assert!(read.anomalies.0.contains_key("compressed packets are damaged, or larger than 64 MiB"));
}
