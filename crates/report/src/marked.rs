//! Marked stretches as frames: how long they took, what their threads did meanwhile, and the slowest ones.

use crate::frames::Slowest;
use crate::words::{ms, plain, share, short};
use engine::{EngineError, Session, mark_row_matches};
use model::tables::mark_stretches::{
    self, BLOCKED_NS, DURATION_NS, NAME, PID, READY_NS, RUNNING_NS, START_NS, THREAD, UNKNOWN_NS,
};
use model::tables::{self, threads};
use model::{Column, Ns, Row, ThreadKey};
use page::Page;
use std::collections::{BTreeMap, BTreeSet};

/// The sums of a thread's stretches.
#[derive(Default)]
struct Sums {
    frames: i64,
    duration: Ns,
    longest: Ns,
    /// Running, ready, blocked, unknown; `None` if not known.
    states: [Option<Ns>; 4],
}

/// The columns of these states.
const STATES: [Column<mark_stretches::Table, Option<Ns>>; 4] = [RUNNING_NS, READY_NS, BLOCKED_NS, UNKNOWN_NS];

impl Sums {
    fn add(&mut self, row: Row<'_, mark_stretches::Table>) {
        let duration = row.get(DURATION_NS);
        self.frames += 1;
        // The times of a damaged file may overflow.
        self.duration += duration;
        self.longest = self.longest.max(duration);
        for (sum, ns) in self.states.iter_mut().zip(row.all(STATES)) {
            *sum = ns.map(|ns| sum.unwrap_or(Ns::ZERO) + ns);
        }
    }
}

/// Writes all stretches with a mark's name.
///
/// # Errors
/// The trace cannot be read, or no stretch has that name.
pub fn write(page: &mut Page, session: &Session, name: &str, top: usize) -> Result<(), EngineError> {
    let def = &tables::MARK_STRETCHES;
    let mut slowest = Slowest::new(DURATION_NS.or_null(), top);
    let mut sums: BTreeMap<(Option<ThreadKey>, Option<i64>), Sums> = BTreeMap::new();
    session.rows(def.name, &mut |rows| {
        for row in rows.iter().filter(|row| mark_row_matches(name, def, row)) {
            slowest.add(std::iter::once(row));
            let row = Row::new(row);
            sums.entry((row.get(THREAD), row.get(PID))).or_default().add(row);
        }
        Ok(())
    })?;
    if sums.is_empty() {
        let path = session.path().display();
        return Err(EngineError::NotFound(format!(
            "{path}: no stretch is marked {name}; `corewise table {path} marks` lists all marks"
        )));
    }
    let threads = names(session, &sums.keys().filter_map(|(thread, _)| *thread).collect())?;
    page.heading(&format!("Frames: stretches marked {}", plain(name)));
    let heads = ["frames", "mean ms", "longest", "running %", "ready", "blocked", "unknown"];
    let mut columns = vec![page::Column::text("thread", 0)];
    columns.extend(heads.map(|head| page::Column::numbers(head, 0)));
    for ((thread, pid), sums) in &sums {
        let part = |ns: Option<Ns>| ns.map_or_else(|| "-".to_owned(), |ns| share(ns, sums.duration));
        let mut cells = vec![
            owner(&threads, *thread, *pid),
            sums.frames.to_string(),
            ms(sums.duration / sums.frames.max(1)),
            ms(sums.longest),
        ];
        cells.extend(sums.states.map(part));
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
    page.heading("Slowest marked frames");
    let heads = ["frame ms", "start s", "running ms", "ready", "blocked", "unknown"];
    let mut columns: Vec<page::Column> = heads.map(|head| page::Column::numbers(head, 0)).into();
    columns.extend([page::Column::text("thread", 0), page::Column::text("name", 1)]);
    for row in slowest.finish() {
        let row = Row::new(&row);
        let mut cells = vec![ms(row.get(DURATION_NS)), format!("{:.6}", row.get(START_NS).as_f64() / 1e9)];
        cells.extend(row.all(STATES).map(|ns| ns.map_or_else(|| "-".to_owned(), ms)));
        let name = row.get(NAME).map(|name| short(name, 24)).unwrap_or_default();
        cells.extend([owner(&threads, row.get(THREAD), row.get(PID)), name]);
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    page.grid(columns, 0);
    Ok(())
}

/// The names of some threads, by key.
fn names(session: &Session, of: &BTreeSet<ThreadKey>) -> Result<BTreeMap<ThreadKey, String>, EngineError> {
    let mut names = BTreeMap::new();
    session.each(threads::Table, |row| {
        let (key, tid) = row.all((threads::THREAD, threads::TID));
        if of.contains(&key) {
            let name = row.get(threads::NAME).map_or_else(|| "?".to_owned(), |name| short(name, 16));
            names.insert(key, format!("{name} {tid}"));
        }
    })?;
    Ok(names)
}

fn owner(threads: &BTreeMap<ThreadKey, String>, thread: Option<ThreadKey>, pid: Option<i64>) -> String {
    match (thread.and_then(|key| threads.get(&key)), pid) {
        (Some(thread), _) => thread.clone(),
        (None, Some(pid)) => format!("process {pid}"),
        (None, None) => "-".to_owned(),
    }
}
