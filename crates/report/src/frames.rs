//! Frames of frame logs: durations, limiting factors, and the slowest frames.

use crate::Options;
use crate::words::{ms, plain, plural, share, short, time};
use engine::{EngineError, Session};
use model::tables::{self, frame_sums, frames};
use model::{Column, Ns, Row, Table, TableDef, TableType, Value};
use page::Page;

/// The maximum number of slowest frames that are shown.
const SLOWEST: usize = 10;
/// The number of rows kept beyond those shown, so that sorting is rare.
const ROOM: usize = 1000;

/// Collects the rows with the longest time in a column.
pub struct Slowest<T> {
    by: Column<T, Option<Ns>>,
    max_rows: usize,
    longest_rows: Vec<Vec<Value>>,
}

impl<T: TableType> Slowest<T> {
    /// `max_rows` is limited to the number that fits on a page.
    pub fn new(by: Column<T, Option<Ns>>, max_rows: usize) -> Self {
        Self { by, max_rows: max_rows.min(SLOWEST), longest_rows: Vec::new() }
    }

    /// Adds rows; rows without that time are skipped.
    pub fn add<'r>(&mut self, rows: impl Iterator<Item = &'r Vec<Value>>) {
        self.longest_rows.extend(rows.filter(|row| self.by.of(row).is_some()).cloned());
        if self.longest_rows.len() > self.max_rows + ROOM {
            self.sort_out();
        }
    }

    /// Returns the rows, longest first.
    pub fn finish(mut self) -> Vec<Vec<Value>> {
        self.sort_out();
        self.longest_rows
    }

    fn sort_out(&mut self) {
        self.longest_rows.sort_by_key(|row| std::cmp::Reverse(self.by.of(row)));
        self.longest_rows.truncate(self.max_rows);
    }
}

/// Writes the first line of a report of frame logs without a trace.
pub fn head(page: &mut Page, session: &Session) {
    let s = session.summary();
    let tool = session.facts().about.iter().find(|(name, _)| name == "written_by");
    let tool = tool.map_or(String::new(), |(_, tool)| format!(" ({})", plain(tool)));
    page.paragraph(&format!(
        "{}: {} of {}; from {}{tool}",
        plain(&session.path().display().to_string()),
        time(Ns(s.span_ns)),
        plural(s.frames, noun(session)),
        plain(&session.facts().format),
    ));
}

/// What a frame of the log is called: one of many, if the log has those at the ends of intervals.
pub fn noun(session: &Session) -> &'static str {
    if session.facts().sampled_frames { "logged frame" } else { "frame" }
}

/// Whether a row's frames belong to the requested process, by name or PID.
pub fn is_of(process: &str, def: &TableDef, row: &[Value]) -> bool {
    let cell = |col: &str| def.col(col).and_then(|at| row.get(at));
    let named = matches!(cell(frames::APPLICATION.name()), Some(Value::Text(name)) if name == process);
    named || matches!(cell(frames::PID.name()), Some(Value::Int(pid)) if process.parse() == Ok(*pid))
}

/// Writes each swap chain and the slowest frames.
///
/// # Errors
/// The log cannot be read, or it has no frames of the requested process.
pub fn write(page: &mut Page, session: &Session, options: &Options) -> Result<(), EngineError> {
    if session.summary().frames == 0 {
        return Ok(());
    }
    let mut sums = session.table(tables::FRAME_SUMS.name)?;
    if let Some(process) = &options.process {
        sums.rows.retain(|row| is_of(process, sums.def, row));
        if sums.rows.is_empty() && session.full_summary().is_of_frames() {
            let path = session.path().display();
            return Err(EngineError::NotFound(format!(
                "{path}: no frames of a process named {process}; `corewise report {path}` shows all frames"
            )));
        }
    }
    if !sums.rows.is_empty() {
        chains(page, &mut sums, options);
        page.paragraph(
            "Each frame is classified separately. GPU-bound: the GPU was not idle between two displayed frames (for more than 1 us). \
             CPU-bound: it was idle, and each frame was displayed as soon as the GPU had finished it. Unknown: a frame waited for the display \
             or was dropped, or the log does not include these times.",
);
        slowest(page, session, options)?;
    }
    Ok(())
}

fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// Writes a row of sums for each swap chain, those with the most frames first.
fn chains(page: &mut Page, sums: &mut Table, options: &Options) {
    use frame_sums::*;
    sums.rows.sort_by_key(|row| std::cmp::Reverse(FRAMES.of(row)));
    page.heading("Frames by swap chain");
    let heads = [
        ("pid", 1),
        ("swap chain", 6),
        ("frames", 0),
        ("dropped", 2),
        ("mean ms", 0),
        ("fps", 0),
        ("median", 3),
        ("p99", 0),
        ("p99.9", 4),
        ("longest", 5),
        ("GPU ms", 4),
        ("GPU-bound %", 0),
        ("CPU-bound", 0),
        ("unknown", 0),
    ];
    let mut columns = vec![page::Column::text("program", 0)];
    columns.extend(heads.map(|(head, rank)| page::Column::numbers(head, rank)));
    let shown = options.top.min(sums.rows.len());
    for row in sums.rows_of(frame_sums::Table).take(shown) {
        let all = row.get(FRAMES);
        let of_ns = |col| or_dash(row.get::<Option<Ns>>(col).map(ms));
        let of_mean = |col| or_dash(row.get::<Option<f64>>(col).map(|ns| ms(Ns::nearest(ns))));
        let cells = [
            row.get(APPLICATION).map_or_else(|| "-".to_owned(), |name| short(name, 24)),
            or_dash(row.get(PID).map(|pid| pid.to_string())),
            or_dash(row.get(SWAP_CHAIN).map(plain)),
            all.to_string(),
            or_dash(row.get(NOT_DISPLAYED).map(|n| n.to_string())),
            of_mean(MEAN_NS),
            or_dash(row.get(FPS).map(|fps| format!("{fps:.1}"))),
            of_ns(MEDIAN_NS),
            of_ns(P99_NS),
            of_ns(P999_NS),
            of_ns(LONGEST_NS),
            of_mean(MEAN_GPU_BUSY_NS),
            share(row.get(GPU_BOUND), all),
            share(row.get(CPU_BOUND), all),
            share(row.get(UNKNOWN_BOUND), all),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
    let left = sums.rows.len() - shown;
    if left > 0 {
        page.note(&format!("and {}", plural(left as u64, "further swap chain")));
    }
    let precision =
        sums.rows_of(frame_sums::Table).take(shown).map(|row| row.get(PRECISION_NS)).max().unwrap_or(Ns::ZERO);
    if precision > Ns::ZERO {
        page.note(&format!("median, p99 and p99.9 may be up to {} higher than shown", time(precision)));
    }
}

/// Writes the longest frames.
fn slowest(page: &mut Page, session: &Session, options: &Options) -> Result<(), EngineError> {
    let def = &tables::FRAMES;
    let mut longest_rows = Slowest::new(frames::FRAME_NS, options.top);
    session.rows(def.name, &mut |rows| {
        let wanted = |row: &&Vec<Value>| options.process.as_ref().is_none_or(|process| is_of(process, def, row));
        longest_rows.add(rows.iter().filter(wanted));
        Ok(())
    })?;
    let longest_rows = longest_rows.finish();
    if longest_rows.is_empty() {
        return Ok(());
    }
    page.heading("Slowest frames");
    let mut columns = vec![
        page::Column::numbers("frame ms", 0),
        page::Column::numbers("start s", 0),
        page::Column::numbers("row", 1),
        page::Column::text("program", 0),
        page::Column::numbers("pid", 4),
        page::Column::numbers("CPU ms", 2),
        page::Column::numbers("in Present", 3),
        page::Column::numbers("GPU ms", 2),
        page::Column::numbers("GPU idle", 3),
        page::Column::numbers("until displayed", 3),
        page::Column::text("bound by", 0),
    ];
    for row in &longest_rows {
        let row = Row::<frames::Table>::new(row);
        let of_ns = |col| or_dash(row.get::<Option<Ns>>(col).map(ms));
        let dropped = row.get(frames::DISPLAYED) == Some(false);
        let cells = [
            of_ns(frames::FRAME_NS),
            format!("{:.6}", row.get(frames::START_NS).as_f64() / 1e9),
            row.get(frames::FRAME).to_string(),
            row.get(frames::APPLICATION).map_or_else(|| "-".to_owned(), |name| short(name, 24)),
            or_dash(row.get(frames::PID).map(|n| n.to_string())),
            of_ns(frames::CPU_BUSY_NS),
            of_ns(frames::IN_PRESENT_NS),
            of_ns(frames::GPU_BUSY_NS),
            of_ns(frames::GPU_IDLE_NS),
            if dropped { "dropped".to_owned() } else { of_ns(frames::UNTIL_DISPLAYED_NS) },
            row.get(frames::BOUND).to_owned(),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
    Ok(())
}
