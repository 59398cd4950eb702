//! What is counted within marked stretches: a program with a known number of page faults in each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // a test fails by panicking

mod support;

use serde_json::Value;
use support::{Folder, compiled, good, run};

/// As in marks/pages.c.
const CALLS: i64 = 40;
const PAGES: i64 = 500;
const MORE: i64 = 200;

/// Records the program with marks, and returns the rows of `mark_counters` and the sum of its main thread's minor faults.
fn recorded(folder: &Folder, pages: &str, marks: &[&str]) -> (Vec<Value>, i64) {
    let dir = folder.name("run.cw");
    let _ = std::fs::remove_dir_all(&dir);
    let mut words = vec!["record", "-o", &dir, "--backend", "bpf", "--counters", "minor-faults,major-faults"];
    let marks: Vec<String> = marks.iter().map(|name| format!("{name}={pages}:{name}")).collect();
    marks.iter().for_each(|mark| words.extend(["--mark", mark]));
    let ran = run([&words[..], &["--", pages]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = good(["table", &dir, "mark_counters", "--format", "json"]);
    eprintln!("{text}");
    let rows: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let text = good(["table", &dir, "thread_counters", "--format", "json"]);
    let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let own = all.iter().filter(|row| row["thread"] == rows[0]["thread"] && row["counter"] == "minor-faults");
    let own = own.map(|row| row["count"].as_i64().unwrap_or(0)).sum();
    (rows, own)
}

/// Records again if the kernel did not deliver a switch of the marked thread, so that a part of its counts belongs to no thread.
fn completely_recorded(folder: &Folder, pages: &str, marks: &[&str]) -> (Vec<Value>, i64) {
    let is_complete = |rows: &[Value]| {
        let drawn = row(rows, "drawn", "minor-faults");
        number(&drawn, "left_out") == 0 && number(&drawn, "running_ns") - number(&drawn, "enabled_ns") < 50_000
    };
    let mut tries = (0..8).map(|_| recorded(folder, pages, marks));
    tries.find(|(rows, _)| is_complete(rows)).expect("one of eight recordings in which every switch was delivered")
}

fn row(rows: &[Value], name: &str, counter: &str) -> Value {
    let found: Vec<&Value> = rows.iter().filter(|row| row["name"] == name && row["counter"] == counter).collect();
    let [row] = found[..] else { panic!("{name} {counter}: {rows:?}") };
    row.clone()
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"))
}

fn assert_contains_the_truth(row: &Value) {
    assert_eq!((number(row, "stretches"), &row["how"]), (CALLS, &"estimate".into()), "{row}");
    let real = |column: &str| row[column].as_f64().unwrap_or_else(|| panic!("{column} of {row}"));
    let [low, estimate, high] = ["low", "estimate", "high"].map(real);
    let truth = (CALLS * PAGES) as f64;
    assert!(low <= truth && truth <= high && low < high, "{row}");
    assert!(low <= estimate && estimate <= high, "{row}");
}

/// The program touches 500 new pages in each marked call, and 200 between the calls, while another thread takes turns with it on one CPU.
/// Where the calls are probed, exactly their page faults are counted. Where the program marks the same calls by trace_marker, their number
/// is in the range. What is read at the marks does not change the thread's sum.
#[test]
#[ignore = "needs BPF rights, uprobes, trace_marker"]
fn page_faults_within_marked_calls_are_known() {
    let folder = Folder::new();
    let pages = compiled(&folder, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/marks/pages.c"), &["-O1", "-pthread"]);
    let (rows, own) = completely_recorded(&folder, &pages, &["touch", "first"]);
    let touch = row(&rows, "touch", "minor-faults");
    let stretches = ["stretches", "read", "left_out"].map(|column| number(&touch, column));
    assert_eq!(stretches, [CALLS + 1, CALLS + 1, 0], "{touch}");
    assert_eq!((&touch["how"], &touch["state"]), (&"read".into(), &"counted".into()));
    assert_eq!(number(&touch, "count"), CALLS * PAGES, "{touch}");
    let none = row(&rows, "touch", "major-faults");
    assert_eq!((&none["how"], number(&none, "count")), (&"read".into(), 0), "{none}");
    assert_contains_the_truth(&row(&rows, "drawn", "minor-faults"));
    let known = CALLS * (PAGES + MORE);
    assert!((known..known + 500).contains(&own), "{own} of {known}");

    let (rows, own) = completely_recorded(&folder, &pages, &[]);
    assert_contains_the_truth(&row(&rows, "drawn", "minor-faults"));
    assert!((known..known + 500).contains(&own), "{own} of {known}");
}
