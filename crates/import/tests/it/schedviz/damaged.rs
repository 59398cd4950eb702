//! Collections that are cut off or have wrong bytes: the importer returns a result or an error with a place, and never panics, hangs or uses
//! much memory.

use crate::schedviz::{Files, folder, read};
use ingest::Input;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::Rng;

fn originals() -> Vec<Files> {
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/schedviz");
    ["ftrace", "ebpf"].map(|name| Files::of_folder(&Path::new(ours).join(name))).to_vec()
}

fn check_limits(files: &Files, what: &str) {
    let before = Instant::now();
    if let Ok(read) = folder(files) {
        assert!(read.events.len() < 100_000, "{what}: {} events", read.events.len());
        // A line may only be late if sched.bt prints all bits of times; the file is then read again, sorted.
        assert!(read.late == 0 || what.contains("ebpf"), "{what}: {} events were late", read.late);
    }
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
}

#[test]
fn files_cut_anywhere_are_handled() {
    for files in originals() {
        for name in files.0.keys() {
            let length = files.0[name].len();
            for keep in (0..length).step_by((length / 40).max(1)) {
                let mut files = files.clone();
                files.0.get_mut(name).unwrap().truncate(keep);
                check_limits(&files, &format!("{name} cut at {keep}"));
            }
        }
    }
}

#[test]
fn flipped_bytes_are_handled() {
    let mut rng = Rng(1);
    for files in originals() {
        let names: Vec<String> = files.0.keys().cloned().collect();
        let events: Vec<&String> = names.iter().filter(|n| n.starts_with("traces/") || *n == "ebpf_trace").collect();
        for turn in 0..300 {
            let mut files = files.clone();
            for _ in 0..=rng.below(6) {
                // Events are most of a collection; change the headers of pages more often.
                let name = if turn % 4 == 0 { &names[rng.below(names.len())] } else { events[rng.below(events.len())] };
                let bytes = files.0.get_mut(name).unwrap();
                let length = bytes.len();
                if length > 0 {
                    let at = rng.below(length);
                    let at = if turn % 2 == 0 && length > 4096 { at / 4096 * 4096 + at % 24 } else { at };
                    bytes[at] = [0, 0xff, 0x80, rng.any() as u8][rng.below(4)];
                }
            }
            let kind = if files.0.contains_key("ebpf_trace") { "ebpf" } else { "ftrace" };
            check_limits(&files, &format!("{kind}, turn {turn}"));
        }
    }
}

#[test]
fn wrong_sizes_cost_no_memory() {
    let mut files = originals().remove(0);
    let page = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:8388592;\tsigned:1;\n";
    files.0.insert("formats/header_page".into(), page.into());
    let pages = files.0["traces/cpu0"].clone();
    for cpu in 0..1000 {
        files.0.insert(format!("traces/cpu{cpu}"), pages.clone());
    }
    assert!(folder(&files).is_err_and(|why| why.what.contains("too large")));
}

#[test]
fn very_long_lines_are_handled() {
    let text = [b"ST:0:1\n".as_slice(), &b"S:1:0:".repeat(1 << 18), b"\nS:1:0:0:0:8\n"].concat();
    let read = read(Input::Pipe(Box::new(text.as_slice()))).unwrap();
    assert_eq!(read.events.len(), 1);
    assert!(!read.anomalies.0.is_empty());
}
