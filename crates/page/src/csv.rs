//! Lines of comma-separated values (RFC 4180).

/// Formats a line, with its end. Control characters become `?`, and a text that a spreadsheet would take for a formula begins with an
/// apostrophe.
///
/// ```
/// use page::csv_line;
///
/// assert_eq!(csv_line(["a", "b,\"c\"", "-1.5", "=1+1"]), "a,\"b,\"\"c\"\"\",-1.5,'=1+1\n");
/// ```
#[must_use]
pub fn csv_line(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| quoted(cell.as_ref())).collect();
    cells.join(",") + "\n"
}

fn quoted(cell: &str) -> String {
    let cell = model::words::plain(cell);
    let is_number = cell.parse::<f64>().is_ok();
    let cell = if !is_number && cell.starts_with(['=', '+', '-', '@']) { format!("'{cell}") } else { cell };
    if cell.contains([',', '"']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}
