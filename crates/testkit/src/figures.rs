//! `testdata/figures`: printed tables and values recomputed from them, with which capabilities are checked.

use std::collections::BTreeMap;

/// A row: its cells by column name.
pub type Row = BTreeMap<String, String>;

/// Returns the text of a table's file.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn text(name: &str) -> String {
    let path = format!("{}/../../testdata/figures/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// Returns the counts in a JSON file as a table of `perf stat`: those of `events`, and `slots` and
/// `instructions` of `metrics`.
///
/// # Panics
/// If it is missing or damaged.
#[must_use]
pub fn counts(name: &str) -> String {
    let path = format!("{}/../../testdata/figures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{path}: {why}"));
    let mut out = "run,event,status,value,unit,printed_ratio,printed_ratio_unit,running_pct\n".to_owned();
    let mut line = |event: &str, value: &serde_json::Value, share: &serde_json::Value| {
        if value.is_number() {
            let share = if share.is_number() { share.to_string() } else { String::new() };
            out.push_str(&format!("{name},\"{event}\",counted,{value},count,,,{share}\n"));
        }
    };
    for metric in ["slots", "instructions"] {
        line(metric, &json["metrics"][metric], &serde_json::Value::Null);
    }
    for event in json["events"].as_array().into_iter().flatten() {
        line(event["event"].as_str().expect("an event has a name"), &event["value"], &event["running_pct"]);
    }
    out
}

/// Returns the rows of a table.
///
/// # Panics
/// If it is missing or has no header.
#[must_use]
pub fn table(name: &str) -> Vec<Row> {
    let text = text(name);
    let mut lines = text.lines().map(cells);
    let head = lines.next().expect("a table has a header");
    lines.map(|row| head.iter().cloned().zip(row).collect()).collect()
}

/// Returns the cells of a line; commas between quotes do not separate cells.
fn cells(line: &str) -> Vec<String> {
    let (mut quoted, mut cells) = (false, vec![String::new()]);
    for sign in line.chars() {
        match sign {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cells.last_mut().expect("there is at least one cell").push(sign),
        }
    }
    cells
}

/// Returns the number in a cell.
///
/// # Panics
/// If it is not a number.
#[must_use]
pub fn number(row: &Row, col: &str) -> f64 {
    row[col].parse().unwrap_or_else(|_| panic!("{col}: {:?} is not a number", row[col]))
}

/// Returns the entries of `derived_expected.csv` whose ids have a prefix: the rest of the id, the value, and its tolerance.
#[must_use]
pub fn expected(prefix: &str) -> Vec<(String, f64, f64)> {
    let rows = table("derived_expected");
    let of = |row: &Row| {
        let id = row["id"].strip_prefix(prefix)?.to_owned();
        Some((id, number(row, "expected"), number(row, "tolerance")))
    };
    rows.iter().filter_map(of).collect()
}

/// Checks a recomputed value against the entry of `derived_expected.csv` with an id.
///
/// # Panics
/// If it differs, or the id is unknown.
pub fn agrees(id: &str, got: f64) {
    let all = expected(id);
    let (_, expected, tolerance) =
        all.iter().find(|(rest, ..)| rest.is_empty()).unwrap_or_else(|| panic!("{id} is not expected"));
    assert!((got - expected).abs() <= tolerance + 1e-9, "{id}: {got}, not {expected}");
}
