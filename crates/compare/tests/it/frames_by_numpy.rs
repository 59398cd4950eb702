//! The metrics of frame logs of five tools and versions equal those of `acceptance/compare/frames.py`, which reads them with pandas and
//! calculates with numpy.

use compare::of_frames;
use engine::{PassOptions, Session};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// CapFrameX, OCAT, PresentMon 1, 2 and newer, MangoHud.
const LOGS: &[&str] = &[
    "testdata/traces/presentmon-csv/CapFrameX__CapFrameXFileWithHeader.csv",
    "testdata/traces/presentmon-csv/CapFrameX__OCAT-MetroExodus.exe-2019-02-20T101522.csv",
    "testdata/traces/presentmon-csv/PresentMon__test_case_0.csv",
    "testdata/traces/presentmon-csv/PresentMon__test_case_0_v1.csv",
    "testdata/traces/presentmon-csv/PresentMon__test_case_2_v2.csv",
    "testdata/figures/presentmon_rows.csv",
    "crates/import/fixtures/mango_hud/intervals.csv",
];

#[test]
#[ignore = "needs python3 with numpy and pandas"]
fn metrics_equal_those_of_numpy() {
    let python = std::env::var("NUMPY_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let paths: Vec<_> = LOGS.iter().map(|log| Path::new(ROOT).join(log)).collect();
    let script = Path::new(ROOT).join("acceptance/compare/frames.py");
    let out = Command::new(python).arg(script).args(&paths).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let all: Vec<BTreeMap<String, f64>> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(all.len(), LOGS.len());
    for (path, wanted) in paths.iter().zip(all) {
        let session = Session::open(path, PassOptions::default()).unwrap();
        let mut run = of_frames(&session, None).unwrap();
        // The script does not judge what limited a frame.
        run.values.retain(|id, _| {
            !matches!(id.as_str(), "frame.gpu_busy" | "frame.gpu_bound" | "frame.cpu_bound" | "frame.dropped")
        });
        let ids = |of: &BTreeMap<String, f64>| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(ids(&run.values), ids(&wanted), "{}", path.display());
        for (id, value) in &run.values {
            // corewise rounds times to ns.
            assert!(
                (value - wanted[id]).abs() <= 1e-6 * wanted[id].abs(),
                "{}: {id}: {value}, {}",
                path.display(),
                wanted[id]
            );
        }
    }
}
