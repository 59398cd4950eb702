//! A workbook (Office Open XML): a first sheet `about`, then one sheet per table.
//!
//! Numbers are numbers and nulls are empty cells; the unit is in the header (`running_ns [ns]`). A sheet has at max_rows 1,048,576
//! rows; a longer table continues on a sheet of the same name with ` (2)`, which `about` mentions. `about` has the trace's id as
//! text, as Excel's numbers are doubles, which cannot hold 64 bits. Times up to 104 days are exact. Rows are written to temporary files
//! immediately, so memory does not grow with their number.

use crate::{ExportError, Exporter, Job, Offer, Outputs, Shape, about};
use model::{Kind, TableDef, Value};
use rust_xlsxwriter::{Format, Workbook, Worksheet, XlsxError};
use std::io::{Seek as _, SeekFrom};

/// A workbook.
pub struct Xlsx;

/// The maximum number of rows of a sheet, including the header.
const MAX_ROWS: u32 = 1_048_576;
/// The maximum number of characters in a cell.
const MAX_CHARS: usize = 32_767;
/// The name of the first sheet.
const ABOUT: &str = "about";

impl Exporter for Xlsx {
    fn id(&self) -> &'static str {
        "xlsx"
    }

    fn about(&self) -> &'static str {
        "a workbook, one sheet per table"
    }

    fn shape(&self) -> Shape {
        Shape::File
    }

    fn suffix(&self) -> &'static str {
        ".xlsx"
    }

    fn offer(&self) -> Offer {
        Offer {
            read_by: "Excel, LibreOffice, Google Sheets",
            carries: &["Every table with units, and a sheet about the source, the machine and the checks."],
            cannot: &["Events; more than 1,048,576 rows on one sheet: the table continues on the next."],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        let mut book = Workbook::new();
        let mut index = Vec::new();
        // It describes the other sheets, so it is filled last.
        book.add_worksheet().set_name(ABOUT).map_err(failed)?;
        for def in job.options.tables(job.session)? {
            table(job, &mut book, def, MAX_ROWS, &mut index)?;
        }
        let trace = job.session.trace()?;
        let sheet = book.worksheet_from_index(0).map_err(failed)?;
        first_sheet(sheet, job, trace, &index).map_err(failed)?;
        // The archive's writer seeks back to fill in lengths, which is not possible in a pipe.
        let mut file = tempfile::tempfile()?;
        book.save_to_writer(&mut file).map_err(failed)?;
        file.seek(SeekFrom::Start(0))?;
        std::io::copy(&mut file, to.next("tables.xlsx")?)?;
        Ok(())
    }
}

fn failed(error: XlsxError) -> ExportError {
    ExportError::Words(format!("the workbook cannot be written: {error}"))
}

/// One line of the list of sheets.
struct Listed {
    sheet: String,
    rows: u64,
    words: String,
}

/// A sheet being filled.
struct Filling {
    place: usize,
    name: String,
    /// The next row.
    row: u32,
}

