//! Tests logs that we wrote, and those of other projects.

use crate::frame_logs::{Read, file, read};
use ingest::{Anomaly, Input};
use std::fmt::Write;
use std::path::Path;
use testkit::corpus;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// Compares our logs with the `*.md` in their folders, whose `trace` blocks name them.
#[test]
fn our_files_match_their_descriptions() {
    for folder in ["present_mon", "mango_hud", "cap_frame_x"] {
        let folder = Path::new(FIXTURES).join(folder);
        testkit::cases::run(&folder, |name| summary(&file(&std::fs::read(folder.join(name.trim())).unwrap()).unwrap()));
    }
}

fn summary(read: &Read) -> String {
    let (mut text, f) = (String::new(), &read.facts);
    let _ = writeln!(text, "{}; clock: {}; begins at {} us", read.format, f.clock, f.begin.unwrap().0 / 1_000);
    for (name, value) in &f.about {
        let _ = writeln!(text, "{name}: {value}");
    }
    for lack in f.lacks.iter().filter(|l| !l.starts_with("A frame log has no scheduler events")) {
        let _ = writeln!(text, "lacks: {lack}");
    }
    for (what, t) in &read.anomalies.0 {
        let kind = match t.what {
            Anomaly::Lost => "lost",
            Anomaly::NotUnderstood => "not understood",
            Anomaly::Warning => "warning",
        };
        let _ = writeln!(text, "{kind}: {what} (x {}, first at byte {})", t.count, t.first_offset);
    }
    for line in read.lines() {
        let _ = writeln!(text, "{line}");
    }
    text
}

#[test]
fn a_pipe_gives_the_same_as_a_file() {
    for name in ["present_mon/v1.csv", "mango_hud/versioned.csv", "cap_frame_x/two-runs.json"] {
        let bytes = std::fs::read(Path::new(FIXTURES).join(name)).unwrap();
        let format = import::detect(&bytes).unwrap();
        let pipe = read(format, Input::Pipe(Box::new(bytes.as_slice())), false).unwrap();
        assert_eq!(summary(&pipe), summary(&file(&bytes).unwrap()), "{name}");
    }
}

/// Every row of every valid log of other projects is a frame, without anomalies. The log without the column of time is refused with the
/// name of that column.
#[test]
fn cap_40_logs_of_others_are_read_row_by_row() {
    let mut rows_in_all = 0;
    for path in corpus::list("presentmon-csv") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        if name.contains("InvalidColumnFile") {
            let why = file(&bytes).err().unwrap();
            assert!(why.what.contains("TimeInSeconds") && why.offset == 0, "{why}");
            continue;
        }
        let read = file(&bytes).unwrap();
        let heads = |line: &&[u8]| line.starts_with(b"//") || line.trim_ascii().is_empty();
        let rows = bytes.split(|b| *b == b'\n').filter(|l| !heads(l)).count() - 1;
        assert_eq!(read.frames(), rows, "{name}");
        assert!(read.anomalies.0.is_empty(), "{name}: {:?}", read.anomalies.0);
        assert_eq!(read.events.iter().filter(|e| e.at.0 < 0).count(), 0, "{name}: frames before the begin");
        rows_in_all += rows;
    }
    assert_eq!(rows_in_all, 11_308, "the rows that wc and head count");
}

/// The unit of a time may only follow from the times of the frames; dates are also read.
#[test]
fn times_in_every_unit_are_read() {
    let text = |head: &str, times: [&str; 3]| {
        let rows = times.map(|t| format!("a.exe,1,0x1,{t},20.0,19.0\n")).concat();
        format!("Application,ProcessID,SwapChainAddress,{head},FrameTime,CPUBusy\n{rows}")
    };
    for (head, times) in [
        ("CPUStartTime", ["1.000", "1.020", "1.040"]),
        ("CPUStartTime", ["1000.0", "1020.0", "1040.0"]),
        ("CPUStartTimeInMs", ["1000.0", "1020.0", "1040.0"]),
        ("CPUStartTimeInSeconds", ["1.000", "1.020", "1.040"]),
        ("CPUStartQPC", ["10000000", "10200000", "10400000"]),
        ("CPUStartDateTime", ["2024-2-29 23:59:59.990", "2024-3-1 0:00:00.010000000", "2024-3-1 0:00:00.03"]),
    ] {
        let read = file(text(head, times).as_bytes()).unwrap();
        let begins: Vec<i64> =
            read.events.iter().filter(|e| e.what != model::EventKind::Sample).map(|e| e.at.0).collect();
        assert_eq!(
            begins.chunk_by(|a, b| a == b).map(|c| c[0]).collect::<Vec<_>>(),
            [0, 20_000_000, 40_000_000],
            "{head}"
        );
        assert!(read.anomalies.0.is_empty(), "{head}: {:?}", read.anomalies.0);
    }
}

/// Other files are not detected as frame logs, and a frame log without times is refused with a message.
#[test]
fn other_files_are_not_detected() {
    for text in ["", "a,b,c\n1,2,3\n", "Application,ProcessID\na.exe,1\n", "fps,elapsed\n60,1\n", "//not=a log\n"] {
        assert!(import::detect(text.as_bytes()).is_none(), "{text}");
    }
    let mango = "fps,cpu_load,gpu_load,elapsed\n60,1,2,3\n";
    assert!(file(mango.as_bytes()).is_err_and(|why| why.what.contains("frametime")));
    let cut = "//GameName=a\n//OS=b\n";
    assert!(file(cut.as_bytes()).is_err_and(|why| why.what.contains("MsBetweenPresents")));
}
