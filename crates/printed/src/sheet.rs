//! A printed table in memory: its columns by what their heads say, its cells as text.

use crate::{Figure, Kind, Unread};
use std::collections::HashMap;

/// A table, as text.
pub struct Sheet {
    /// How it is named to the user.
    pub name: String,
    /// What it is.
    pub kind: &'static dyn Kind,
    /// Its columns.
    pub head: Head,
    rows: Vec<Vec<String>>,
    /// Of each column.
    decimals: Vec<Decimals>,
}

/// The cells of a column that have decimals.
#[derive(Clone, Copy, Debug, Default)]
struct Decimals {
    /// By how much rounding may have moved one, at most; 0 where there is none.
    rounding: f64,
    /// The greatest of them, without its sign.
    most: f64,
}

impl Decimals {
    fn of(cells: impl Iterator<Item = Figure>) -> Self {
        cells.filter(|f| f.rounding < 0.5).fold(Self::default(), |so_far, f| Self {
            rounding: so_far.rounding.max(f.rounding),
            most: so_far.most.max(f.value.abs()),
        })
    }
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub struct Head(Vec<Column>);

#[derive(Clone, Debug)]
struct Column {
    /// In small letters, with one low line between words.
    name: String,
    /// Its words in alphabetical order, without its unit and those that say nothing: `max wait` of `Waits (µs) Max`.
    stem: String,
    /// Milliseconds in its unit, where that is one of time.
    unit_ms: Option<f64>,
}

/// A column of times, by any of its stems.
pub(crate) type Times = &'static [&'static str];

/// What stands in heads and tells no column from another.
const SILENT: &[&str] = &["in", "view", "sum", "usage", "new"];

impl Column {
    fn of(head: &str) -> Self {
        let head = head.to_lowercase().replace(['µ', 'μ'], "u");
        let words: Vec<&str> = head.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let unit_ms = words.iter().rev().find_map(|w| ms_in(w));
        let mut stem: Vec<&str> =
            words.iter().copied().filter(|w| ms_in(w).is_none() && !SILENT.contains(w)).map(singular).collect();
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
    /// Of the cells of a table's first line.
    pub(crate) fn of(cells: &[String]) -> Self {
        Self(cells.iter().map(|c| Column::of(c)).collect())
    }

    /// Whether all of these columns are there.
    #[must_use]
    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.at(name).is_some())
    }

    /// The names of its columns, in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|c| c.name.as_str())
    }

    pub(crate) fn at(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|c| c.name == name)
    }

    pub(crate) fn times(&self, of: Times) -> Option<(usize, f64)> {
        self.0.iter().enumerate().find_map(|(at, c)| Some((at, c.unit_ms.filter(|_| of.contains(&c.stem.as_str()))?)))
    }

    /// A column without a unit of time, by any of its stems.
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

    /// How many rows there are below the head.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A cell; empty where the row or the column is absent.
    pub(crate) fn text(&self, row: usize, name: &str) -> &str {
        self.head.at(name).map_or("", |at| self.cell(row, at))
    }

    pub(crate) fn cell(&self, row: usize, at: usize) -> &str {
        self.rows.get(row).and_then(|r| r.get(at)).map_or("", String::as_str)
    }

    /// A cell that is a rounded number, in a column of alike ones.
    pub(crate) fn figure(&self, row: usize, name: &str) -> Option<Figure> {
        self.number(row, self.head.at(name)?)
    }

    /// A cell that is a rounded number by itself, where the column holds numbers of several kinds.
    pub(crate) fn figure_alone(&self, row: usize, name: &str) -> Option<Figure> {
        Figure::parse(self.text(row, name))
    }

    /// A cell that counts something, which is exact.
    pub(crate) fn count(&self, row: usize, name: &str) -> Option<Figure> {
        Some(Figure::exact(self.figure_alone(row, name)?.value))
    }

    /// Whole numbers among decimals were printed with decimals too, and lost zeros; but for those that are greater than all that
    /// have some: these may have as many digits.
    fn number(&self, row: usize, at: usize) -> Option<Figure> {
        let figure = Figure::parse(self.cell(row, at))?;
        let column = self.decimals.get(at).copied().unwrap_or_default();
        let lost_zeros = figure.rounding == 0.5 && column.rounding > 0.0 && figure.value.abs() <= column.most;
        Some(if lost_zeros { Figure { rounding: column.rounding, ..figure } } else { figure })
    }

    /// A cell that is a time, in milliseconds.
    pub(crate) fn ms(&self, row: usize, of: Times) -> Option<Figure> {
        let (at, unit) = self.head.times(of)?;
        Some(self.number(row, at)?.scaled(unit))
    }

    /// The rows that have the same text in a column, in the order of the first of each.
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

    /// The rows by what a column says.
    pub(crate) fn index(&self, column: &str) -> HashMap<&str, Vec<usize>> {
        self.groups(column).into_iter().collect()
    }

    /// The rows in which a cell is this text.
    pub(crate) fn rows_where<'s>(&'s self, name: &'s str, is: &'s str) -> impl Iterator<Item = usize> + 's {
        (0..self.len()).filter(move |row| self.text(*row, name) == is)
    }
}

