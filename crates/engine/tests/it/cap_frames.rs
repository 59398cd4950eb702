//! Capability 40: frames of frame logs, classified one by one; in a file, in a folder, and together with a recording of threads.

use engine::{JoinedPart, JoinedSource, PassOptions, Session, Source, Target, import, open_source};
use model::{Ns, Span, Table, Value};
use std::path::{Path, PathBuf};
use testkit::ByName;
use testkit::figures::agrees;

const FIGURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/figures");
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures");

fn open(path: &Path) -> Session {
    Session::open(path, PassOptions::default()).unwrap()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(FIXTURES).join(name)
}

/// Reads a whole table.
fn table(session: &Session, name: &str, span: Option<Span>) -> Table {
    let mut table = Table::new(session.definition(name).unwrap());
    let mut keep = |rows: &[Vec<Value>]| {
        table.rows.extend_from_slice(rows);
        Ok(())
    };
    session.rows_within(name, span, &mut keep).unwrap();
    table
}

fn ints(table: &Table, col: &str) -> Vec<Option<i64>> {
    (0..table.rows.len()).map(|row| table.int(row, col)).collect()
}

/// Returns a column without nulls, in milliseconds.
fn ms(table: &Table, col: &str) -> Vec<f64> {
    ints(table, col).into_iter().map(|ns| ns.unwrap() as f64 / 1e6).collect()
}

fn bounds(table: &Table) -> Vec<&str> {
    (0..table.rows.len()).map(|row| table.text(row, "bound").unwrap()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}

/// The printed rows, in which the limiting unit changes.
#[test]
fn cap_40_seventeen_rows() {
    let path = Path::new(FIGURES).join("presentmon_rows.csv");
    let session = open(&path);
    let frames = table(&session, "frames", None);
    assert_eq!(frames.rows.len(), 17);
    assert!(session.summary().anomalies.is_empty(), "{:?}", session.summary().anomalies);
    let (between, gpu) = (ms(&frames, "between_presents_ns"), ms(&frames, "gpu_busy_ns"));
    agrees("40.mean_between", mean(&between));
    agrees("40.fps", 1000.0 / mean(&between));
    agrees("40.mean_gpu", mean(&gpu));
    let (present, shown) = (ms(&frames, "present_ns"), ms(&frames, "until_displayed_ns"));
    let display = ms(&frames, "between_display_change_ns");
    let after = |at: usize| present[at] - present[at - 1];
    agrees("40.id_time", largest((1..17).map(|at| after(at) - between[at])));
    agrees("40.id_display", largest((1..17).map(|at| after(at) + shown[at] - shown[at - 1] - display[at])));
    let (start, complete) = (ms(&frames, "until_render_start_ns"), ms(&frames, "until_render_complete_ns"));
    agrees("40.id_render", largest((0..17).map(|at| complete[at] - start[at] - display[at])));
    let idle = ms(&frames, "gpu_idle_ns");
    agrees("40.gpu_idle_1_7", largest(idle[..7].iter().copied()));
    agrees("40.gpu_idle_8_17", mean(&idle[7..]));
    agrees("40.gpu_idle_share", 100.0 * idle[7..].iter().sum::<f64>() / display[7..].iter().sum::<f64>());
    // Also rows 8 and 12, in which the GPU was idle for less than 10 us.
    assert!(idle[7] < 0.01 && idle[11] < 0.01);
    assert_eq!(bounds(&frames), [["gpu"; 7].as_slice(), &["cpu"; 10]].concat());
    let sums = table(&session, "frame_sums", None);
    assert_eq!((ints(&sums, "gpu_bound"), ints(&sums, "cpu_bound")), (vec![Some(7)], vec![Some(10)]));
    let Value::Float(fps) = sums.rows[0][sums.def.col("fps").unwrap()] else { panic!("no fps") };
    agrees("40.fps", fps);
}

/// In this log, the frames before rows 1, 2 and 6 were displayed as soon as they were rendered. Row 0 has no frame before it, row 4 has a
/// dropped one, row 3 was dropped itself, and row 5 has no GPU work.
#[test]
fn cap_40_judged_per_frame() {
    let session = open(&fixture("present_mon/v1.csv"));
    let frames = table(&session, "frames", None);
    assert_eq!(ints(&frames, "frame"), [0, 1, 2, 5, 3, 4, 6].map(Some));
    assert_eq!(bounds(&frames), ["unknown", "gpu", "cpu", "unknown", "unknown", "unknown", "cpu"]);
    let idle = [None, Some(0), Some(4_000_000), None, None, Some(12_000_000), Some(1_000_000)];
    assert_eq!(ints(&frames, "gpu_idle_ns"), idle);
    // One frame of dwm and six of the game: 10, 10, 12, 8, 10 and 10.5 ms.
    let sums = table(&session, "frame_sums", None);
    assert_eq!(ints(&sums, "frames"), [Some(1), Some(6)]);
    assert_eq!(ints(&sums, "frame_ns"), [Some(16_000_000), Some(60_500_000)]);
    assert_eq!(ints(&sums, "median_ns"), [Some(16_000_000), Some(10_000_000)]);
    assert_eq!(ints(&sums, "p99_ns"), [Some(16_000_000), Some(12_000_000)]);
    assert_eq!(ints(&sums, "not_displayed"), [Some(0), Some(1)]);
    // Contradictions between columns are counted as anomalies.
    let anomalies: Vec<_> =
        session.summary().anomalies.iter().map(|t| (t.what.as_str(), t.count, t.first_offset)).collect();
    assert_eq!(anomalies.len(), 2, "{anomalies:?}");
    assert!(
        anomalies.contains(&("a frame was not presented MsBetweenPresents after the previous one", 1, 1044)),
        "{anomalies:?}"
    );
}

/// PresentMon 2 does not record the display interval; it is computed from the times when two frames were displayed. Rows 0, 1 and 2 were
/// displayed at 111, 121 and 130 ms, as soon as they were rendered: 10 ms with 10 ms of GPU work, then 9 ms with 5 ms. Row 3 was dropped,
/// and the GPU work of row 4, displayed at 152 ms, is unreadable.
#[test]
fn cap_40_display_intervals_that_the_log_does_not_record() {
    let frames = table(&open(&fixture("present_mon/v2.csv")), "frames", None);
    let between = [None, Some(10_000_000), Some(9_000_000), None, Some(22_000_000)];
    assert_eq!(ints(&frames, "between_display_change_ns"), between);
    assert_eq!(ints(&frames, "gpu_idle_ns"), [None, Some(0), Some(4_000_000), None, None]);
    assert_eq!(bounds(&frames), ["unknown", "gpu", "cpu", "unknown", "unknown"]);
}

#[test]
fn a_folder_has_the_same_frames_as_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let logs = ["present_mon/v1.csv", "present_mon/v2.csv", "present_mon/qpc.csv", "mango_hud/versioned.csv"];
    // The first frame that ends after 10 ms: MangoHud's first frame took 20 ms.
    for (name, first) in logs.into_iter().zip([1, 1, 1, 0]) {
        let path = fixture(name);
        let dir = folder.path().join(name.replace('/', "-"));
        let source = open_source(&path).unwrap();
        import(source.as_ref(), Target::New(&dir), &PassOptions::default(), &mut |_| {}).unwrap();
        let (file, dir) = (open(&path), open(&dir));
        assert_eq!(file.summary(), dir.summary(), "{name}");
        assert!(file.summary().is_of_frames() && file.summary().laws_hold(), "{name}");
        let part = Some(Span::new(Ns(10_000_000), Ns(20_000_000)));
        for of in ["frames", "frame_sums"] {
            assert_eq!(table(&file, of, None).rows, table(&dir, of, None).rows, "{name} {of}");
            assert_eq!(table(&file, of, part).rows, table(&dir, of, part).rows, "{name} {of}");
        }
        assert_eq!(ints(&table(&file, "frames", part), "frame")[0], Some(first), "{name}");
        assert_eq!(table(&file, "frames", Some(Span::new(Ns(0), Ns(1)))).rows.len(), 1, "{name}");
    }
}

