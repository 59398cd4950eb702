//! Texts that other projects recorded, and texts of this project's guests; all held against the referee.

use crate::referee::compare;
use crate::{Read, file};
use model::What;
use std::path::{Path, PathBuf};
use std::process::Command;

const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");

/// A file of the collection.
fn shared(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(TRACES).join(name)).unwrap_or_else(|why| panic!("{TRACES}/{name}: {why}"))
}

/// Reads it, asks the referee about `text`, and compares.
fn held(name: &str, bytes: &[u8], text: String) -> Read {
    let read = file(bytes).unwrap_or_else(|why| panic!("{name}: {why}"));
    let answers = testkit::referee::ask(&[text]);
    compare(name, &read, &answers[0]);
    let switches = read.events.iter().filter(|e| matches!(e.what, What::Switch(_))).count();
    let wakes = read.events.iter().filter(|e| matches!(e.what, What::Wake(_))).count();
    let (threads, cpus) = (&answers[0]["threads"], &answers[0]["cpus"]);
    let counts = (threads.as_array().map_or(0, Vec::len), cpus.as_object().map_or(0, serde_json::Map::len));
    eprintln!("{name}: {switches} switches, {wakes} wakings, {counts:?} threads and CPUs equal");
    read
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "needs ../shared, python3"]
fn a_board_with_big_and_little_cores() {
    let bytes = shared("trace-dat/lisa__trace_txt.txt");
    let read = held("lisa__trace_txt.txt", &bytes, lossy(&bytes));
    assert_eq!(read.late, 0);
    assert!(read.events.iter().any(|e| matches!(e.what, What::Frequency { khz: 1_200_000, .. })), "LISA's own marks");
    assert!(read.troubles.0.is_empty(), "{:?}", read.troubles.0);
}

/// The first page that systrace wrote. Its marks are by a function called `0`, which the referee does not read as
/// events; they move the end of the recording, so it is handed them under their later name.
#[test]
#[ignore = "needs ../shared, python3"]
fn a_page_of_the_first_systrace() {
    let bytes = shared("systrace/catapult__android_systrace.html");
    let text = lossy(&bytes);
    let begin = text.find("var linuxPerfData").unwrap();
    let text = text[begin..].replace(": 0: ", ": tracing_mark_write: ").replace("\\n\\\n", "\n");
    let text: String = text.lines().filter(|l| !l.contains("dummy-0000")).map(|l| format!("{l}\n")).collect();
    let read = held("catapult__android_systrace.html", &bytes, text);
    let marks = read.events.iter().filter(|e| matches!(e.what, What::Mark(_))).count();
    let values = read.events.iter().filter(|e| matches!(e.what, What::Value { .. })).count();
    assert_eq!(marks + values, 13_577, "marks and values");
}

#[test]
#[ignore = "needs ../shared, python3"]
fn atrace() {
    let bytes = shared("systrace/catapult__atrace_data");
    // An x that the kernel itself printed is "dead", since only kernels before 4.14 print one; the referee must be told.
    let text = lossy(&bytes).replace("prev_state=x ", "prev_state=X ");
    let read = held("catapult__atrace_data", &bytes, text);
    assert!(read.troubles.0.len() <= 1, "{:?}", read.troubles.0);
    let bytes = shared("systrace/catapult__decompressed_atrace_data.txt");
    let read = file(&bytes).unwrap();
    let count = |wanted: fn(&What) -> bool| read.events.iter().filter(|e| wanted(&e.what)).count();
    assert_eq!(count(|w| matches!(w, What::Mark(_))), 463 + 463 + 9 + 17);
    assert_eq!(count(|w| matches!(w, What::Value { .. })), 88);
    assert_eq!(count(|w| matches!(w, What::Clock { .. })), 2);
}

/// Each is read, or refused with a reason.
#[test]
#[ignore = "needs ../shared, python3"]
fn scripts_of_other_projects() {
    let folder = Path::new(TRACES).join("perf-script-text");
    for path in std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let text = lossy(&bytes);
        let read = if text.contains("sched_switch") {
            held(&name, &bytes, text.trim_start_matches('\u{feff}').replace("cpu_clock:", "cpu_clock: "))
        } else {
            file(&bytes).unwrap_or_else(|why| panic!("{name}: {why}"))
        };
        assert_eq!(read.format, "perf script", "{name}");
        assert!(read.troubles.0.is_empty(), "{name}: {:?}", read.troubles.0);
        eprintln!("{name}: {} events", read.events.len());
    }
}

/// What `trace-cmd report` prints of every trace.dat, in all its ways.
#[test]
#[ignore = "needs ../shared, python3, trace-cmd"]
fn reports_of_trace_cmd() {
    let mut recordings: Vec<PathBuf> = ["lisa__sched_load_trace.dat", "trappy__trace_idle.dat"]
        .map(|n| Path::new(TRACES).join("trace-dat").join(n))
        .into();
    let guests = std::fs::read_dir(Path::new(TRACES).join("guests")).unwrap();
    recordings.extend(guests.map(|g| g.unwrap().path().join("trace.dat")).filter(|p| p.is_file()));
    assert!(recordings.len() > 2, "{recordings:?}");
    const WAYS: [&[&str]; 3] = [&["-t", "-R"], &["-t"], &[]];
    for (at, path) in recordings.iter().enumerate() {
        // The referee is slow: each way for the small ones of other projects, one way for each guest.
        for ways in if at < 2 { &WAYS[..] } else { &WAYS[at % 3..][..1] } {
            let out = Command::new("trace-cmd").arg("report").args(*ways).arg("-i").arg(path).output().unwrap();
            assert!(out.status.success(), "{}: {}", path.display(), lossy(&out.stderr));
            let out = out.stdout;
            let name = format!("{} {ways:?}", path.strip_prefix(TRACES).unwrap().display());
            let read = held(&name, &out, lossy(&out));
            let bad: u64 = read.troubles.0.values().map(|t| t.count).sum();
            assert_eq!((bad, read.late), (0, 0), "{name}: {:?}", read.troubles.0);
        }
    }
}
