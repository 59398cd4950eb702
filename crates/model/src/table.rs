//! A table is declared once: schema, words, units, documentation and the types of other languages come from it.

use crate::{Declared, Row};

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A signed 64-bit integer (Spark reads unsigned ones as decimals).
    Int,
    /// A double.
    Float,
    /// A text.
    Text,
    /// Yes or no.
    Bool,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Col {
    /// snake_case; carries the unit (`running_ns`, `freq_khz`).
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// The unit in words of the field (`ns`, `kHz`, `count`), empty where it has none.
    pub unit: &'static str,
    /// Whether a row may lack it.
    pub nullable: bool,
    /// Whether it holds keys of the table `threads`, whose names can stand beside them ([`crate::tables::named`]).
    pub of_thread: bool,
    /// One sentence for the user.
    pub doc: &'static str,
}

impl Col {
    /// A column that every row has.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, unit: &'static str, doc: &'static str) -> Self {
        Self { name, kind, unit, nullable: false, of_thread: false, doc }
    }

    /// The same column, where a row may lack it.
    #[must_use]
    pub const fn or_null(self) -> Self {
        Self { nullable: true, ..self }
    }

    /// The same column, where it holds keys of `threads`.
    #[must_use]
    pub const fn of_thread(self) -> Self {
        Self { of_thread: true, ..self }
    }
}

/// What a table is made from: who makes it, and what it is of a part of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MadeFrom {
    /// The sums of stage one, which every trace that is opened has.
    Totals,
    /// What stage one keeps beside its sums, each with a begin and an end (`start_ns`, `end_ns`): of a part, the rows that overlap it.
    Spans,
    /// The stretches, folded in order of time by an analysis.
    Analysis,
    /// The stretches themselves: of a part, those that overlap it.
    States,
    /// The stretches, followed back from the end that is asked for.
    CriticalPath,
    /// The critical paths of the slowest frames.
    SlowFrames,
    /// The frames of a frame log: of a part, those that overlap it.
    Frames,
    /// None of these: it is no table that can be asked for, but has its form (a folder's events, an answer of the viewer's server).
    Elsewhere,
}

/// A table's declaration.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// A snake_case noun.
    pub name: &'static str,
    /// Counts up when the meaning of a column changes, so that a cached table is not taken for a new one.
    pub version: u32,
    /// What it is made from.
    pub made_from: MadeFrom,
    /// Whether it may be as long as the recording, so that its rows are streamed and never held.
    pub large: bool,
    /// One sentence for the user.
    pub doc: &'static str,
    /// The columns that tell rows apart.
    pub key: &'static [&'static str],
    /// The columns.
    pub cols: &'static [Col],
}

impl TableDef {
    /// Whether a row is as the columns say.
    #[must_use]
    pub fn fits(&self, row: &[Value]) -> bool {
        let fits = |(col, value): (&Col, &Value)| match value {
            Value::Null => col.nullable,
            Value::Int(_) => col.kind == Kind::Int,
            Value::Float(_) => col.kind == Kind::Float,
            Value::Text(_) => col.kind == Kind::Text,
            Value::Bool(_) => col.kind == Kind::Bool,
        };
        row.len() == self.cols.len() && self.cols.iter().zip(row).all(fits)
    }

    /// The columns that tell rows apart, with their places.
    pub fn keys(&self) -> impl Iterator<Item = (usize, &'static Col)> {
        self.key.iter().filter_map(|key| self.cols.iter().enumerate().find(|(_, col)| col.name == *key))
    }

    /// The place of a column that somebody names who may be wrong: a user, a file. Code names it by its constant.
    #[must_use]
    pub fn col(&self, name: &str) -> Option<usize> {
        self.cols.iter().position(|c| c.name == name)
    }
}

/// One cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Not known, or not applicable.
    Null,
    /// An integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// A text.
    Text(String),
    /// Yes or no.
    Bool(bool),
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Self::Int(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Self::Float(v)
    }
}

impl From<crate::Ns> for Value {
    fn from(v: crate::Ns) -> Self {
        Self::Int(v.0)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Self::Text(v.to_owned())
    }
}

impl From<String> for Value {
    fn from(v: String) -> Self {
        Self::Text(v)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Null, Into::into)
    }
}

/// Where a table's rows go: memory, Parquet, a terminal.
pub trait Rows {
    /// Takes one row, its values in the order of the definition's columns.
    fn row(&mut self, values: &[Value]);
}

/// A table held in memory; only for tables bounded by threads, CPUs or classes, never by time.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its declaration.
    pub def: &'static TableDef,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// An empty one.
    #[must_use]
    pub fn new(def: &'static TableDef) -> Self {
        Self { def, rows: Vec::new() }
    }

    /// Its rows, to be read by the columns of a table's declaration; of another table there are none.
    pub fn rows_of<T: Declared>(&self, of: T) -> impl ExactSizeIterator<Item = Row<'_, T>> {
        _ = of;
        debug_assert_eq!(self.def.name, T::DEF.name, "the rows of a table are read as another's");
        let rows = if self.def.name == T::DEF.name { self.rows.as_slice() } else { &[] };
        rows.iter().map(|cells| Row::new(cells))
    }
}

impl Rows for Table {
    fn row(&mut self, values: &[Value]) {
        debug_assert!(self.def.fits(values), "{}: {values:?}", self.def.name);
        self.rows.push(values.to_vec());
    }
}
