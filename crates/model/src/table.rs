//! Table declarations: the schema, units and documentation of a table, from which the types of other languages are generated.

use crate::tables::renamed;
use crate::{Row, TableType};

/// The type of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A signed 64-bit integer (Spark reads unsigned ones as decimals).
    Int,
    /// A double.
    Float,
    /// A text.
    Text,
    /// A truth value.
    Bool,
}

/// What the values of a column may show of the user's machine and programs, so that what is private can be left out everywhere
/// ([`Self::fate`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shows {
    /// Nothing private: numbers, words of corewise and of the kernel, names of hardware.
    Nothing,
    /// A name of a thread, of a process or of a pool.
    Name,
    /// A name of a program.
    Program,
    /// A name of a function.
    Function,
    /// The path of a file or a cgroup, or the addresses of a connection.
    Path,
    /// The mapping that contains code: the path of a file, or a name in brackets.
    File,
    /// The functions of a callchain, and files of those without a name.
    Chain,
    /// A command line.
    CommandLine,
    /// The name of a host.
    Host,
    /// An address in memory, or the number of an inode.
    Address,
    /// What a program marked: a text of its choice.
    Mark,
    /// Anything: a label that the user gave. The answer to a query shows what the tables show that it was made from.
    Anything,
}

impl Shows {
    /// The word for it, for documentation; empty if nothing private is shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Name | Self::Program | Self::Function => "name",
            Self::Path | Self::File | Self::Chain => "path",
            Self::CommandLine => "command line",
            Self::Host => "host",
            Self::Address => "address",
            Self::Mark => "mark",
            Self::Anything => "anything",
        }
    }
}

/// A column declaration.
///
/// ```
/// use model::{Col, Kind, Shows};
///
/// let col = Col::new("ready_ns", Kind::Int, "ns", "Time in which it was ready.").or_null();
/// assert!(col.nullable && !col.is_thread_key && col.shows == Shows::Nothing);
/// assert_eq!(Col::text("file", Shows::Path, "The file.").shows.as_str(), "path");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Col {
    /// The name in snake_case; it carries the unit (`running_ns`, `freq_khz`).
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// The unit (`ns`, `kHz`, `count`), empty if it has none.
    pub unit: &'static str,
    /// Whether its values may be null.
    pub nullable: bool,
    /// Whether it holds keys of the table `threads`, for which a column of names can be added ([`crate::tables::named`]).
    pub is_thread_key: bool,
    /// What its values may show.
    pub shows: Shows,
    /// The documentation for the user, in one sentence.
    pub doc: &'static str,
}

impl Col {
    /// Returns a column of numbers or truth values, without null values.
    ///
    /// # Panics
    /// It is a column of texts: see [`Self::text`].
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, unit: &'static str, doc: &'static str) -> Self {
        assert!(!matches!(kind, Kind::Text), "a column of texts declares what it shows");
        Self { name, kind, unit, nullable: false, is_thread_key: false, shows: Shows::Nothing, doc }
    }

    /// Returns a column of texts, without null values.
    #[must_use]
    pub const fn text(name: &'static str, shows: Shows, doc: &'static str) -> Self {
        Self { name, kind: Kind::Text, unit: "", nullable: false, is_thread_key: false, shows, doc }
    }

    /// Returns the same column with null values allowed.
    #[must_use]
    pub const fn or_null(self) -> Self {
        Self { nullable: true, ..self }
    }

    /// Returns the same column as one that holds keys of `threads`.
    #[must_use]
    pub const fn thread_key(self) -> Self {
        Self { is_thread_key: true, ..self }
    }
}

/// What a table is made from, which determines how it is made and what it holds for a part of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MadeFrom {
    /// The sums of stage one, which are available for every open trace.
    Totals,
    /// What stage one keeps in addition to its sums, each with a begin and an end (`start_ns`, `end_ns`): for a part, the rows
    /// that overlap it.
    Spans,
    /// The stretches, in order of time, by an analysis.
    Analysis,
    /// The stretches themselves: for a part, those that overlap it.
    States,
    /// The stretches, followed backwards from the requested end.
    CriticalPath,
    /// The critical paths of the slowest frames.
    SlowFrames,
    /// The rows of the tables of periods, requests and parallel regions: for a part, those that begin and end in it.
    Intervals,
    /// The same, in sums.
    IntervalSums,
    /// The frames of a frame log: for a part, those that overlap it.
    Frames,
    /// What commands keep with a recording, whatever part of it is read.
    Kept,
    /// None of these. Not a table that can be requested, but of the same form (events of a trace folder, a response of the
    /// viewer's server).
    Elsewhere,
}

