//! Traces that are cut off or have wrong bytes: the importer returns a result or an error with a place, and never panics, hangs or uses
//! much memory.

use crate::ctf::writer::{CONTEXT, HEADER, Packet, SWITCH, preamble, switch, trace};
use crate::ctf::{Files, read};
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::Rng;

fn originals() -> Vec<Files> {
    let ours = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/ctf"));
    vec![Files::of(&ours.join("lttng-le")), Files::of(&ours.join("lttng-be"))]
}

fn check_limits(files: &Files, what: &str) {
    let before = Instant::now();
    let trace = read(files);
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
    if let Ok(trace) = trace {
        assert!(trace.events.len() < 100_000, "{what}: {} events", trace.events.len());
    }
}

#[test]
fn files_cut_anywhere_are_handled() {
    for (which, files) in originals().iter().enumerate() {
        for name in files.0.keys() {
            let length = files.0[name].len();
            for cut in (0..length).step_by(length / 97 + 1) {
                let mut files = files.clone();
                files.0.get_mut(name).unwrap().truncate(cut);
                check_limits(&files, &format!("trace {which}, {name} cut at {cut}"));
            }
        }
    }
}

#[test]
fn flipped_bytes_are_handled() {
    let mut rng = Rng(1);
    for (which, files) in originals().iter().enumerate() {
        for turn in 0..400 {
            let mut files = files.clone();
            let names: Vec<String> = files.0.keys().cloned().collect();
            let bytes = files.0.get_mut(&names[rng.below(names.len())]).unwrap();
            // Headers are small, so change them more often.
            let among = if turn % 3 == 0 { 100 } else { bytes.len() };
            for _ in 0..=rng.below(8) {
                bytes[rng.below(among)] = [0, 0xff, 0x80, rng.any() as u8][rng.below(4)];
            }
            check_limits(&files, &format!("trace {which}, turn {turn}"));
        }
    }
}

/// Moves words of the metadata, which gives unusual lengths and types.
#[test]
fn mixed_metadata_is_handled() {
    let mut rng = Rng(2);
    let text = preamble(CONTEXT, HEADER) + SWITCH;
    let words: Vec<&str> = text.split(' ').collect();
    for turn in 0..600 {
        let mut words = words.clone();
        for _ in 0..=rng.below(3) {
            let (from, to) = (rng.below(words.len()), rng.below(words.len()));
            words[to] = if turn % 4 == 0 { ["64", "-1", "0", "{", "}", "struct"][rng.below(6)] } else { words[from] };
        }
        let packets = [Packet::default().event(1, 5, &switch(0, 0, 7)).event(1, 9, &switch(7, 1, 0))];
        check_limits(&trace(&words.join(" "), &packets), &format!("turn {turn}"));
    }
}

#[test]
fn exponential_types_cost_little() {
    // Each struct contains two of the one before: 2^40 fields.
    let mut bomb = preamble(CONTEXT, HEADER) + "struct s0 { uint32_t x; };\n";
    for n in 1..=40 {
        bomb += &format!("struct s{n} {{ struct s{} a; struct s{} b; }};\n", n - 1, n - 1);
    }
    bomb += "event { name = \"e\"; id = 1; stream_id = 0; fields := struct { struct s40 all; }; };\n";
    // Arrays of arrays of empty structs.
    bomb += "event { name = \"f\"; id = 2; stream_id = 0; fields := struct { struct { } none[4000000000][4000000000]; }; };\n";
    bomb += "event { name = \"g\"; id = 3; stream_id = 0; fields := struct { unsigned long n; string s[n]; }; };\n";
    let many = [&u64::MAX.to_le_bytes()[..], &[0; 64]].concat();
    let packets = [Packet::default().event(2, 5, &[]).event(3, 6, &many), Packet::default().event(1, 5, &[0; 64])];
    check_limits(&trace(&bomb, &packets), "exponential types");
}

#[test]
fn wrong_sizes_are_handled() {
    let packets = [Packet::default().event(1, 5, &switch(0, 0, 7))];
    let files = trace(&(preamble(CONTEXT, HEADER) + SWITCH), &packets);
    for at in (8..52).step_by(4) {
        for wrong in [u64::MAX, 1 << 62, 1 << 40, 0, 8, 1] {
            let mut files = files.clone();
            files.0.get_mut("channel_0").unwrap()[at..at + 8].copy_from_slice(&wrong.to_le_bytes());
            check_limits(&files, &format!("{wrong} at {at}"));
        }
    }
}
