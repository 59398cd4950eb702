//! Tables of a profile of the Firefox Profiler's format: samples and CPU times of threads, without CPUs.

use engine::{PassOptions, Session};
use std::path::Path;

fn rows(session: &Session, table: &str) -> Vec<String> {
    let table = session.table(table).unwrap();
    let row = |row: &Vec<model::Value>| row.iter().map(|cell| format!("{cell:?}")).collect::<Vec<_>>().join(" ");
    table.rows.iter().map(row).collect()
}

/// The CPU on which a thread ran is not known, so no CPU has the counts of it.
#[test]
fn cpu_times_of_threads_are_counts_without_a_cpu() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/firefox/shared.json");
    let session = Session::open(&path, PassOptions::default()).unwrap();
    let counters = rows(&session, "thread_counters");
    assert_eq!(counters.len(), 2, "{counters:?}");
    assert!(counters.iter().all(|row| row.contains("task-clock")), "{counters:?}");
    assert_eq!(rows(&session, "cpu_counters"), Vec::<String>::new());
    let samples = rows(&session, "samples");
    let clip = samples.iter().find(|row| row.contains("\"clip\"")).unwrap();
    assert!(clip.contains("/opt/libgame.so") && clip.contains("/src/clip.h"), "{clip}");
    assert!(session.is_of_samples().unwrap());
}