/// A table's declaration.
///
/// ```
/// use model::{Kind, tables};
///
/// let def = &tables::THREADS;
/// assert_eq!((def.name, def.key), ("threads", &["thread"][..]));
/// let charged = def.cols[def.col("exec_ns").expect("a column of this name")];
/// assert_eq!((charged.kind, charged.unit, charged.nullable), (Kind::Int, "ns", true));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// The name, a noun in snake_case.
    pub name: &'static str,
    /// Increases when the meaning of a column changes, so that outdated cached tables are detected.
    pub version: u32,
    /// What it is made from.
    pub made_from: MadeFrom,
    /// Whether its length grows with the recording, so that its rows are streamed and not held in memory.
    pub large: bool,
    /// The documentation for the user.
    pub doc: &'static str,
    /// The columns that identify a row.
    pub key: &'static [&'static str],
    /// The columns.
    pub cols: &'static [Col],
}

impl TableDef {
    /// Returns in what a row differs from the declared columns and types; `None` if it fits.
    #[must_use]
    pub fn misfit(&self, row: &[Value]) -> Option<String> {
        let fits = |col: &Col, value: &Value| match value {
            Value::Null => col.nullable,
            Value::Int(_) => col.kind == Kind::Int,
            Value::Float(_) => col.kind == Kind::Float,
            Value::Text(_) => col.kind == Kind::Text,
            Value::Bool(_) => col.kind == Kind::Bool,
        };
        if row.len() != self.cols.len() {
            return Some(format!(
                "{}: a row has {} cells, but {} columns are declared",
                self.name,
                row.len(),
                self.cols.len()
            ));
        }
        let (col, value) = self.cols.iter().zip(row).find(|(col, value)| !fits(col, value))?;
        let null = if col.nullable { " or null" } else { "" };
        Some(format!("{}.{} is {value:?}, but declared as {:?}{null}", self.name, col.name, col.kind))
    }

    /// Returns the columns that identify a row, with their indices.
    pub fn keys(&self) -> impl Iterator<Item = (usize, &'static Col)> {
        self.key.iter().filter_map(|key| self.cols.iter().enumerate().find(|(_, col)| col.name == *key))
    }

    /// Returns the index of the column with this name, current or former, for names given by a user or a file. Code uses the column's
    /// constant.
    #[must_use]
    pub fn col(&self, name: &str) -> Option<usize> {
        let position = |name: &str| self.cols.iter().position(|c| c.name == name);
        position(name).or_else(|| position(renamed::current_column(name)?))
    }
}

/// The value of a cell.
///
/// ```
/// use model::{Ns, Value};
///
/// assert_eq!(Value::from(Ns(5)), Value::Int(5));
/// assert_eq!(Value::from("redis"), Value::Text("redis".to_owned()));
/// // What is not known is null, not 0.
/// assert_eq!([Some(Ns(0)), None].map(Value::from), [Value::Int(0), Value::Null]);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Unknown or not applicable.
    Null,
    /// An integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// A text.
    Text(String),
    /// A truth value.
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

impl From<crate::Tid> for Value {
    fn from(v: crate::Tid) -> Self {
        Self::Int(v.0.into())
    }
}

impl From<crate::ThreadKey> for Value {
    fn from(v: crate::ThreadKey) -> Self {
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

/// A destination of table rows: memory, Parquet, a terminal.
///
/// ```
/// use model::{Rows, Value};
///
/// struct Count(usize);
/// impl Rows for Count {
///     fn row(&mut self, _: &[Value]) { self.0 += 1; }
/// }
/// let mut count = Count(0);
/// count.row(&[Value::Int(2), Value::Null]);
/// assert_eq!(count.0, 1);
/// ```
pub trait Rows {
    /// Takes a row, its values in the order of the declared columns.
    fn row(&mut self, values: &[Value]);
}

/// A table in memory; only for tables whose size is bounded by threads, CPUs or classes, not by time.
///
/// ```
/// use model::tables::{self, concurrency};
/// use model::{Ns, Rows, Table, Value};
///
/// let mut table = Table::new(&tables::CONCURRENCY);
/// table.row(&[Value::Int(2), Value::Int(0), Value::Int(500)]);
/// let times: Vec<Ns> = table.rows_of(concurrency::Table).map(|row| row.get(concurrency::DURATION_NS)).collect();
/// assert_eq!(times, [Ns(500)]);
/// assert!(table.def.misfit(&[Value::Null]).is_some(), "the table has three columns");
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    /// The declaration.
    pub def: &'static TableDef,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// Returns an empty table.
    #[must_use]
    pub fn new(def: &'static TableDef) -> Self {
        Self { def, rows: Vec::new() }
    }

    /// Returns the rows, to be read with the columns of the declared table; none if this is another table.
    pub fn rows_of<T: TableType>(&self, of: T) -> impl ExactSizeIterator<Item = Row<'_, T>> {
        _ = of;
        debug_assert_eq!(self.def.name, T::DEF.name, "the rows are read with the columns of another table");
        let rows = if self.def.name == T::DEF.name { self.rows.as_slice() } else { &[] };
        rows.iter().map(|cells| Row::new(cells))
    }
}

impl Rows for Table {
    fn row(&mut self, values: &[Value]) {
        debug_assert_eq!(self.def.misfit(values), None);
        self.rows.push(values.to_vec());
    }
}