/// A printed table has this many bytes at most: it is held in memory.
pub const MOST_BYTES: usize = 8 << 20;
/// And this many rows and cells, but for counts of perf stat: a cell takes more memory than it has bytes.
const MOST_ROWS: usize = 100_000;
const MOST_CELLS: usize = 2_000_000;
/// And this many columns: they are found by their names.
const MOST_COLUMNS: usize = 200;

/// Lines of cells, parted by what parts most cells of the first: commas, tabs, or semicolons (which leave the comma to numbers).
/// What no terminal should be sent is replaced.
pub(crate) fn lines(text: &str) -> Result<Vec<Vec<String>>, Unread> {
    if text.len() > MOST_BYTES {
        return Err(Unread::Long(MOST_BYTES >> 20));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = || text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    let first = lines().next().ok_or(Unread::Empty)?;
    let count = |sep: char| first.matches(sep).count();
    let by = [',', '\t', ';'].into_iter().rev().max_by_key(|sep| count(*sep)).unwrap_or(',');
    if count(by) >= MOST_COLUMNS {
        return Err(Unread::Columns(MOST_COLUMNS));
    }
    if text.matches(by).count() > MOST_CELLS {
        return Err(Unread::Cells(MOST_CELLS));
    }
    if lines().nth(MOST_ROWS).is_some() {
        return Err(Unread::Rows(MOST_ROWS));
    }
    Ok(lines().map(|line| cells(line, by)).collect())
}

fn cells(line: &str, by: char) -> Vec<String> {
    let (mut quoted, mut out) = (false, vec![String::new()]);
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        let doubled = quoted && sign == '"' && signs.next_if_eq(&'"').is_some();
        if sign == '"' && !doubled {
            quoted = !quoted;
        } else if sign == by && !quoted {
            out.push(String::new());
        } else if let Some(cell) = out.last_mut() {
            let decimal_comma = by == ';' && sign == ',';
            let sign = if sign.is_control() { char::REPLACEMENT_CHARACTER } else { sign };
            cell.push(if decimal_comma { '.' } else { sign });
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
    fn heads_are_known_by_their_words() {
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
    fn cells_of_all_three_separators() {
        assert_eq!(lines("a;b\n1,5;\"x;y\"\n").unwrap()[1], ["1.5", "x;y"]);
        assert_eq!(lines("a\tb,c\tq\n1\t2\t3").unwrap()[1], ["1", "2", "3"]);
        assert_eq!(lines("# note\n\u{feff}a,b\n\"a \"\"b\"\"\",\u{1b}[31m").unwrap()[1], ["a \"b\"", "\u{fffd}[31m"]);
        assert!(lines(" \n").is_err());
    }
}