/// PresentMon's `-multi_csv` writes one log per program. They share a clock, and the recording lasts from the first begin to the last
/// end: from 0 in one log to 148 ms in the other.
#[test]
fn logs_of_several_programs() {
    let logs = ["present_mon/v2.csv", "present_mon/v1.csv"]
        .map(|name| JoinedPart { source: open_source(&fixture(name)).unwrap(), offset: None });
    let both = Session::of_source(Box::new(JoinedSource::new(logs.into()).unwrap()), PassOptions::default()).unwrap();
    assert_eq!((both.summary().span_ns, both.summary().frames), (148_000_000, 12));
    let frames = table(&both, "frames", None);
    assert_eq!(ints(&frames, "start_ns")[..2], [Some(0), Some(10_000_000)]);
    assert_eq!(ints(&frames, "start_ns")[7..9], [Some(100_000_000), Some(110_000_000)]);
}

/// A frame log that is joined with a recording of threads changes neither its ends nor its sums.
#[test]
fn a_frame_log_joined_with_a_recording_of_threads() {
    let recorded = fixture("perf_data/sched.data");
    let alone = open(&recorded);
    let part = |path: &Path, offset| JoinedPart { source: open_source(path).unwrap(), offset };
    let parts = vec![part(&recorded, None), part(&fixture("present_mon/v1.csv"), Some(alone.origin()))];
    let joined: Box<dyn Source> = Box::new(JoinedSource::new(parts).unwrap());
    let both = Session::of_source(joined, PassOptions::default()).unwrap();
    assert_eq!(both.summary().span_ns, alone.summary().span_ns);
    assert_eq!((both.summary().frames, alone.summary().frames), (7, 0));
    assert!(!both.summary().is_of_frames());
    for name in ["threads", "cpus"] {
        assert_eq!(table(&both, name, None).rows, table(&alone, name, None).rows, "{name}");
    }
    let frames = table(&both, "frames", None);
    let begins = [0, 10_000, 20_000, 29_000, 32_000, 40_000, 50_500].map(|us| Some(us * 1_000));
    assert_eq!(ints(&frames, "start_ns"), begins);
    assert!(table(&alone, "frames", None).rows.is_empty() && table(&alone, "frame_sums", None).rows.is_empty());
}
