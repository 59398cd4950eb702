//! Compares texts of other projects and of this project's guests with the referee.

use crate::text::referee::compare;
use crate::text::{Read, file};
use ingest::Anomaly;
use model::EventKind;
use std::path::PathBuf;
use std::process::Command;
use testkit::corpus;

/// Returns a file of the collection.
fn recording(name: &str) -> Vec<u8> {
    std::fs::read(corpus::path(name)).unwrap()
}

/// Reads a text and compares it with the referee's result for `text`.
fn compare_with_referee(name: &str, bytes: &[u8], text: String) -> Read {
    let read = file(bytes).unwrap_or_else(|why| panic!("{name}: {why}"));
    let answers = testkit::referee::ask(&[text]);
    compare(name, &read, &answers[0]);
    let switches = read.events.iter().filter(|e| matches!(e.what, EventKind::Switch(_))).count();
    let wakes = read.events.iter().filter(|e| matches!(e.what, EventKind::Wake(_))).count();
    let (threads, cpus) = (&answers[0]["threads"], &answers[0]["cpus"]);
    let counts = (threads.as_array().map_or(0, Vec::len), cpus.as_object().map_or(0, serde_json::Map::len));
    eprintln!("{name}: {switches} switches, {wakes} wakeups, {counts:?} threads and CPUs equal");
    read
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "needs python3"]
fn a_board_with_big_and_little_cores() {
    let bytes = recording("trace-dat/lisa__trace_txt.txt");
    let read = compare_with_referee("lisa__trace_txt.txt", &bytes, lossy(&bytes));
    assert_eq!(read.late, 0);
    assert!(
        read.events.iter().any(|e| matches!(e.what, EventKind::Frequency { khz: 1_200_000, .. })),
        "LISA's own marks"
    );
    assert!(read.anomalies.0.is_empty(), "{:?}", read.anomalies.0);
}

/// The first page format of systrace. Its marks are by a function named `0`, which the referee does not read as events. They change
/// the end of the recording, so the referee gets them under their later name.
#[test]
#[ignore = "needs corpus, python3"]
fn a_page_of_the_first_systrace() {
    let bytes = recording("systrace/catapult__android_systrace.html");
    let text = lossy(&bytes);
    let begin = text.find("var linuxPerfData").unwrap();
    let text = text[begin..].replace(": 0: ", ": tracing_mark_write: ").replace("\\n\\\n", "\n");
    let text: String = text.lines().filter(|l| !l.contains("dummy-0000")).map(|l| format!("{l}\n")).collect();
    let read = compare_with_referee("catapult__android_systrace.html", &bytes, text);
    let marks = read.events.iter().filter(|e| matches!(e.what, EventKind::Mark(_))).count();
    let values = read.events.iter().filter(|e| matches!(e.what, EventKind::Value { .. })).count();
    assert_eq!(marks + values, 13_577, "marks and values");
}

#[test]
#[ignore = "needs python3"]
fn atrace() {
    let bytes = recording("systrace/catapult__atrace_data");
    // An x printed by the kernel itself means "dead", since only kernels before 4.14 print it; replace it for the referee.
    let text = lossy(&bytes).replace("prev_state=x ", "prev_state=X ");
    let read = compare_with_referee("catapult__atrace_data", &bytes, text);
    assert!(read.anomalies.0.len() <= 1, "{:?}", read.anomalies.0);
    let bytes = recording("systrace/catapult__decompressed_atrace_data.txt");
    let read = file(&bytes).unwrap();
    let count = |wanted: fn(&EventKind) -> bool| read.events.iter().filter(|e| wanted(&e.what)).count();
    assert_eq!(count(|w| matches!(w, EventKind::Mark(_))), 463 + 463 + 9 + 17);
    assert_eq!(count(|w| matches!(w, EventKind::Value { .. })), 88);
    assert_eq!(count(|w| matches!(w, EventKind::Clock { .. })), 2);
}

/// Each text is read.
#[test]
#[ignore = "needs python3"]
fn scripts_of_other_projects() {
    for path in corpus::list("perf-script-text") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let text = lossy(&bytes);
        let read = if text.contains("sched_switch") {
            compare_with_referee(
                &name,
                &bytes,
                text.trim_start_matches('\u{feff}').replace("cpu_clock:", "cpu_clock: "),
            )
        } else {
            file(&bytes).unwrap_or_else(|why| panic!("{name}: {why}"))
        };
        assert_eq!(read.format, "perf script", "{name}");
        let is_unread = |what: Anomaly| what != Anomaly::Warning;
        assert!(!read.anomalies.0.values().any(|t| is_unread(t.what)), "{name}: {:?}", read.anomalies.0);
        eprintln!("{name}: {} events", read.events.len());
    }
}

/// Reads the output of `trace-cmd report` for every trace.dat, with each set of options.
#[test]
#[ignore = "needs corpus, python3, trace-cmd"]
fn reports_of_trace_cmd() {
    let mut recordings: Vec<PathBuf> = ["lisa__sched_load_trace.dat", "trappy__trace_idle.dat"]
        .map(|name| corpus::path(&format!("trace-dat/{name}")))
        .into();
    recordings.extend(corpus::list("guests").into_iter().map(|guest| guest.join("trace.dat")).filter(|p| p.is_file()));
    assert!(recordings.len() > 2, "{recordings:?}");
    const OPTIONS: [&[&str]; 3] = [&["-t", "-R"], &["-t"], &[]];
    for (at, path) in recordings.iter().enumerate() {
        // The referee is slow: all options for the small files of other projects, one set for each guest.
        for options in if at < 2 { &OPTIONS[..] } else { &OPTIONS[at % 3..][..1] } {
            let out = Command::new("trace-cmd").arg("report").args(*options).arg("-i").arg(path).output().unwrap();
            assert!(out.status.success(), "{}: {}", path.display(), lossy(&out.stderr));
            let out = out.stdout;
            let name = format!("{} {options:?}", path.display());
            let read = compare_with_referee(&name, &out, lossy(&out));
            let bad: u64 = read.anomalies.0.values().map(|t| t.count).sum();
            assert_eq!((bad, read.late), (0, 0), "{name}: {:?}", read.anomalies.0);
        }
    }
}
