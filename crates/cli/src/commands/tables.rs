//! `corewise tables`: lists the tables and describes their columns.

use crate::args::Global;
use crate::failure::{Failure, OK};
use crate::output::{Color, print};
use model::{Kind, TableDef};
use std::fmt::Write;
use std::path::PathBuf;

const AFTER: &str = "\
Examples:
  corewise tables
  corewise tables run.cw
  corewise table run.cw threads --format md

Each Parquet file, in a trace folder or written by `table` and `export`, has the trace's id in its metadata, as `corewise.trace`. To \
read the same table of many traces in DuckDB, with the id in each row:

  SELECT CAST(decode(m.value) AS BIGINT) AS trace, t.*
  FROM read_parquet('*.cw/tables/threads.parquet', filename = true) AS t
  LEFT JOIN parquet_kv_metadata('*.cw/tables/threads.parquet') AS m
    ON m.file_name = t.filename AND decode(m.key) = 'corewise.trace'";

/// List the tables of a trace and describe their columns
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// A trace folder or a file of another tool: also show the number of rows of its tables
    trace: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The trace cannot be read.
pub fn run(args: &Args, global: &Global) -> Result<u8, Failure> {
    let session = args.trace.as_ref().map(|trace| global.open(trace)).transpose()?;
    let mut out = String::new();
    for (i, def) in model::tables::ALL.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let rows = match &session {
            Some(session) if session.is_quick(def) => {
                let mut count = 0;
                session.rows(def.name, &mut |rows| {
                    count += rows.len();
                    Ok(())
                })?;
                Some(count)
            }
            _ => None,
        };
        describe(&mut out, model::tables::named(def), rows, global.color);
    }
    print(&out)?;
    Ok(OK)
}

fn describe(out: &mut String, def: &TableDef, rows: Option<usize>, color: Color) {
    let (on, off) = if color.wanted() { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
    let rows = rows.map(|n| format!(" ({n} rows)")).unwrap_or_default();
    let _ = writeln!(out, "{on}{}{off}{rows}: {}", def.name, def.doc);
    let width = def.cols.iter().map(|c| c.name.len()).max().unwrap_or(0);
    for col in def.cols {
        let kind = match col.kind {
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Text => "text",
            Kind::Bool => "bool",
        };
        let unit = if col.unit.is_empty() { kind.to_owned() } else { format!("{kind}, {}", col.unit) };
        let null = if col.nullable { ", may be null" } else { "" };
        let shows = match col.shows.as_str() {
            "" => String::new(),
            shows => format!(", shows: {shows}"),
        };
        let _ = writeln!(out, "  {:width$}  {} ({unit}{null}{shows})", col.name, col.doc);
    }
}
