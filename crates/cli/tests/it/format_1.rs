//! Trace folders of format 1 have the same results as with the version that wrote them.

use crate::support::{Folder, good};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures/format-1").join(name)
}

/// Copies a fixture, so that tables can be stored in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::write(to, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Returns the columns of a CSV file whose cells have no commas or line breaks.
fn columns(text: &str) -> Vec<Vec<&str>> {
    let mut lines = text.lines().map(|line| line.split(','));
    let mut columns: Vec<Vec<&str>> = lines.next().unwrap().map(|name| vec![name]).collect();
    for line in lines {
        columns.iter_mut().zip(line).for_each(|(column, cell)| column.push(cell));
    }
    columns
}

#[test]
fn a_folder_of_format_1_has_the_same_tables_and_laws() {
    let dir = Folder::new();
    for name in ["chains", "ftrace"] {
        let (folder, expected) = (dir.name(name), fixture(&format!("{name}.expected")));
        copy(&fixture(name), Path::new(&folder));
        for table in ["threads", "cpus", "thread_by_cpu", "concurrency", "wakers", "thread_state", "cpu_state"] {
            let now = good(["table", &folder, table, "--format", "csv"]);
            let before = std::fs::read_to_string(expected.join(format!("{table}.csv"))).unwrap();
            // Columns may have been added since.
            let now = columns(&now);
            for mut column in columns(&before) {
                // Columns that were renamed since.
                column[0] = model::tables::renamed::current_column(column[0]).unwrap_or(column[0]);
                if column[0] == "reason" {
                    // Format 1 did not distinguish these reasons.
                    column.iter_mut().filter(|word| **word == "yielded").for_each(|word| *word = "left_runnable");
                    for (former, current) in model::tables::renamed::VALUES {
                        column.iter_mut().filter(|word| *word == former).for_each(|word| *word = current);
                    }
                }
                // Null before, where the source has no wakeups; a lower bound since.
                let was_null =
                    ["ready_ns", "max_ready_ns"].contains(&column[0]) && column[1..].iter().all(|v| v.is_empty());
                assert!(was_null || now.contains(&column), "{name} {table}: {column:?} is not in {now:?}");
            }
        }
        let now: Value = serde_json::from_str(&good(["verify", &folder, "--format", "json"])).unwrap();
        let before: Value = serde_json::from_slice(&std::fs::read(expected.join("check.json")).unwrap()).unwrap();
        for (key, value) in before.as_object().unwrap() {
            let key = if key == "troubles" { "anomalies" } else { key };
            if key == "events" {
                continue; // names and losses, which readers add, no longer count
            }
            // The sentences of laws were written anew since.
            let numbers = |of: &Value| of.as_object().map(|laws| laws.values().cloned().collect::<Vec<_>>());
            match numbers(value) {
                Some(before) => assert_eq!(numbers(&now[key]), Some(before), "{name}: {key}"),
                None => assert_eq!(&now[key], value, "{name}: {key}"),
            }
        }
        assert!(good(["report", &folder]).contains(name));
        // The report stored its tables, which upgraded the folder to the current format.
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(dir.path(name).join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["format_version"], 3, "{name}");
        assert_eq!(
            good(["table", &folder, "wakers", "--format", "csv"]).lines().count(),
            if name == "chains" { 1 } else { 3 }
        );
    }
}
