//! Trace folders of format 1 say what the corewise said that made them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{Folder, good};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures/format-1").join(name)
}

/// A copy, in which tables can be stored.
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

/// A csv's columns. No cell of these has a comma or a line break.
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
            // More columns may have come since.
            let now = columns(&now);
            for mut column in columns(&before) {
                if column[0] == "reason" {
                    // What today's words tell apart, the folder never did.
                    column.iter_mut().filter(|word| **word == "yielded").for_each(|word| *word = "left_runnable");
                }
                assert!(now.contains(&column), "{name} {table}: {column:?} is not in {now:?}");
            }
        }
        let now: Value = serde_json::from_str(&good(["check", &folder, "--format", "json"])).unwrap();
        let before: Value = serde_json::from_slice(&std::fs::read(expected.join("check.json")).unwrap()).unwrap();
        for (key, value) in before.as_object().unwrap() {
            assert_eq!(&now[key], value, "{name}: {key}");
        }
        assert!(good(["report", &folder]).contains(name));
        // What the report computed is stored there, which makes the folder one of today's format.
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(dir.path(name).join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["format_version"], 2, "{name}");
        assert_eq!(
            good(["table", &folder, "wakers", "--format", "csv"]).lines().count(),
            if name == "chains" { 1 } else { 3 }
        );
    }
}
