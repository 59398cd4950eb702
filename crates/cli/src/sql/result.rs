//! The rows of an answer in the format that the user chose.

use super::duckdb::Line;
use crate::aligned::Aligned;
use crate::failure::Failure;
use crate::output::say;
use clap::ValueEnum;
use engine::{Format, TableWriter};
use model::{Col, Kind, MadeFrom, Shows, TableDef, Value};
use std::io::Write;

/// The formats of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Aligned columns.
    Text,
    /// Markdown.
    Md,
    /// Comma-separated values.
    Csv,
    /// JSON.
    Json,
    /// Parquet.
    Parquet,
}

/// The table that an answer is written as. It is kept until the end of the program: one for each query.
fn definition(columns: &[(String, String)]) -> &'static TableDef {
    let cols = columns.iter().map(|(name, kind)| {
        let name: &'static str = name.clone().leak();
        let unit = if name.ends_with("_ns") { "ns" } else { "" };
        Col { kind: kind_of(kind), unit, ..Col::text(name, Shows::Anything, "") }.or_null()
    });
    let cols: Vec<Col> = cols.collect();
    Box::leak(Box::new(TableDef {
        name: "query",
        version: 1,
        made_from: MadeFrom::Elsewhere,
        large: true,
        doc: "The answer to a query.",
        key: &[],
        cols: cols.leak(),
    }))
}

/// The type of a column of DuckDB; types without a counterpart are texts.
fn kind_of(of: &str) -> Kind {
    match of {
        "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "HUGEINT" | "UTINYINT" | "USMALLINT" | "UINTEGER"
        | "UBIGINT" | "UHUGEINT" | "BIGNUM" => Kind::Int,
        "FLOAT" | "DOUBLE" => Kind::Float,
        "BOOLEAN" => Kind::Bool,
        of if of.starts_with("DECIMAL") => Kind::Float,
        _ => Kind::Text,
    }
}

fn value(col: &Col, cell: Option<String>) -> Result<Value, Failure> {
    let Some(cell) = cell else { return Ok(Value::Null) };
    let wrong = |what: &str| {
        Failure::new(format!("the column {} has {cell}, which is not {what}: cast it to DOUBLE or VARCHAR", col.name))
    };
    Ok(match col.kind {
        Kind::Int => Value::Int(cell.parse().map_err(|_| wrong("an integer of 64 bits"))?),
        Kind::Float => Value::Float(cell.parse().map_err(|_| wrong("a number"))?),
        Kind::Bool => Value::Bool(cell == "true"),
        Kind::Text => Value::Text(cell),
    })
}

enum Output<'a> {
    Aligned(Aligned<'a>),
    Format(TableWriter<'a>),
}

/// Writes the answer that `run` passes on line by line.
///
/// # Errors
/// `run` fails, or the answer cannot be written.
pub fn answer(
    form: Form,
    out: &mut (dyn Write + Send),
    run: impl FnOnce(&mut dyn FnMut(Line) -> Result<(), Failure>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let format = match form {
        Form::Text => None,
        Form::Md => Some(Format::Markdown),
        Form::Csv => Some(Format::Csv),
        Form::Json => Some(Format::Json),
        Form::Parquet => Some(Format::Parquet),
    };
    let (mut out, mut begun) = (Some(out), None);
    run(&mut |line| {
        match line {
            Line::Columns(columns) => {
                let def = definition(&columns);
                // Nothing is written before the columns are known, so that a query that fails writes nothing.
                let Some(out) = out.take() else { return Ok(()) };
                begun = Some((
                    def,
                    match format {
                        None => Output::Aligned(Aligned::new(def, out)),
                        Some(format) => {
                            Output::Format(TableWriter::new(def, None, format, out).map_err(engine::EngineError::from)?)
                        }
                    },
                ));
            }
            Line::Row(cells) => {
                let Some((def, output)) = &mut begun else { return Ok(()) };
                let row: Vec<Value> =
                    def.cols.iter().zip(cells).map(|(col, cell)| value(col, cell)).collect::<Result<_, _>>()?;
                match output {
                    Output::Aligned(table) => table.push(&row)?,
                    Output::Format(table) => table.push(&row).map_err(engine::EngineError::from)?,
                }
            }
        }
        Ok(())
    })?;
    match begun {
        Some((_, Output::Aligned(table))) => {
            let rows = table.finish()?;
            if rows == 0 {
                say("corewise: the answer has no rows");
            }
        }
        Some((_, Output::Format(table))) => table.finish().map_err(engine::EngineError::from)?,
        None => {}
    }
    Ok(())
}
