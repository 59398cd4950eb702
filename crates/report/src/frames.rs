//! Frames of frame logs: how long they took, what bound them, and the slowest.

use crate::Options;
use crate::grid::Column;
use crate::page::Page;
use crate::words::{ms, plain, plural, share, short, time};
use engine::{EngineError, Session};
use model::{Table, TableDef, Value, tables};

/// So many of the slowest are shown.
const SLOWEST: usize = 10;
/// So many more than are shown are held, so that sorting is seldom.
const ROOM: usize = 1000;

/// The rows of a table in which a time is longest.
pub struct Slowest {
    by: usize,
    most: usize,
    best: Vec<Vec<Value>>,
}

impl Slowest {
    /// At most so many, and never more than fit on a page.
    pub fn new(def: &TableDef, by: &str, most: usize) -> Self {
        Self { by: def.col(by).unwrap_or(0), most: most.min(SLOWEST), best: Vec::new() }
    }

    /// More rows; those without that time are none.
    pub fn add<'r>(&mut self, rows: impl Iterator<Item = &'r Vec<Value>>) {
        self.best.extend(rows.filter(|row| matches!(row.get(self.by), Some(Value::Int(_)))).cloned());
        if self.best.len() > self.most + ROOM {
            self.sort_out();
        }
    }

    /// The longest first.
    pub fn finish(mut self) -> Vec<Vec<Value>> {
        self.sort_out();
        self.best
    }

    fn sort_out(&mut self) {
        self.best.sort_by_key(|row| match row.get(self.by) {
            Some(Value::Int(ns)) => std::cmp::Reverse(*ns),
            _ => std::cmp::Reverse(i64::MIN),
        });
        self.best.truncate(self.most);
    }
}

/// The first line of a report of frame logs alone.
pub fn head(page: &mut Page, session: &Session) {
    let s = session.summary();
    let by = session.facts().about.iter().find(|(name, _)| name == "written_by");
    let by = by.map_or(String::new(), |(_, who)| format!(" ({})", plain(who)));
    page.words(&format!(
        "{}: {} of {}; from {}{by}",
        plain(&session.path().display().to_string()),
        time(s.span_ns),
        plural(s.frames, "frame"),
        plain(&session.facts().format),
    ));
}

/// Whether a row's frames are of the process that was asked for, by name or number.
pub fn is_of(process: &str, def: &TableDef, row: &[Value]) -> bool {
    let cell = |col: &str| def.col(col).and_then(|at| row.get(at));
    let named = matches!(cell("application"), Some(Value::Text(name)) if name == process);
    named || matches!(cell("pid"), Some(Value::Int(pid)) if process.parse() == Ok(*pid))
}

/// Each swap chain, and the slowest frames.
///
/// # Errors
/// The log cannot be read, or it has no frame of the process that was asked for.
pub fn write(page: &mut Page, session: &Session, options: &Options) -> Result<(), EngineError> {
    if session.summary().frames == 0 {
        return Ok(());
    }
    let mut sums = session.table(tables::FRAME_SUMS.name)?;
    if let Some(process) = &options.process {
        sums.rows.retain(|row| is_of(process, sums.def, row));
        if sums.rows.is_empty() && session.whole().is_of_frames() {
            let path = session.path().display();
            return Err(EngineError::Other(format!(
                "{path}: no frame is of a process called {process}; `corewise report {path}` shows all frames"
            )));
        }
    }
    if !sums.rows.is_empty() {
        chains(page, &mut sums, options);
        page.words(
            "Each frame is judged for itself. GPU-bound: the GPU had no idle time between two frames shown (up to 1 us). \
             CPU-bound: it had, and each was shown as soon as the GPU had finished it. Unknown: a frame waited for the display, was \
             dropped, or the log does not tell.",
);
        slowest(page, session, options)?;
    }
    Ok(())
}

fn int(table: &Table, row: usize, col: &str) -> i64 {
    table.int(row, col).unwrap_or(0)
}

fn float(table: &Table, row: usize, col: &str) -> Option<f64> {
    match table.rows.get(row)?.get(table.def.col(col)?)? {
        Value::Float(v) => Some(*v),
        _ => None,
    }
}

fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// A row of sums for each swap chain, those with the most frames first.
fn chains(page: &mut Page, sums: &mut Table, options: &Options) {
    let frames = sums.def.col("frames").unwrap_or(0);
    sums.rows.sort_by_key(|row| match row.get(frames) {
        Some(Value::Int(n)) => std::cmp::Reverse(*n),
        _ => std::cmp::Reverse(0),
    });
    page.heading("Frames, by swap chain");
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
    let mut columns = vec![Column::words("program", 0)];
    columns.extend(heads.map(|(head, rank)| Column::numbers(head, rank)));
    let shown = options.top.min(sums.rows.len());
    for row in 0..shown {
        let all = int(sums, row, "frames");
        let of_ns = |col: &str| or_dash(sums.int(row, col).map(ms));
        let of_mean = |col: &str| or_dash(float(sums, row, col).map(|ns| ms(ns.round() as i64)));
        let cells = [
            sums.text(row, "application").map_or_else(|| "-".to_owned(), |name| short(name, 24)),
            or_dash(sums.int(row, "pid").map(|pid| pid.to_string())),
            or_dash(sums.text(row, "swap_chain").map(plain)),
            all.to_string(),
            int(sums, row, "not_displayed").to_string(),
            of_mean("mean_ns"),
            or_dash(float(sums, row, "fps").map(|fps| format!("{fps:.1}"))),
            of_ns("median_ns"),
            of_ns("p99_ns"),
            of_ns("p999_ns"),
            of_ns("longest_ns"),
            of_mean("mean_gpu_busy_ns"),
            share(int(sums, row, "gpu_bound"), all),
            share(int(sums, row, "cpu_bound"), all),
            share(int(sums, row, "unknown_bound"), all),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
    let left = sums.rows.len() - shown;
    if left > 0 {
        page.line(&format!("and {}", plural(left as u64, "further swap chain")));
    }
    let precision = (0..shown).map(|row| int(sums, row, "precision_ns")).max().unwrap_or(0);
    if precision > 0 {
        page.line(&format!("median, p99 and p99.9 may be up to {} less than they are told", time(precision)));
    }
}

/// The frames that took longest.
fn slowest(page: &mut Page, session: &Session, options: &Options) -> Result<(), EngineError> {
    let def = &tables::FRAMES;
    let at = |name: &str| def.col(name).unwrap_or(0);
    let mut best = Slowest::new(def, "frame_ns", options.top);
    session.rows(def.name, &mut |rows| {
        let wanted = |row: &&Vec<Value>| options.process.as_ref().is_none_or(|process| is_of(process, def, row));
        best.add(rows.iter().filter(wanted));
        Ok(())
    })?;
    let best = best.finish();
    if best.is_empty() {
        return Ok(());
    }
    page.heading("The slowest frames");
    let mut columns = vec![
        Column::numbers("frame ms", 0),
        Column::numbers("begins at s", 0),
        Column::numbers("row", 1),
        Column::words("program", 0),
        Column::numbers("pid", 4),
        Column::numbers("CPU ms", 2),
        Column::numbers("in Present", 3),
        Column::numbers("GPU ms", 2),
        Column::numbers("GPU idle", 3),
        Column::numbers("until shown", 3),
        Column::words("bound by", 0),
    ];
    for row in &best {
        let number = |name: &str| match row.get(at(name)) {
            Some(Value::Int(v)) => Some(*v),
            _ => None,
        };
        let word = |name: &str| match row.get(at(name)) {
            Some(Value::Text(v)) => Some(v.as_str()),
            _ => None,
        };
        let of_ns = |name: &str| or_dash(number(name).map(ms));
        let dropped = matches!(row.get(at("displayed")), Some(Value::Bool(false)));
        let cells = [
            of_ns("frame_ns"),
            or_dash(number("start_ns").map(|ns| format!("{:.6}", ns as f64 / 1e9))),
            or_dash(number("frame").map(|n| n.to_string())),
            word("application").map_or_else(|| "-".to_owned(), |name| short(name, 24)),
            or_dash(number("pid").map(|n| n.to_string())),
            of_ns("cpu_busy_ns"),
            of_ns("in_present_ns"),
            of_ns("gpu_busy_ns"),
            of_ns("gpu_idle_ns"),
            if dropped { "dropped".to_owned() } else { of_ns("until_displayed_ns") },
            word("bound").unwrap_or("unknown").to_owned(),
        ];
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
    Ok(())
}
