//! The figures of shared/figures.
#![allow(clippy::print_stdout)] // it says what is skipped

use std::collections::BTreeMap;

/// A row, by the names of its columns.
pub type Row = BTreeMap<String, String>;

/// A table of shared/figures, its cells by the names of their columns; says so where it is absent.
pub fn figures(name: &str) -> Option<Vec<Row>> {
    let path = format!("{}/../../../shared/figures/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: needs shared/figures/{name}.csv");
        return None;
    };
    let mut lines = text.lines().map(cells);
    let head = lines.next().unwrap();
    Some(lines.map(|row| head.iter().cloned().zip(row).collect()).collect())
}

/// The cells of a line; commas between quotes are none.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    for (at, part) in line.split('"').enumerate() {
        let mut pieces = if at % 2 == 0 { part.split(',').collect() } else { vec![part] }.into_iter();
        cells.last_mut().unwrap().push_str(pieces.next().unwrap());
        cells.extend(pieces.map(str::to_owned));
    }
    cells
}

/// Whether a recomputed figure is what `derived_expected.csv` says.
pub fn agrees(id: &str, got: f64) {
    let Some(rows) = figures("derived_expected") else { return };
    let row = rows.iter().find(|r| r["id"] == id).unwrap();
    let [expected, tolerance] = ["expected", "tolerance"].map(|col| row[col].parse::<f64>().unwrap());
    assert!((got - expected).abs() <= tolerance + 1e-9, "{id}: {got}, not {expected}");
}
