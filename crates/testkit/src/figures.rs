//! `shared/figures`: printed tables and what is recomputed of them, which capabilities are held against.

use std::collections::BTreeMap;

/// A row, its cells by the names of their columns.
pub type Row = BTreeMap<String, String>;

/// A table as its file has it; says so where it is absent, since it is not part of the repository.
#[must_use]
pub fn text(name: &str) -> Option<String> {
    let path = format!("{}/../../../shared/figures/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        eprintln!("skipped: needs shared/figures/{name}.csv");
    }
    text
}

/// A table; says so where it is absent, since it is not part of the repository.
///
/// # Panics
/// Where the table has no head.
#[must_use]
pub fn table(name: &str) -> Option<Vec<Row>> {
    let text = text(name)?;
    let mut lines = text.lines().map(cells);
    let head = lines.next().expect("a table has a head");
    Some(lines.map(|row| head.iter().cloned().zip(row).collect()).collect())
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
    let rows = table("derived_expected").unwrap_or_default();
    let of = |row: &Row| {
        let id = row["id"].strip_prefix(prefix)?.to_owned();
        Some((id, number(row, "expected"), number(row, "tolerance")))
    };
    rows.iter().filter_map(of).collect()
}

/// Whether a recomputed figure is what `derived_expected.csv` expects under an id.
///
/// # Panics
/// Where it is not, or the id is unknown; not where the table is absent.
pub fn agrees(id: &str, got: f64) {
    let all = expected(id);
    let one = all.iter().find(|(rest, ..)| rest.is_empty());
    assert!(one.is_some() || table("derived_expected").is_none(), "{id} is not expected");
    if let Some((_, expected, tolerance)) = one {
        assert!((got - expected).abs() <= tolerance + 1e-9, "{id}: {got}, not {expected}");
    }
}
