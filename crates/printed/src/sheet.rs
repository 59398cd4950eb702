//! A printed table in memory: its columns, and its cells as text.

use crate::{Figure, Kind, ReadError};
use std::collections::HashMap;

/// A table, as text.
pub struct Sheet {
    /// The display name.
    pub name: String,
    /// Its kind.
    pub kind: &'static dyn Kind,
    /// Its columns.
    pub head: Head,
    rows: Vec<Vec<String>>,
    /// Statistics of each column's decimals.
    decimals: Vec<Decimals>,
}

/// Statistics of the cells of a column that have decimals.
#[derive(Clone, Copy, Debug, Default)]
struct Decimals {
    /// The maximum rounding error; 0 if no cell has decimals.
    rounding: f64,
    /// The largest absolute value.
    max: f64,
}

impl Decimals {
    fn of(cells: impl Iterator<Item = Figure>) -> Self {
        cells.filter(|f| f.rounding < 0.5).fold(Self::default(), |so_far, f| Self {
            rounding: so_far.rounding.max(f.rounding),
            max: so_far.max.max(f.value.abs()),
        })
    }
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub struct Head(Vec<Column>);

#[derive(Clone, Debug)]
struct Column {
    /// The name in lower case, with one underscore between words.
    name: String,
    /// The words in alphabetical order, without the unit and without filler words: `max wait` for `Waits (µs) Max`.
    stem: String,
    /// The unit in milliseconds, if it is a unit of time.
    unit_ms: Option<f64>,
}

/// A column of times, by its possible stems.
pub(crate) type Times = &'static [&'static str];

/// Words in headings that do not distinguish columns.
const FILLER: &[&str] = &["in", "view", "sum", "usage", "new"];

impl Column {
    fn of(head: &str) -> Self {
        let head = head.to_lowercase().replace(['µ', 'μ'], "u");
        let words: Vec<&str> = head.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let unit_ms = words.iter().rev().find_map(|w| ms_in(w));
        let mut stem: Vec<&str> =
            words.iter().copied().filter(|w| ms_in(w).is_none() && !FILLER.contains(w)).map(singular).collect();
        stem.sort_unstable();
        Self { name: words.join("_"), stem: stem.join(" "), unit_ms }
    }
}

fn singular(word: &str) -> &str {
    if word == "waits" { "wait" } else { word }
}

fn ms_in(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-6,
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        _ => return None,
    })
}

impl Head {
    /// Parses the cells of a table's first line.
    pub(crate) fn of(cells: &[String]) -> Self {
        Self(cells.iter().map(|c| Column::of(c)).collect())
    }

    /// Whether all of these columns exist.
    #[must_use]
    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.at(name).is_some())
    }

    /// The names of the columns, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|c| c.name.as_str())
    }

    pub(crate) fn at(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|c| c.name == name)
    }

    pub(crate) fn times(&self, of: Times) -> Option<(usize, f64)> {
        self.0.iter().enumerate().find_map(|(at, c)| Some((at, c.unit_ms.filter(|_| of.contains(&c.stem.as_str()))?)))
    }

    /// A column without a unit of time, by its possible stems.
    pub(crate) fn plain(&self, of: &[&str]) -> Option<usize> {
        self.0.iter().position(|c| c.unit_ms.is_none() && of.contains(&c.stem.as_str()))
    }
}

impl Sheet {
    pub(crate) fn new(name: &str, kind: &'static dyn Kind, head: Head, rows: Vec<Vec<String>>) -> Self {
        let decimals = |at: usize| Decimals::of(rows.iter().filter_map(|r| Figure::parse(r.get(at)?)));
        let decimals = (0..head.0.len()).map(decimals).collect();
        Self { name: name.to_owned(), kind, head, rows, decimals }
    }

    /// The number of rows below the head.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A cell; empty if the row or column does not exist.
    pub(crate) fn text(&self, row: usize, name: &str) -> &str {
        self.head.at(name).map_or("", |at| self.cell(row, at))
    }

    pub(crate) fn cell(&self, row: usize, at: usize) -> &str {
        self.rows.get(row).and_then(|r| r.get(at)).map_or("", String::as_str)
    }

    /// A rounded number in a column of similar ones.
    pub(crate) fn figure(&self, row: usize, name: &str) -> Option<Figure> {
        self.number(row, self.head.at(name)?)
    }

    /// A rounded number in a column with different kinds of numbers.
    pub(crate) fn figure_alone(&self, row: usize, name: &str) -> Option<Figure> {
        Figure::parse(self.text(row, name))
    }

    /// A count, which is exact.
    pub(crate) fn count(&self, row: usize, name: &str) -> Option<Figure> {
        Some(Figure::exact(self.figure_alone(row, name)?.value))
    }

