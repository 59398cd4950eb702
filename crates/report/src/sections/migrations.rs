//! Which threads moved between CPUs, and how far.

use super::Section;
use crate::context::{SectionContext, Top, add, count_of};
use crate::words::grouped;
use engine::EngineError;
use model::tables::{self, migration_matrix, migrations};
use model::{Column as Col, ThreadKey, Tid};
use page::{Column, Matrix, Page, push};
use std::collections::{BTreeMap, BTreeSet};

pub const SECTION: Section = Section {
    id: "migrations",
    about: "threads that moved to another CPU, by what the two CPUs share",
    tables: &[&tables::MIGRATIONS, &tables::MIGRATION_MATRIX],
    write,
};

/// With more CPUs, the matrix is not shown as a table.
const MAX_TABLE: usize = 8;
/// With more CPUs, it is not shown as a picture.
const MAX_PICTURE: usize = 64;
const EDGES: [(Col<migrations::Table, i64>, &str); 8] = [
    (migrations::SAME_CORE, "same core"),
    (migrations::SAME_L2, "same L2"),
    (migrations::SAME_L3, "same L3"),
    (migrations::SAME_TYPE, "same type"),
    (migrations::TO_FASTER, "to faster"),
    (migrations::TO_SLOWER, "to slower"),
    (migrations::OTHER_PACKAGE, "package"),
    (migrations::UNKNOWN, "unknown"),
];

struct Moved {
    key: ThreadKey,
    tid: Tid,
    all: i64,
    edges: [i64; 8],
}

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let (mut top, mut all, mut sums) = (Top::new(ctx.top), 0, [0; 8]);
    ctx.each_row(migrations::Table, |row| {
        let (key, tid, count) = row.all((migrations::THREAD, migrations::TID, migrations::MIGRATIONS));
        let edges = row.all(EDGES.map(|(col, _)| col));
        add(&mut all, count);
        sums.iter_mut().zip(edges).for_each(|(sum, more)| add(sum, more));
        top.push(count, Moved { key, tid, all: count, edges });
    })?;
    let count = top.count;
    let rows = top.finish();
    if rows.is_empty() {
        return Ok(());
    }
    let span = ctx.session.summary().span_ns;
    let rate = if span > 0 { format!(", {:.1} per second", all as f64 * 1e9 / span as f64) } else { String::new() };
    page.heading(&format!("Migrations: {}{rate}; {}", grouped(all), count_of(rows.len(), count, "thread")));
    let shown: Vec<usize> = (0..EDGES.len()).filter(|at| sums[*at] > 0).collect();
    let totals = usize::from(count > 1);
    let mut columns = vec![Column::text("thread", 0), Column::numbers("tid", 1), Column::numbers("migrations", 0)];
    columns.extend(shown.iter().map(|at| Column::numbers(EDGES[*at].1, 1)));
    for moved in &rows {
        let cells = [ctx.name(Some(moved.key)), moved.tid.to_string(), grouped(moved.all)];
        let edges = shown.iter().map(|at| grouped(moved.edges[*at]));
        push(&mut columns, cells.into_iter().chain(edges));
    }
    if totals > 0 {
        let cells = ["all threads".to_owned(), String::new(), grouped(all)];
        let edges = shown.iter().map(|at| grouped(sums[*at]));
        push(&mut columns, cells.into_iter().chain(edges));
    }
    page.grid(columns, totals);
    if ctx.is_whole() { matrix(page, ctx) } else { Ok(()) }
}

/// Writes the matrix of migrations from each CPU to each.
fn matrix(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    let mut moves: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    ctx.each_row(migration_matrix::Table, |row| {
        let [from, to, count] =
            row.all([migration_matrix::FROM_CPU, migration_matrix::TO_CPU, migration_matrix::MIGRATIONS]);
        add(moves.entry((from, to)).or_default(), count);
    })?;
    let cpus: BTreeSet<i64> = moves.keys().flat_map(|(from, to)| [*from, *to]).collect();
    if cpus.len() > MAX_PICTURE || cpus.len() < 3 {
        return Ok(());
    }
    let at = |from: &i64, to: &i64| moves.get(&(*from, *to)).copied().unwrap_or(0);
    page.picture(Matrix {
        title: "Migrations from each CPU (rows) to each other CPU (columns)".to_owned(),
        labels: cpus.iter().map(i64::to_string).collect(),
        cells: cpus.iter().map(|from| cpus.iter().map(|to| at(from, to)).collect()).collect(),
    });
    if cpus.len() <= MAX_TABLE {
        let mut from_to = Column::text("from \\ to CPU", 0);
        cpus.iter().for_each(|from| from_to.push(from.to_string()));
        let column = |to: &i64| {
            let mut column = Column::numbers(&to.to_string(), 0);
            cpus.iter().for_each(|from| {
                let count = at(from, to);
                column.push(if count == 0 { ".".to_owned() } else { grouped(count) });
            });
            column
        };
        page.grid(std::iter::once(from_to).chain(cpus.iter().map(column)).collect(), 0);
    }
    Ok(())
}
