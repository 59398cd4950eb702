//! Capability 40: runs made of frame logs.

use compare::{METRICS, Run, of_frames};
use engine::{PassOptions, Session};
use std::path::{Path, PathBuf};
use testkit::figures::agrees;

fn read(path: &Path, process: Option<&str>) -> Result<Run, String> {
    let session = Session::open(path, PassOptions::default()).unwrap();
    assert!(session.summary().is_of_frames());
    of_frames(&session, process).map_err(|why| why.to_string())
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures").join(name)
}

#[test]
fn cap_40_seventeen_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/figures/presentmon_rows.csv");
    let run = read(&path, None).unwrap();
    let of = |id: &str| run.values[id];
    agrees("40.mean_between", of("frame.mean") / 1e6);
    agrees("40.fps", of("fps.average"));
    agrees("40.mean_gpu", of("frame.gpu_busy") / 1e6);
    // The bound changes within the sample: seven GPU-bound frames, then ten CPU-bound ones.
    assert_eq!((of("frame.gpu_bound"), of("frame.cpu_bound")), (7.0 / 17.0, 10.0 / 17.0));
    assert_eq!((of("frame.dropped"), of("frame.stutter"), of("frame.max")), (0.0, 0.0, 4_914_300.0));
    // The ninth of 17 rows, sorted.
    assert_eq!(of("frame.p50"), 4_626_500.0);
    assert!(!run.values.contains_key("frame.p99"));
    let frames = &run.series[0];
    assert_eq!(
        (frames.name.as_str(), frames.title.as_str(), frames.ns.len()),
        ("frame", "frame time of engine.exe", 17)
    );
    assert!(frames.spans.iter().zip(&frames.ns).all(|(span, ns)| span.len().0 as f64 == *ns));
    assert!(
        run.lacks.iter().any(|l| l == "17 frames do not suffice for frame.p99, fps.low1: at least 100 do"),
        "{:?}",
        run.lacks
    );
    for id in run.values.keys() {
        assert!(METRICS.iter().any(|def| def.id == id), "{id} is not declared");
    }
}

/// One frame of dwm and six of the game: 10, 10, 12, 8, 10 and 10.5 ms, one of them dropped.
#[test]
fn the_swap_chain_with_the_most_frames_is_compared() {
    let path = fixture("present_mon/v1.csv");
    let run = read(&path, None).unwrap();
    assert_eq!((run.values["frames"], run.values["frame.mean"], run.values["frame.max"]), (6.0, 60.5e6 / 6.0, 12e6));
    assert_eq!(run.values["frame.dropped"], 1.0 / 6.0);
    assert!(run.lacks.iter().any(|l| l.contains("was compared, not dwm.exe")), "{:?}", run.lacks);
    let dwm = read(&path, Some("dwm.exe")).unwrap();
    assert_eq!((dwm.values["frames"], dwm.values["frame.mean"]), (1.0, 16e6));
    let why = read(&path, Some("nothing.exe")).unwrap_err();
    assert!(why.contains("no frames of a process named nothing.exe"), "{why}");
}

/// 20, 16 and 25 ms, and an unreadable row, of a program and a machine that the log names.
#[test]
fn a_log_of_mangohud() {
    let run = read(&fixture("mango_hud/versioned.csv"), None).unwrap();
    assert_eq!((run.values["frames"], run.values["frame.p50"], run.format.as_str()), (3.0, 20e6, "MangoHud"));
    assert!(!run.values.contains_key("frame.gpu_bound") && !run.values.contains_key("frame.dropped"));
    assert_eq!(run.defects, ["a row has no readable elapsed or frametime (count: 1)"]);
    assert!(run.conditions.contains_key("governor") && run.machine.contains_key("processor"), "{run:?}");
}
