//! Stretches that a program marked, as frames: how long they took, what their threads did meanwhile, and the slowest.

use crate::frames::Slowest;
use crate::grid::Column;
use crate::page::Page;
use crate::words::{ms, plain, share, short};
use engine::{EngineError, Session, is_named};
use model::{Value, tables};
use std::collections::{BTreeMap, BTreeSet};

/// What a thread's stretches sum to.
#[derive(Default)]
struct Sums {
    frames: i64,
    duration: i64,
    longest: i64,
    /// Running, ready, blocked, unknown; none where that is not known.
    states: [Option<i64>; 4],
}

/// The columns of states.
const STATES: [&str; 4] = ["running_ns", "ready_ns", "blocked_ns", "unknown_ns"];

/// A cell that is a number.
fn int(row: &[Value], col: &str) -> Option<i64> {
    match tables::MARK_STRETCHES.col(col).and_then(|at| row.get(at)) {
        Some(Value::Int(v)) => Some(*v),
        _ => None,
    }
}

impl Sums {
    fn add(&mut self, row: &[Value]) {
        let duration = int(row, "duration_ns").unwrap_or(0);
        self.frames += 1;
        // The times of a damaged file may be larger than any sum.
        self.duration = self.duration.saturating_add(duration);
        self.longest = self.longest.max(duration);
        for (sum, col) in self.states.iter_mut().zip(STATES) {
            *sum = int(row, col).map(|ns| sum.unwrap_or(0).saturating_add(ns));
        }
    }
}

/// All stretches marked so.
///
/// # Errors
/// The trace cannot be read, or nothing is marked so.
pub fn write(page: &mut Page, session: &Session, name: &str, top: usize) -> Result<(), EngineError> {
    let def = &tables::MARK_STRETCHES;
    let mut slowest = Slowest::new(def, "duration_ns", top);
    let mut sums: BTreeMap<(Option<i64>, Option<i64>), Sums> = BTreeMap::new();
    session.rows(def.name, &mut |rows| {
        for row in rows.iter().filter(|row| is_named(name, def, row)) {
            sums.entry((int(row, "thread"), int(row, "pid"))).or_default().add(row);
            slowest.add(std::iter::once(row));
        }
        Ok(())
    })?;
    if sums.is_empty() {
        let path = session.path().display();
        return Err(EngineError::Other(format!(
            "{path}: no stretch of it is marked {name}; `corewise table {path} marks` lists what is marked"
        )));
    }
    let threads = names(session, &sums.keys().filter_map(|(thread, _)| *thread).collect())?;
    page.heading(&format!("Frames: stretches marked {}", plain(name)));
    let heads = ["frames", "mean ms", "longest", "running %", "ready", "blocked", "unknown"];
    let mut columns = vec![Column::words("thread", 0)];
    columns.extend(heads.map(|head| Column::numbers(head, 0)));
    for ((thread, pid), sums) in &sums {
        let part = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), |ns| share(ns, sums.duration));
        let mut cells = vec![
            whose(&threads, *thread, *pid),
            sums.frames.to_string(),
            ms(sums.duration / sums.frames.max(1)),
            ms(sums.longest),
        ];
        cells.extend(sums.states.map(part));
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
    page.heading("The slowest of them");
    let heads = ["frame ms", "begins at s", "running ms", "ready", "blocked", "unknown"];
    let mut columns: Vec<Column> = heads.map(|head| Column::numbers(head, 0)).into();
    columns.extend([Column::words("thread", 0), Column::words("name", 1)]);
    for row in slowest.finish() {
        let of = |col: &str| int(&row, col).map_or_else(|| "-".to_owned(), ms);
        let mut cells = vec![of("duration_ns"), format!("{:.6}", int(&row, "start_ns").unwrap_or(0) as f64 / 1e9)];
        cells.extend(STATES.map(of));
        let called = match def.col("name").and_then(|at| row.get(at)) {
            Some(Value::Text(text)) => short(text, 24),
            _ => String::new(),
        };
        cells.extend([whose(&threads, int(&row, "thread"), int(&row, "pid")), called]);
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
    Ok(())
}

/// What some threads are called, by their keys.
fn names(session: &Session, of: &BTreeSet<i64>) -> Result<BTreeMap<i64, String>, EngineError> {
    let def = &tables::THREADS;
    let at = |col: &str| def.col(col).unwrap_or(0);
    let (key, tid, name) = (at("thread"), at("tid"), at("name"));
    let mut names = BTreeMap::new();
    session.rows(def.name, &mut |rows| {
        for row in rows {
            let text = match &row[name] {
                Value::Text(text) => short(text, 16),
                _ => "?".to_owned(),
            };
            if let (Value::Int(key), Value::Int(tid)) = (&row[key], &row[tid])
                && of.contains(key)
            {
                names.insert(*key, format!("{text} {tid}"));
            }
        }
        Ok(())
    })?;
    Ok(names)
}

fn whose(threads: &BTreeMap<i64, String>, thread: Option<i64>, pid: Option<i64>) -> String {
    match (thread.and_then(|key| threads.get(&key)), pid) {
        (Some(thread), _) => thread.clone(),
        (None, Some(pid)) => format!("process {pid}"),
        (None, None) => "-".to_owned(),
    }
}
