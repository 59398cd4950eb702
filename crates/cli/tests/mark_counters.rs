//! What is counted within marked stretches: a program with a known number of page faults in each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)] // a test fails by panicking

mod support;

use serde_json::Value;
use support::{Folder, compiled, good, run};

/// As in marks/pages.c.
const CALLS: i64 = 40;
const PAGES: i64 = 500;
const MORE: i64 = 200;

/// The program touches 500 new pages in each marked call, and 200 between the calls, while another thread takes turns with it on one CPU.
/// Where the calls are probed, exactly their page faults are counted. Where the program marks the same calls by trace_marker, their number
/// is in the range.
#[test]
#[ignore = "needs BPF rights, uprobes, trace_marker"]
fn page_faults_within_marked_calls_are_known() {
    let folder = Folder::new();
    let pages = compiled(&folder, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/marks/pages.c"), &["-O1", "-pthread"]);
    let dir = folder.name("run.cw");
    let [touch, first] = ["touch", "first"].map(|name| format!("{name}={pages}:{name}"));
    let words = ["record", "-o", &dir, "--backend", "bpf", "--counters", "minor-faults,major-faults", "--mark", &touch];
    let ran = run([&words[..], &["--mark", &first, "--", &pages]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = good(["table", &dir, "mark_counters", "--format", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    eprintln!("{text}");
    let of = |name: &str, counter: &str| {
        let found: Vec<&Value> = rows.iter().filter(|row| row["name"] == name && row["counter"] == counter).collect();
        let [row] = found[..] else { panic!("{name} {counter}: {rows:?}") };
        row.clone()
    };
    let number = |row: &Value, column: &str| row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"));
    let real = |row: &Value, column: &str| row[column].as_f64().unwrap_or_else(|| panic!("{column} of {row}"));
    let touch = of("touch", "minor-faults");
    assert_eq!((number(&touch, "stretches"), number(&touch, "read"), number(&touch, "left_out")), (CALLS + 1, CALLS + 1, 0));
    assert_eq!((&touch["how"], &touch["state"]), (&"read".into(), &"counted".into()));
    assert_eq!(number(&touch, "count"), CALLS * PAGES, "{touch}");
    let none = of("touch", "major-faults");
    assert_eq!((&none["how"], number(&none, "count")), (&"read".into(), 0), "{none}");
    let drawn = of("drawn", "minor-faults");
    assert_eq!((number(&drawn, "stretches"), &drawn["how"]), (CALLS, &"estimate".into()), "{drawn}");
    let [low, estimate, high] = ["low", "estimate", "high"].map(|column| real(&drawn, column));
    let truth = (CALLS * PAGES) as f64;
    assert!(low <= truth && truth <= high && low < high, "{drawn}");
    assert!(low <= estimate && estimate <= high, "{drawn}");
    // The thread's own sum is not changed by what was read in between.
    let text = good(["table", &dir, "thread_counters", "--format", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let own = rows.iter().filter(|row| row["thread"] == touch["thread"] && row["counter"] == "minor-faults");
    let own: i64 = own.map(|row| row["count"].as_i64().unwrap_or(0)).sum();
    assert!((CALLS * (PAGES + MORE)..CALLS * (PAGES + MORE) + 2000).contains(&own), "{own}");
}
