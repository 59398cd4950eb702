//! A recording of a thread whose nice value and policy are changed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use serde_json::Value;
use support::{Folder, good};

#[test]
#[ignore = "needs BPF rights"]
fn a_thread_has_a_row_for_each_of_its_settings() {
    rows_of_settings(false);
}

#[test]
#[ignore = "needs BPF rights, uclamp"]
fn and_for_its_clamps() {
    rows_of_settings(true);
}

/// A shell of nice 0 that becomes nice 7, then of policy batch, then clamped: it has a row for each, in this order, that follow one
/// another.
fn rows_of_settings(clamps: bool) {
    // Where the kernel lets no program attach to functions, changes are seen once a second.
    let folder = Folder::new();
    let own = folder.path("tid");
    let clamp = if clamps { "uclampset -m 100 -M 900 -p $$ > /dev/null; sleep 2.2;" } else { "" };
    let script = format!(
        "echo $$ > {}; sleep 2.2; renice -n 7 -p $$ > /dev/null; sleep 2.2; chrt -b -p 0 $$; sleep 2.2; {clamp}",
        own.display()
    );
    let trace = folder.name("run.cw");
    good(["record", "-o", &trace, "--", "sh", "-c", &script]);
    let tid: i64 = std::fs::read_to_string(own).unwrap().trim().parse().unwrap();
    let told = good(["table", &trace, "thread_scheduling", "--format", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&told).unwrap();
    let rows: Vec<&Value> = rows.iter().filter(|row| row["tid"] == tid).collect();
    let ends = |row: &Value| ["start_ns", "end_ns"].map(|col| row[col].as_i64().unwrap());
    assert!(rows.windows(2).all(|two| ends(two[0])[1] == ends(two[1])[0]), "{rows:#?}");
    // The kernel may move it between cgroups, which is none of this.
    let mut told: Vec<_> = rows
        .iter()
        .map(|row| (row["policy"].as_str().unwrap(), row["nice"].as_i64().unwrap(), row["uclamp_min"].as_i64()))
        .collect();
    told.dedup();
    let (before, after) = if clamps { (Some(0), vec![("batch", 7, Some(100))]) } else { (told[0].2, Vec::new()) };
    assert_eq!(told, [vec![("other", 0, before), ("other", 7, before), ("batch", 7, before)], after].concat());
    for row in &rows {
        assert_eq!(row["static_prio"].as_i64(), Some(120 + row["nice"].as_i64().unwrap()), "{row}");
    }
}
