//! Texts that are cut off or have wrong bytes: the importer returns a result that is consistent, or an error with a place, and never
//! panics, hangs or uses much memory.

use crate::text::referee::totals;
use crate::text::{file, pipe};
use std::time::{Duration, Instant};
use testkit::Rng;

fn originals() -> Vec<(String, Vec<u8>)> {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let names = [
        "ftrace_text/trace.txt",
        "ftrace_text/overwritten.txt",
        "ftrace_text/raw.txt",
        "ftrace_text/report.txt",
        "ftrace_text/page.html",
        "ftrace_text/first-page.html",
        "ftrace_text/atrace.z",
        "perf_script/sched.txt",
        "perf_script/switch.txt",
        "perf_script/chains.txt",
    ];
    let added = crate::text::fixtures::folders()
        .into_iter()
        .filter(|folder| !["ftrace_text", "perf_script"].contains(&&**folder));
    let added = added.flat_map(|folder| {
        let files = std::fs::read_dir(format!("{fixtures}/{folder}")).unwrap();
        files.map(move |file| format!("{folder}/{}", file.unwrap().file_name().to_str().unwrap()))
    });
    let is_trace = |name: &String| !name.ends_with(".md") && !name.ends_with(".json");
    let names = names.map(str::to_owned).into_iter().chain(added.filter(is_trace));
    names.map(|n| (n.clone(), std::fs::read(format!("{fixtures}/{n}")).unwrap())).collect()
}

/// Reads bytes as a file and as a pipe, and checks time, events and consistency.
fn check_limits(bytes: &[u8], what: &str) {
    let before = Instant::now();
    for read in [file(bytes), pipe(bytes)].iter().flatten() {
        assert!(read.events.len() < 100_000, "{what}: {} events", read.events.len());
        let laws = account::Laws::check(&totals(read)).unwrap();
        assert!(laws.all_hold(), "{what}: {laws:?}");
    }
    assert!(before.elapsed() < Duration::from_secs(60), "{what} took {:?}", before.elapsed());
}

#[test]
fn files_cut_anywhere_are_handled() {
    for (name, bytes) in originals() {
        for length in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
            check_limits(&bytes[..length], &format!("{name} cut at {length}"));
        }
    }
}

#[test]
fn flipped_bytes_are_handled() {
    let mut rng = Rng(1);
    for (name, original) in originals() {
        for turn in 0..80 {
            let mut bytes = original.clone();
            let among = if turn % 3 == 0 { bytes.len().min(3_000) } else { bytes.len() };
            for _ in 0..=rng.below(40) {
                bytes[rng.below(among)] = [0, 0xff, b'\n', b'[', b':', b'9', b'-', rng.any() as u8][rng.below(8)];
            }
            check_limits(&bytes, &format!("{name}, turn {turn}"));
        }
    }
}

/// Removes or repeats bytes, which changes numbers and names.
#[test]
fn removed_and_repeated_bytes_are_handled() {
    let mut rng = Rng(2);
    for (name, original) in originals() {
        for turn in 0..40 {
            let mut bytes = original.clone();
            for _ in 0..20 {
                let (at, length) = (rng.below(bytes.len() - 40), rng.below(40));
                if rng.one_in(2) {
                    bytes.drain(at..at + length);
                } else {
                    let again = bytes[at..at + length].to_vec();
                    bytes.splice(at..at, again);
                }
            }
            check_limits(&bytes, &format!("{name}, turn {turn}"));
        }
    }
}

#[test]
fn numbers_of_any_size_are_handled() {
    for number in
        ["-1", "0", "4294967295", "18446744073709551615", "99999999999999999999", "0xffffffffffffffff", "", "x"]
    {
        let keyed = format!(
            "prev_comm=a prev_pid={number} prev_prio={number} prev_state={number} ==> next_comm=b next_pid={number} next_prio={number}"
        );
        let text = format!(
            "a-7 [000] 1.000000: sched_switch: {keyed}\na-{number} [{number}] {number}.{number}: sched_switch: {keyed}\n\
             a-7 ({number}) [{number}] 1.000001: sched_waking: comm=b pid={number} prio={number} target_cpu={number}\n\
             CPU:{number} [LOST {number} EVENTS]\n##### CPU {number} buffer started ####\n\
             a-7 [000] 2.000000: tracing_mark_write: C|{number}|x|{number}\na-7 [000] 2.000000: cpu_idle: state={number} cpu_id=1\n\
             a-7 [000] 2.000000: tracing_mark_write: trace_event_clock_sync: realtime_ts={number}\n"
        );
        check_limits(text.as_bytes(), number);
        let text = format!(
            "a 7 [000] 1.000000: x:\na {number}/{number} [{number}] {number}.{number}: {number} sched:sched_switch: {keyed}\n\
             a 7 [000] 2.0: PERF_RECORD_LOST lost {number}\na 7 [000] 2.0: PERF_RECORD_COMM: x:{number}/{number}\n\
             a 7 [000] 2.0: PERF_RECORD_FORK({number}:{number}):({number}:{number})\n"
        );
        check_limits(text.as_bytes(), number);
    }
}

/// A very long line, and many different marks: memory and time are limited.
#[test]
fn large_useless_input_is_handled() {
    let line = b"a-7 [000] 1.000000: x: y\n".to_vec();
    let endless = [line.clone(), vec![b'x'; 20 << 20]].concat();
    let read = file(&endless).unwrap();
    assert_eq!(read.events.len(), 2);
    let mut marks = line;
    for n in 0..60_000 {
        marks.extend(format!("a-7 [000] 1.000000: tracing_mark_write: B|7|{n}{}\n", "x".repeat(1_000)).bytes());
    }
    let read = file(&marks).unwrap();
    let kept: usize = read.names.iter().map(String::len).sum();
    assert!(kept <= 32 << 20, "{kept} bytes of names");
}

/// Lines with a start of a pattern at every position.
#[test]
fn lines_with_many_pattern_starts_are_handled() {
    let blanks = " ".repeat(100_000);
    for again in [
        ")[1] ",
        "1 [1] ",
        "-1 [1] ",
        "[",
        ": ",
        "1.5: ",
        " pid=1",
        " prev_pid=1 prev_prio=1",
        "prev_state=9 ",
        "\\",
        "|",
    ] {
        for begin in
            ["", "a-7 [000] 1.000000: sched_switch: prev_comm=", "a-7 [000] 1.000000: print: x: B|7|", blanks.as_str()]
        {
            for head in ["a-7 [000] 1.000000: x: y", "a 7 [000] 1.000000: x: y", "a 7 1.000000: x: y"] {
                let line = format!("{begin}{}\n", again.repeat(150_000 / again.len()));
                check_limits(format!("{head}\n{}", line.repeat(20)).as_bytes(), &format!("{begin:.20} {again}"));
            }
        }
    }
}
