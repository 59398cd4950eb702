//! `shared/figures`: printed tables and what is recomputed of them, which capabilities are held against.

use std::collections::BTreeMap;

/// A row, its cells by the names of their columns.
pub type Row = BTreeMap<String, String>;

/// A table as its file has it. It is not part of the repository: tests that read it are ignored with "needs ../shared".
///
/// # Panics
/// Where it is absent.
#[must_use]
pub fn text(name: &str) -> String {
    let path = format!("{}/../../../shared/figures/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// A table.
///
/// # Panics
/// Where it is absent or has no head.
#[must_use]
pub fn table(name: &str) -> Vec<Row> {
    let text = text(name);
    let mut lines = text.lines().map(cells);
    let head = lines.next().expect("a table has a head");
    lines.map(|row| head.iter().cloned().zip(row).collect()).collect()
}

/// The cells of a line; between quotes, commas are none's ends.
fn cells(line: &str) -> Vec<String> {
    let (mut quoted, mut cells) = (false, vec![String::new()]);
    for sign in line.chars() {
        match sign {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cells.last_mut().expect("there is one from the begin on").push(sign),
        }
    }
    cells
}

/// A cell that is a number.
///
/// # Panics
/// Where it is none.
#[must_use]
pub fn number(row: &Row, col: &str) -> f64 {
    row[col].parse().unwrap_or_else(|_| panic!("{col}: {:?} is no number", row[col]))
}

/// What `derived_expected.csv` expects under ids that begin so: the rest of the id, the value, and its tolerance.
#[must_use]
pub fn expected(prefix: &str) -> Vec<(String, f64, f64)> {
    let rows = table("derived_expected");
    let of = |row: &Row| {
        let id = row["id"].strip_prefix(prefix)?.to_owned();
        Some((id, number(row, "expected"), number(row, "tolerance")))
    };
    rows.iter().filter_map(of).collect()
}

/// Whether a recomputed figure is what `derived_expected.csv` expects under an id.
///
/// # Panics
/// Where it is not, or the id is unknown.
pub fn agrees(id: &str, got: f64) {
    let all = expected(id);
    let (_, expected, tolerance) =
        all.iter().find(|(rest, ..)| rest.is_empty()).unwrap_or_else(|| panic!("{id} is not expected"));
    assert!((got - expected).abs() <= tolerance + 1e-9, "{id}: {got}, not {expected}");
}
