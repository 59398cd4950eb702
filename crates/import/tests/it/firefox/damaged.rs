//! Tests profiles that are damaged, of other versions, or made to exhaust memory.

use super::{OURS, read};

fn ours(name: &str) -> String {
    std::fs::read_to_string(format!("{OURS}/{name}")).unwrap()
}

/// Returns why a profile is not read.
fn refused(text: &str) -> String {
    match read(text.as_bytes()) {
        Err(why) => why.what,
        Ok(read) => panic!("{} events", read.events.len()),
    }
}

#[test]
fn other_versions_and_formats_are_refused_with_what_to_do() {
    let of = |version: &str| ours("elapsed.json").replace("\"preprocessedProfileVersion\": 47, ", version);
    for (text, words) in [
        (of("\"preprocessedProfileVersion\": 71, "), "a newer corewise may read it"),
        (of("\"preprocessedProfileVersion\": 40, "), "which converts it"),
        (of("\"version\": 30, "), "as Firefox itself writes it"),
        (of("\"preprocessedProfileVersion\": 47, \"sampleUnits\": {\"time\": \"bytes\"}, "), "it has no times"),
        ("{\"meta\": 7}".to_owned(), "or it is damaged"),
        ("{}".to_owned(), "or it is damaged"),
        ("[1, 2]".to_owned(), "or it is damaged"),
        (ours("elapsed.json").replace("[1.25, 2.25, 3.25]", "[[1.25], 2.25]"), "or it is damaged"),
        (ours("elapsed.json").replace("\"tid\": 7", "\"tid\": [7]"), "or it is damaged"),
    ] {
        let why = refused(&text);
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn profiles_that_would_exhaust_memory_are_refused() {
    let meta = "{\"meta\": {\"preprocessedProfileVersion\": 55}, ";
    for (text, words) in [
        (format!("{meta}\"threads\": [{}", "{},".repeat(70_000)), "more than 65,536 threads"),
        (format!("{meta}\"x\": {}", "[".repeat(100)), "more than 64 brackets"),
        (format!("{meta}\"x\": \"{}\"}}", "a".repeat(2 << 20)), "more than 1 MiB"),
    ] {
        let why = refused(&text);
        assert!(why.contains(words), "{why}");
    }
}

/// A file that ends anywhere is an error with its place, and never a panic.
#[test]
fn files_cut_anywhere_are_refused() {
    for name in ["shared.json", "elapsed.json"] {
        let text = ours(name);
        let whole = text.trim_end().len();
        for at in 0..whole {
            let Some(part) = text.get(..at) else { continue };
            let why = read(part.as_bytes()).map(|read| read.events.len()).unwrap_err();
            assert!(why.offset <= at as u64, "{name} cut at {at}: {why}");
        }
    }
}

/// Any number in place of another: indices that lead nowhere, backwards or in a circle, times out of range.
#[test]
fn wrong_numbers_are_handled() {
    for name in ["shared.json", "elapsed.json", "samply.json"] {
        let text = ours(name);
        let bytes = text.as_bytes();
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let starts = (1..bytes.len()).filter(|at| is_digit(*at) && !is_digit(at - 1) && bytes[at - 1] != b'"');
        let step = if name == "samply.json" { 7 } else { 1 };
        for start in starts.step_by(step) {
            let end = (start..).find(|at| !is_digit(*at)).unwrap();
            for number in ["-1", "3", "99999999", "4294967295", "1e300", "-1e18", "null"] {
                let changed = format!("{}{number}{}", &text[..start], &text[end..]);
                // What is not valid JSON, or another version, is refused.
                if let Ok(read) = read(changed.as_bytes()) {
                    assert!(read.stacks.iter().all(|chain| chain.len() <= 1024));
                }
            }
        }
    }
}