    /// A whole number among decimals was printed with decimals too, and lost its trailing zeros. This does not apply to numbers greater
    /// than all decimals, as these may have the same number of digits.
    fn number(&self, row: usize, at: usize) -> Option<Figure> {
        let figure = Figure::parse(self.cell(row, at))?;
        let column = self.decimals.get(at).copied().unwrap_or_default();
        let lost_zeros = figure.rounding == 0.5 && column.rounding > 0.0 && figure.value.abs() <= column.max;
        Some(if lost_zeros { Figure { rounding: column.rounding, ..figure } } else { figure })
    }

    /// A time in milliseconds.
    pub(crate) fn ms(&self, row: usize, of: Times) -> Option<Figure> {
        let (at, unit) = self.head.times(of)?;
        Some(self.number(row, at)?.scaled(unit))
    }

    /// Groups of rows with the same text in a column, in order of first appearance.
    pub(crate) fn groups(&self, column: &str) -> Vec<(&str, Vec<usize>)> {
        let (mut out, mut places) = (Vec::<(&str, Vec<usize>)>::new(), HashMap::new());
        for row in 0..self.len() {
            let name = self.text(row, column);
            let at = *places.entry(name).or_insert(out.len());
            match out.get_mut(at) {
                Some((_, rows)) => rows.push(row),
                None => out.push((name, vec![row])),
            }
        }
        out
    }

    /// The rows by the text in a column.
    pub(crate) fn index(&self, column: &str) -> HashMap<&str, Vec<usize>> {
        self.groups(column).into_iter().collect()
    }

    /// The rows with the given text in a column.
    pub(crate) fn rows_where<'s>(&'s self, name: &'s str, is: &'s str) -> impl Iterator<Item = usize> + 's {
        (0..self.len()).filter(move |row| self.text(*row, name) == is)
    }
}

/// The maximum size of a printed table, as it is held in memory.
pub const MAX_BYTES: usize = 8 << 20;
/// The maximum number of rows and cells, except for counts of perf stat: a cell takes more memory than its text.
const MAX_ROWS: usize = 100_000;
const MAX_CELLS: usize = 2_000_000;
/// The maximum number of columns.
const MAX_COLUMNS: usize = 200;

/// Splits text into lines of cells. The separator is the most frequent one in the first line: comma, tab, or semicolon (with commas as
/// decimal separators). Control characters are replaced.
pub(crate) fn lines(text: &str) -> Result<Vec<Vec<String>>, ReadError> {
    if text.len() > MAX_BYTES {
        return Err(ReadError::Long(MAX_BYTES >> 20));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = || text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let first = lines().next().ok_or(ReadError::Empty)?;
    let count = |sep: char| first.matches(sep).count();
    let by = [',', '\t', ';'].into_iter().rev().max_by_key(|sep| count(*sep)).unwrap_or(',');
    if count(by) >= MAX_COLUMNS {
        return Err(ReadError::Columns(MAX_COLUMNS));
    }
    if text.matches(by).count() > MAX_CELLS {
        return Err(ReadError::Cells(MAX_CELLS));
    }
    if lines().nth(MAX_ROWS).is_some() {
        return Err(ReadError::Rows(MAX_ROWS));
    }
    Ok(lines().map(|line| cells(line, by)).collect())
}

fn cells(line: &str, by: char) -> Vec<String> {
    let (mut quoted, mut out) = (false, vec![String::new()]);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let doubled = quoted && c == '"' && chars.next_if_eq(&'"').is_some();
        if c == '"' && !doubled {
            quoted = !quoted;
        } else if c == by && !quoted {
            out.push(String::new());
        } else if let Some(cell) = out.last_mut() {
            let decimal_comma = by == ';' && c == ',';
            let c = if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
            cell.push(if decimal_comma { '.' } else { c });
        }
    }
    for cell in &mut out {
        *cell = cell.trim().to_owned();
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn headings_are_recognised_by_their_words() {
        for (head, stem, unit) in [
            ("cpu_ms", "cpu", Some(1.0)),
            ("CPU Usage (in view) (ms)", "cpu", Some(1.0)),
            ("Ready (µs) Sum", "ready", Some(1e-3)),
            ("Waits (us) Max", "max wait", Some(1e-3)),
            ("max_wait_us", "max wait", Some(1e-3)),
            ("Count:Waits", "count wait", None),
            ("New Thread Id", "id thread", None),
        ] {
            let column = Column::of(head);
            assert_eq!((column.stem.as_str(), column.unit_ms), (stem, unit), "{head}");
        }
    }

    #[test]
    fn all_three_separators_are_recognised() {
        assert_eq!(lines("a;b\n1,5;\"x;y\"\n").unwrap()[1], ["1.5", "x;y"]);
        assert_eq!(lines("a\tb,c\tq\n1\t2\t3").unwrap()[1], ["1", "2", "3"]);
        assert_eq!(lines("# note\n\u{feff}a,b\n\"a \"\"b\"\"\",\u{1b}[31m").unwrap()[1], ["a \"b\"", "\u{fffd}[31m"]);
        assert!(lines(" \n").is_err());
    }
}
