//! A table is declared once: schema, words, units, documentation and the types of other languages come from it.

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
    /// The place of a column.
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

/// A row of a table, by the names of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    def: &'static TableDef,
    cells: &'a [Value],
}

impl<'a> Row<'a> {
    /// A row as the table declares it.
    #[must_use]
    pub fn new(def: &'static TableDef, cells: &'a [Value]) -> Self {
        Self { def, cells }
    }

    /// The table's declaration.
    #[must_use]
    pub fn def(&self) -> &'static TableDef {
        self.def
    }

    /// A cell; `None` where there is no such column.
    #[must_use]
    pub fn cell(&self, col: &str) -> Option<&'a Value> {
        self.cells.get(self.def.col(col)?)
    }

    /// An integer; `None` where it is null.
    #[must_use]
    pub fn int(&self, col: &str) -> Option<i64> {
        if let Some(Value::Int(v)) = self.cell(col) { Some(*v) } else { None }
    }

    /// An integer of a column that is never null.
    #[must_use]
    pub fn sum(&self, col: &str) -> i64 {
        self.int(col).unwrap_or(0)
    }

    /// Some integers of columns that are never null.
    #[must_use]
    pub fn sums<const N: usize>(&self, cols: [&str; N]) -> [i64; N] {
        cols.map(|col| self.sum(col))
    }

    /// A ratio.
    #[must_use]
    pub fn ratio(&self, col: &str) -> Option<f64> {
        if let Some(Value::Float(v)) = self.cell(col) { Some(*v) } else { None }
    }

    /// A text; empty where it is null.
    #[must_use]
    pub fn text(&self, col: &str) -> &'a str {
        if let Some(Value::Text(v)) = self.cell(col) { v } else { "" }
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

    /// An integer cell; `None` where the column or the value is absent.
    #[must_use]
    pub fn int(&self, row: usize, col: &str) -> Option<i64> {
        match self.rows.get(row)?.get(self.def.col(col)?)? {
            Value::Int(v) => Some(*v),
            _ => None,
        }
    }

    /// A text cell; `None` where the column or the value is absent.
    #[must_use]
    pub fn text(&self, row: usize, col: &str) -> Option<&str> {
        match self.rows.get(row)?.get(self.def.col(col)?)? {
            Value::Text(v) => Some(v),
            _ => None,
        }
    }
}

impl Rows for Table {
    fn row(&mut self, values: &[Value]) {
        debug_assert_eq!(values.len(), self.def.cols.len(), "{}", self.def.name);
        self.rows.push(values.to_vec());
    }
}
