//! A table as aligned columns, for people at a terminal.

use model::{Kind, TableDef, Value, words};
use std::fmt::Write as _;
use std::io::Write;

/// The number of rows that determine the widths of the columns; wider cells of later rows shift their row.
const MEASURED: usize = 2000;
/// The maximum width of a text.
const MAX_TEXT: usize = 60;

/// Writes aligned rows. The first ones are held until their widths are known.
pub struct Aligned<'a> {
    out: &'a mut dyn Write,
    def: &'static TableDef,
    held: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
    rows: usize,
}

impl<'a> Aligned<'a> {
    /// Begins a table.
    pub fn new(def: &'static TableDef, out: &'a mut dyn Write) -> Self {
        Self { out, def, held: Vec::new(), widths: None, rows: 0 }
    }

    /// Writes a row, its values in the order of the columns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn push(&mut self, row: &[Value]) -> std::io::Result<()> {
        self.rows += 1;
        let cells: Vec<String> = self.def.cols.iter().zip(row).map(|(col, value)| cell(col.unit, value)).collect();
        if let Some(widths) = &self.widths {
            return line(self.out, self.def, widths, &cells);
        }
        self.held.push(cells);
        if self.held.len() >= MEASURED { self.write_held() } else { Ok(()) }
    }

    /// Writes the end of the table and returns the number of its rows.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> std::io::Result<usize> {
        if self.widths.is_none() {
            self.write_held()?;
        }
        Ok(self.rows)
    }

    fn write_held(&mut self) -> std::io::Result<()> {
        let heads: Vec<String> = self.def.cols.iter().map(|col| col.name.to_owned()).collect();
        let width = |at: usize| {
            let cells = self.held.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
            cells.chain([heads[at].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heads.len()).map(width).collect();
        line(self.out, self.def, &widths, &heads)?;
        for row in std::mem::take(&mut self.held) {
            line(self.out, self.def, &widths, &row)?;
        }
        self.widths = Some(widths);
        Ok(())
    }
}

/// Formats a value: times and counts with groups of three digits, `-` for null.
fn cell(unit: &str, value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Int(n) if matches!(unit, "ns" | "count" | "bytes") => words::grouped(*n).replace(words::TIE, " "),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => format!("{x:.3}"),
        Value::Text(text) => words::short(text, MAX_TEXT),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
    }
}

fn line(out: &mut dyn Write, def: &TableDef, widths: &[usize], cells: &[String]) -> std::io::Result<()> {
    let mut text = String::new();
    for ((col, cell), width) in def.cols.iter().zip(cells).zip(widths) {
        let room = " ".repeat(width.saturating_sub(cell.chars().count()));
        let _ = match col.kind {
            Kind::Int | Kind::Float => write!(text, "{room}{cell}  "),
            Kind::Text | Kind::Bool => write!(text, "{cell}{room}  "),
        };
    }
    writeln!(out, "{}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::tables;

    fn written(rows: &[Vec<Value>]) -> String {
        let mut out = Vec::new();
        let mut table = Aligned::new(&tables::CONCURRENCY, &mut out);
        rows.iter().for_each(|row| table.push(row).unwrap());
        assert_eq!(table.finish().unwrap(), rows.len());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_right_aligned_and_times_grouped() {
        let row = |n, ns| {
            tables::CONCURRENCY.cols.iter().map(|col| Value::Int(if col.unit == "ns" { ns } else { n })).collect()
        };
        let text = written(&[row(1, 5), row(2, 1_234_567)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[2].contains("1 234 567") && lines[1].contains("        5"), "{text}");
        assert_eq!(lines[1].len(), lines[2].len(), "{text}");
    }

    #[test]
    fn a_long_table_is_written_as_it_comes() {
        let row: Vec<Value> = tables::CONCURRENCY.cols.iter().map(|_| Value::Null).collect();
        let text = written(&vec![row; 2 * MEASURED + 1]);
        assert_eq!(text.lines().count(), 2 * MEASURED + 2);
        assert_eq!(written(&[]).lines().count(), 1, "an empty table has its header");
    }
}
