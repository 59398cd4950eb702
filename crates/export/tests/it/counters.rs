//! Counts of events, exported and read back.

use crate::support::{exported, rows, session};
use engine::{PassOptions, Session};
use export::Options;
use export::formats::chrome::Chrome;
use export::formats::perfetto::Perfetto;
use serde_json::Value as Json;
use std::path::Path;

/// Cycles and instructions of two CPUs of different types; the second reading of CPU 1 is multiplexed, the faults are of several threads.
const DRAWN: &str = "
cpu0 P0  A A A B B . . .
cpu1 E1  C C C C C C A As
count    . . A=cycles:400/2,A=instructions:800/2 C=cycles:100/3@1,C=instructions:50/3@1 B=cycles:300/1,B=instructions:300/1 C=cycles:200/2:1@1,C=instructions:30/2:1@1,?=faults:7/1@1 . A=cycles:500/1@1,A=instructions:250/1@1
";

fn drawn() -> Session {
    let mut trace = testkit::trace(DRAWN);
    trace.facts.machine = Some(testkit::machine(DRAWN));
    session(trace.facts, trace.batch)
}

/// The counts are the same, and what viewers see of them does not come back as values of programs.
#[test]
fn counts_come_back_from_perfetto() {
    let before = drawn();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drawn.pftrace");
    std::fs::write(&path, exported(&Perfetto, &before, &Options::default())).unwrap();
    let after = Session::open(&path, PassOptions::default()).unwrap();
    for table in ["thread_counters", "thread_ipc", "cpu_counters"] {
        let (was, is) = (rows(&before, table), rows(&after, table));
        assert_eq!(was, is, "{table}");
        assert!(!was.is_empty(), "{table}");
    }
    let mut values = 0;
    let count = &mut |events: &[model::Event], _: &[Box<str>]| {
        values += events.iter().filter(|e| matches!(e.what, model::EventKind::Value { .. })).count();
        Ok(())
    };
    after.events(count).unwrap();
    assert_eq!(values, 0);
}

/// The viewer's fixture is this drawing.
#[test]
fn the_fixture_of_the_viewer_has_these_counts() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer/test/browser/counted.pftrace");
    let before = drawn();
    if testkit::cases::is_blessing() {
        std::fs::write(&fixture, exported(&Perfetto, &before, &Options::default())).unwrap();
    }
    let after = Session::open(&fixture, PassOptions::default()).unwrap();
    for table in ["thread_counters", "thread_ipc", "thread_state", "cpu_state"] {
        assert_eq!(rows(&before, table), rows(&after, table), "{table}");
    }
}

#[test]
fn chrome_has_the_rate_of_each_event_from_the_reading_before_on() {
    let json: Json = serde_json::from_slice(&exported(&Chrome, &drawn(), &Options::default())).unwrap();
    let of = |name: &str| -> Vec<(f64, f64)> {
        let events = json["traceEvents"].as_array().unwrap().iter().filter(|event| event["name"] == name);
        events.map(|event| (event["ts"].as_f64().unwrap(), event["args"]["rate"].as_f64().unwrap())).collect()
    };
    assert_eq!(of("cpu 0 cycles [1/s]"), [(0.0, 200_000.0), (2000.0, 0.0), (3000.0, 300_000.0), (4000.0, 0.0)]);
    // Of the multiplexed reading, the part that was counted.
    assert_eq!(
        of("cpu 1 cycles [1/s]"),
        [(0.0, 33_333.0), (3000.0, 200_000.0), (5000.0, 0.0), (6000.0, 500_000.0), (7000.0, 0.0)]
    );
    assert_eq!(of("cpu 1 faults [1/s]"), [(4000.0, 7000.0), (5000.0, 0.0)]);
}
