//! Logs that are cut off or have wrong bytes: the importer returns a result or an error with a place, and never panics, hangs or uses
//! much memory.

use crate::frame_logs::file;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::Rng;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

fn originals() -> Vec<(String, Vec<u8>)> {
    let logs = ["present_mon", "mango_hud", "cap_frame_x"]
        .map(|folder| std::fs::read_dir(Path::new(FIXTURES).join(folder)).unwrap());
    let paths = logs.into_iter().flatten().map(|e| e.unwrap().path()).filter(|p| p.extension().unwrap() == "csv");
    paths.map(|p| (p.display().to_string(), std::fs::read(&p).unwrap())).collect()
}

fn check_limits(bytes: &[u8], what: &str) {
    let before = Instant::now();
    if let Ok(read) = file(bytes) {
        assert!(read.frames() <= bytes.len(), "{what}: {} frames", read.frames());
        assert_eq!(read.late, 0, "{what}: sorted, no event is late");
    }
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
}

#[test]
fn files_cut_anywhere_are_handled() {
    for (name, bytes) in originals() {
        for keep in 0..bytes.len() {
            check_limits(&bytes[..keep], &format!("{name} cut at {keep}"));
        }
    }
}

#[test]
fn wrong_bytes_are_handled() {
    let mut rng = Rng(1);
    for (name, original) in originals() {
        for turn in 0..400 {
            let mut bytes = original.clone();
            for _ in 0..=rng.below(8) {
                let at = rng.below(bytes.len());
                bytes[at] = b",\"\n-.:9eEN/x\0\xff"[rng.below(14)];
            }
            check_limits(&bytes, &format!("{name}, turn {turn}"));
        }
    }
}

/// Each row has another swap chain and program; the times fall by a day from row to row.
#[test]
fn rows_without_order_and_many_names_are_handled() {
    let mut text = "Application,ProcessID,SwapChainAddress,TimeInSeconds,msBetweenPresents\n".to_owned();
    for row in 0..20_000 {
        text.push_str(&format!("{row}.exe,{row},{row:#x},{},{row}e9\n", (20_000 - row) * 86_400));
    }
    let read = file(text.as_bytes()).unwrap();
    // The maximum time is 3 years.
    assert!(read.frames() > 1_000 && read.anomalies.0.len() == 2, "{:?}", read.anomalies.0);
    assert!(read.events.is_sorted_by_key(|e| e.at), "in order");
}

#[test]
fn very_long_lines_are_handled() {
    let head = "Application,ProcessID,TimeInSeconds,msBetweenPresents\n";
    let text = [head.as_bytes(), &b"a".repeat(1 << 20), b"\na.exe,1,0.5,10\n", &b",".repeat(1 << 20)].concat();
    let read = file(&text).unwrap();
    assert_eq!(read.frames(), 1);
    assert!(read.anomalies.0.len() >= 2, "{:?}", read.anomalies.0);
}
