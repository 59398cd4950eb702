//! What is counted within marked stretches: a program with a known number of page faults in each.

use crate::support::{Folder, compiled, good, run};
use serde_json::Value;

/// As in marks/pages.c.
const CALLS: i64 = 40;
const PAGES: i64 = 500;
const MORE: i64 = 200;

/// What a recording of the program has.
struct Recorded {
    /// The rows of `mark_counters`.
    rows: Vec<Value>,
    /// The sum of its main thread's minor faults.
    own: i64,
    /// Minor faults of all CPUs of which it is unknown which thread had them: the kernel did not deliver a switch.
    unknown: i64,
}

/// Records the program with marks.
fn recorded(folder: &Folder, pages: &str, marks: &[&str]) -> Recorded {
    let dir = folder.name("run.cw");
    let _ = std::fs::remove_dir_all(&dir);
    let mut words = vec!["record", "-o", &dir, "--backend", "bpf", "--counters", "minor-faults,major-faults"];
    let marks: Vec<String> = marks.iter().map(|name| format!("{name}={pages}:{name}")).collect();
    marks.iter().for_each(|mark| words.extend(["--mark", mark]));
    let ran = run([&words[..], &["--", pages]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let table = |name: &str| -> Vec<Value> {
        let text = good(["table", &dir, name, "--format", "json"]);
        eprintln!("{text}");
        serde_json::from_str(&text).expect("JSON")
    };
    let rows = table("mark_counters");
    let sum = |rows: &[Value], column: &str| rows.iter().map(|row| row[column].as_i64().unwrap_or(0)).sum::<i64>();
    let minor = |mut rows: Vec<Value>| {
        rows.retain(|row| row["counter"] == "minor-faults");
        rows
    };
    let mut of_thread = minor(table("thread_counters"));
    let drawn = rows.iter().find(|row| row["name"] == "drawn").expect("the marks of the program");
    of_thread.retain(|row| row["thread"] == drawn["thread"]);
    let (own, unknown) = (sum(&of_thread, "count"), sum(&minor(table("cpu_counters")), "unknown_count"));
    Recorded { rows, own, unknown }
}

fn row(rows: &[Value], name: &str, counter: &str) -> Value {
    let found: Vec<&Value> = rows.iter().filter(|row| row["name"] == name && row["counter"] == counter).collect();
    let [row] = found[..] else { panic!("{name} {counter}: {rows:?}") };
    row.clone()
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"))
}

/// The range contains the number of page faults, as far as these were not of an unknown thread, or in stretches that are left out.
fn assert_contains_the_truth(row: &Value, unknown: i64) {
    let left_out = number(row, "left_out");
    assert_eq!((number(row, "stretches") + left_out, &row["how"]), (CALLS, &"estimate".into()), "{row}");
    let real = |column: &str| row[column].as_f64().unwrap_or_else(|| panic!("{column} of {row}"));
    let [low, estimate, high] = ["low", "estimate", "high"].map(real);
    let (truth, missing) = ((CALLS * PAGES) as f64, (unknown + left_out * PAGES) as f64);
    assert!(low <= truth && truth <= high + missing && low < high, "{missing} missing: {row}");
    assert!(low <= estimate && estimate <= high, "{row}");
}

/// The thread has all page faults of the program but those of an unknown thread, and some more of its begin.
fn assert_has_all(recorded: &Recorded) {
    let known = CALLS * (PAGES + MORE);
    let &Recorded { own, unknown, .. } = recorded;
    assert!((known - unknown..known + 500).contains(&own), "{own} of {known}, {unknown} unknown");
}

/// The program touches 500 new pages in each marked call, and 200 between the calls, while another thread takes turns with it on one CPU.
/// Where the calls are probed, exactly their page faults are counted. Where the program marks the same calls by trace_marker, their number
/// is in the range. What is read at the marks does not change the thread's sum. Where the kernel hides a switch of the thread, what was
/// counted around it belongs to no thread, and the recording says how much that is.
#[test]
#[ignore = "needs BPF rights, uprobes, trace_marker"]
fn page_faults_within_marked_calls_are_known() {
    let folder = Folder::new();
    let pages = compiled(&folder, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/marks/pages.c"), &["-O1", "-pthread"]);
    let with_marks = recorded(&folder, &pages, &["touch", "first"]);
    let touch = row(&with_marks.rows, "touch", "minor-faults");
    let [stretches, read, left_out] = ["stretches", "read", "left_out"].map(|column| number(&touch, column));
    assert_eq!((stretches + left_out, read), (CALLS + 1, stretches), "{touch}");
    assert_eq!((&touch["how"], &touch["state"]), (&"read".into(), &"counted".into()));
    let (counted, truth) = (number(&touch, "count"), CALLS * PAGES);
    let least = truth - left_out * PAGES - with_marks.unknown;
    assert!((least..=truth).contains(&counted), "{counted} of {truth}, at least {least}: {touch}");
    let none = row(&with_marks.rows, "touch", "major-faults");
    assert_eq!((&none["how"], number(&none, "count")), (&"read".into(), 0), "{none}");
    assert_contains_the_truth(&row(&with_marks.rows, "drawn", "minor-faults"), with_marks.unknown);
    assert_has_all(&with_marks);

    let without = recorded(&folder, &pages, &[]);
    assert_contains_the_truth(&row(&without.rows, "drawn", "minor-faults"), without.unknown);
    assert_has_all(&without);
}
