//! Records a thread whose nice value and policy change.

use crate::support::{Folder, good};
use serde_json::Value;

#[test]
#[ignore = "needs BPF rights"]
fn each_scheduling_setting_of_a_thread_has_a_row() {
    rows_of_settings(false);
}

#[test]
#[ignore = "needs BPF rights, uclamp"]
fn each_utilisation_clamp_of_a_thread_has_a_row() {
    rows_of_settings(true);
}

/// A shell with nice 0 changes to nice 7, then to the batch policy, then gets clamps. It must have consecutive rows for these, in this
/// order.
fn rows_of_settings(clamps: bool) {
    // If the kernel does not allow function probes, changes are polled once a second.
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
    let json = good(["table", &trace, "thread_scheduling", "--format", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&json).unwrap();
    let rows: Vec<&Value> = rows.iter().filter(|row| row["tid"] == tid).collect();
    let ends = |row: &Value| ["start_ns", "end_ns"].map(|col| row[col].as_i64().unwrap());
    assert!(rows.windows(2).all(|two| ends(two[0])[1] == ends(two[1])[0]), "{rows:#?}");
    // The kernel may move it between cgroups, which does not matter here.
    let mut settings: Vec<_> = rows
        .iter()
        .map(|row| (row["policy"].as_str().unwrap(), row["nice"].as_i64().unwrap(), row["uclamp_min"].as_i64()))
        .collect();
    settings.dedup();
    let (before, after) = if clamps { (Some(0), vec![("batch", 7, Some(100))]) } else { (settings[0].2, Vec::new()) };
    assert_eq!(settings, [vec![("other", 0, before), ("other", 7, before), ("batch", 7, before)], after].concat());
    for row in &rows {
        assert_eq!(row["static_prio"].as_i64(), Some(120 + row["nice"].as_i64().unwrap()), "{row}");
    }
}
