//! Every analysis as a drawing and the table that comes of it: crates/analysis/cases.

mod support;

use account::Rules;
use model::Table;
use std::fmt::Write;
use std::path::Path;
use support::{analyse, text};

/// A case shows the table that its file is named after.
#[test]
fn cases() {
    for analysis in analysis::ANALYSES {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases")).join(analysis.table.name);
        assert!(folder.is_dir(), "{}: no case", folder.display());
        testkit::cases::run(&folder, |drawing| {
            let drawn = testkit::trace(drawing);
            let rules = Rules { has_waking: true, has_wakes: true, ..Rules::default() };
            let machine = drawn.facts.machine.clone().unwrap_or_default();
            told(&analyse(drawn.opened(), machine, rules, |whole| whole).tables[analysis.table.name])
        });
    }
}

/// A table as text: its name, its columns, its rows.
fn told(table: &Table) -> String {
    let cells: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(text).collect()).collect();
    let wide = |at: usize| {
        let longest = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        longest.max(table.def.cols[at].name.len())
    };
    let line = |row: Vec<&str>| {
        let cells: Vec<String> = row.iter().enumerate().map(|(at, v)| format!("{v:>w$}", w = wide(at))).collect();
        cells.join("  ")
    };
    let mut out = format!("{}\n", table.def.name);
    let _ = writeln!(out, "{}", line(table.def.cols.iter().map(|c| c.name).collect()));
    for row in &cells {
        let _ = writeln!(out, "{}", line(row.iter().map(String::as_str).collect()));
    }
    out
}