/// Writes a table to as many sheets of `max_rows` rows as needed.
fn table(
    job: &mut Job<'_>,
    book: &mut Workbook,
    def: &'static TableDef,
    max_rows: u32,
    index: &mut Vec<Listed>,
) -> Result<(), ExportError> {
    let request = job.options.request(def.name);
    let def = request.definition(job.session)?;
    let (mut done, mut sheets) = (0, 1);
    let mut filling = begin(book, def, sheets).map_err(failed)?;
    let mut error = None;
    let read = request.rows(job.session, &mut |rows| {
        let mut push = |row: &Vec<Value>| -> Result<(), XlsxError> {
            if filling.row >= max_rows {
                index.push(end(book, def, &filling, sheets)?);
                sheets += 1;
                filling = begin(book, def, sheets)?;
            }
            put(book.worksheet_from_index(filling.place)?, filling.row, row)?;
            filling.row += 1;
            Ok(())
        };
        error = rows.iter().try_for_each(&mut push).err();
        done += rows.len() as u64;
        (job.progress)(done);
        if error.is_none() { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    });
    if let Some(error) = error {
        return Err(failed(error));
    }
    read?;
    index.push(end(book, def, &filling, sheets).map_err(failed)?);
    Ok(())
}

fn begin(book: &mut Workbook, def: &TableDef, number: u32) -> Result<Filling, XlsxError> {
    let name = if number == 1 { def.name.to_owned() } else { format!("{} ({number})", def.name) };
    let place = book.worksheets().len();
    let sheet = book.add_worksheet_with_constant_memory()?.set_name(&name)?;
    sheet.set_freeze_panes(1, 0)?;
    let bold = Format::new().set_bold();
    for (col, c) in (0u16..).zip(def.cols) {
        let head = if c.unit.is_empty() { c.name.to_owned() } else { format!("{} [{}]", c.name, c.unit) };
        let chars = head.chars().count() as f64;
        sheet.set_column_width(col, (chars + 2.0).max(if c.kind == Kind::Text { 16.0 } else { 10.0 }))?;
        sheet.write_string_with_format(0, col, head, &bold)?;
    }
    Ok(Filling { place, name, row: 1 })
}

fn end(book: &mut Workbook, def: &TableDef, filling: &Filling, number: u32) -> Result<Listed, XlsxError> {
    let last = u16::try_from(def.cols.len().saturating_sub(1)).unwrap_or(u16::MAX);
    book.worksheet_from_index(filling.place)?.autofilter(0, 0, filling.row.saturating_sub(1), last)?;
    let words = match number {
        1 => def.doc.to_owned(),
        _ => format!("Continuation of the table {}: a sheet holds {MAX_ROWS} rows.", def.name),
    };
    Ok(Listed { sheet: filling.name.clone(), rows: u64::from(filling.row - 1), words })
}

fn put(sheet: &mut Worksheet, row: u32, values: &[Value]) -> Result<(), XlsxError> {
    for (col, value) in (0u16..).zip(values) {
        match value {
            Value::Null => {}
            Value::Int(v) => {
                sheet.write_number(row, col, *v as f64)?;
            }
            Value::Float(v) => {
                sheet.write_number(row, col, *v)?;
            }
            Value::Text(v) => {
                sheet.write_string(row, col, cell(v))?;
            }
            Value::Bool(v) => {
                sheet.write_boolean(row, col, *v)?;
            }
        }
    }
    Ok(())
}

/// Limits text to the size of a cell.
fn cell(text: &str) -> String {
    text.chars().take(MAX_CHARS).collect()
}

fn first_sheet(sheet: &mut Worksheet, job: &Job<'_>, trace: i64, index: &[Listed]) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    sheet.set_column_width(0, 36)?.set_column_width(1, 16)?.set_column_width(2, 80)?;
    sheet.write_string_with_format(0, 0, "sheet", &bold)?;
    sheet.write_string_with_format(0, 1, "rows", &bold)?;
    sheet.write_string_with_format(0, 2, "contents", &bold)?;
    let mut row = 1;
    for listed in index {
        sheet.write_string(row, 0, &listed.sheet)?;
        sheet.write_number(row, 1, listed.rows as f64)?;
        sheet.write_string(row, 2, &listed.words)?;
        row += 1;
    }
    row += 1;
    sheet.write_string_with_format(row, 0, "about the trace", &bold)?;
    let range = job.options.span.map(|s| ("range".to_owned(), format!("{} ns to {} ns", s.start.0, s.end.0)));
    let own = [("trace".to_owned(), trace.to_string())].into_iter().chain(range);
    for (name, value) in own.chain(about::facts(job)) {
        row += 1;
        sheet.write_string(row, 0, cell(&name))?;
        sheet.write_string(row, 1, cell(&value))?;
    }
    sheet.set_freeze_panes(1, 0)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use engine::{PassOptions, Session};
    use model::tables;
    use std::path::Path;

    #[test]
    fn a_long_table_continues_on_the_next_sheet() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures/perf_data/sched.data");
        let session = Session::open(&path, PassOptions::default()).unwrap();
        let rows = session.table("threads").unwrap().rows.len() as u64;
        let options = Options::default();
        let mut job = Job { session: &session, options: &options, progress: &mut |_| () };
        let (mut book, mut index) = (Workbook::new(), Vec::new());
        table(&mut job, &mut book, &tables::THREADS, 21, &mut index).unwrap();
        let names: Vec<&str> = index.iter().map(|l| l.sheet.as_str()).collect();
        assert_eq!(names, ["threads", "threads (2)", "threads (3)"]);
        assert_eq!(index.iter().map(|l| l.rows).sum::<u64>(), rows);
        assert!(index.iter().all(|l| l.rows <= 20) && index[1].words.contains("Continuation"));
    }
}
