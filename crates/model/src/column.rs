//! Columns as constants, by which tables are read ([`Row::get`]).

use crate::table::{Kind, TableDef, Value};
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;

/// A table's declaration as a type (`tables::threads::Table`), which tells its columns and rows from those of others.
pub trait Declared: Copy + 'static {
    /// The declaration.
    const DEF: &'static TableDef;
}

/// What a cell is read as.
pub trait Cell: Copy + 'static {
    /// As it is handed out.
    type Out<'a>;

    /// Reads it.
    fn read(cell: Option<&Value>) -> Self::Out<'_>;
}

/// A text, handed out as a `&str`.
#[derive(Clone, Copy, Debug)]
pub struct Text;

macro_rules! cells {
    ($($of:ty, $out:ty, $variant:ident, $v:ident => $read:expr, $lacking:expr;)+) => { $(
        impl Cell for Option<$of> {
            type Out<'a> = Option<$out>;

            fn read(cell: Option<&Value>) -> Self::Out<'_> {
                if let Some(Value::$variant($v)) = cell { Some($read) } else { None }
            }
        }

        impl Cell for $of {
            type Out<'a> = $out;

            fn read(cell: Option<&Value>) -> Self::Out<'_> {
                // Lacking is what a column read by `or_zero` or `or_empty` may be; others are never null.
                <Option<$of> as Cell>::read(cell).unwrap_or($lacking)
            }
        }
    )+ };
}

cells! {
    i64, i64, Int, v => *v, 0;
    f64, f64, Float, v => *v, 0.0;
    bool, bool, Bool, v => *v, false;
    Text, &'a str, Text, v => v.as_str(), "";
}

/// A column of a table; `V` is what it is read as, an `Option` where a row may lack it.
pub struct Column<T, V> {
    at: usize,
    name: &'static str,
    of: PhantomData<fn() -> (T, V)>,
}

impl<T, V> Clone for Column<T, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V> Copy for Column<T, V> {}

impl<T, V> Debug for Column<T, V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl<T, V> Column<T, V> {
    /// The column at a place of the table's declaration: only declarations make one.
    pub(crate) const fn new(at: usize, name: &'static str) -> Self {
        Self { at, name, of: PhantomData }
    }

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Its place among the table's columns.
    #[must_use]
    pub const fn at(self) -> usize {
        self.at
    }

    const fn read_as<W>(self) -> Column<T, W> {
        Column::new(self.at, self.name)
    }
}

impl<T, V: Cell> Column<T, V> {
    /// The cell of a row of its table.
    #[must_use]
    pub fn of(self, row: &[Value]) -> V::Out<'_> {
        V::read(row.get(self.at))
    }
}

impl<T> Column<T, i64> {
    /// The same column, read as one that a row may lack, beside others that may.
    #[must_use]
    pub const fn or_null(self) -> Column<T, Option<i64>> {
        self.read_as()
    }
}

impl<T> Column<T, Option<i64>> {
    /// The same column, where what is not known counts as nothing.
    #[must_use]
    pub const fn or_zero(self) -> Column<T, i64> {
        self.read_as()
    }
}

impl<T> Column<T, Option<Text>> {
    /// The same column, where no text and an empty one are the same.
    #[must_use]
    pub const fn or_empty(self) -> Column<T, Text> {
        self.read_as()
    }
}

/// Any column of a table, whatever it holds.
pub trait AnyOf<T> {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// The cell of a row of the table.
    fn cell<'a>(&self, row: &'a [Value]) -> Option<&'a Value>;
}

impl<T, V> AnyOf<T> for Column<T, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cell<'a>(&self, row: &'a [Value]) -> Option<&'a Value> {
        row.get(self.at)
    }
}

/// A row of a table, read by the table's columns.
///
/// ```
/// use model::tables::ready_wait::{self, READY_NS, RUNNING_NS};
/// use model::{Row, Value};
///
/// fn share(row: &Row<'_, ready_wait::Table>) -> Option<f64> {
///     let (running, ready): (i64, Option<i64>) = (row.get(RUNNING_NS), row.get(READY_NS));
///     Some(ready? as f64 / (running + ready?) as f64)
/// }
/// ```
///
/// A column that the table does not have does not compile:
///
/// ```compile_fail
/// fn running(row: &model::Row<'_, model::tables::ready_wait::Table>) -> i64 {
///     row.get(model::tables::ready_wait::RUNING_NS)
/// }
/// ```
///
/// nor does one of another table,
///
/// ```compile_fail
/// fn running(row: &model::Row<'_, model::tables::ready_wait::Table>) -> i64 {
///     row.get(model::tables::threads::RUNNING_NS)
/// }
/// ```
///
/// nor a null that nobody thought of,
///
/// ```compile_fail
/// fn ready(row: &model::Row<'_, model::tables::ready_wait::Table>) -> i64 {
///     row.get(model::tables::ready_wait::READY_NS)
/// }
/// ```
///
/// nor one that holds something else.
///
/// ```compile_fail
/// fn name(row: &model::Row<'_, model::tables::threads::Table>) -> Option<i64> {
///     row.get(model::tables::threads::NAME)
/// }
/// ```
#[derive(Debug)]
pub struct Row<'a, T> {
    cells: &'a [Value],
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Row<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Row<'_, T> {}

impl<'a, T: Declared> Row<'a, T> {
    /// A row as the table declares it; there may be more columns behind ([`crate::tables::filled`]).
    #[must_use]
    pub fn new(cells: &'a [Value]) -> Self {
        debug_assert!(cells.len() >= T::DEF.cols.len(), "a row of {}", T::DEF.name);
        Self { cells, of: PhantomData }
    }

    /// All of it.
    #[must_use]
    pub fn cells(&self) -> &'a [Value] {
        self.cells
    }

    /// A cell.
    #[must_use]
    pub fn get<V: Cell>(&self, col: Column<T, V>) -> V::Out<'a> {
        col.of(self.cells)
    }

    /// Some cells that are read alike.
    #[must_use]
    pub fn all<V: Cell, const N: usize>(&self, cols: [Column<T, V>; N]) -> [V::Out<'a>; N] {
        cols.map(|col| col.of(self.cells))
    }
}

/// What a column holds, by the word that its declaration has for it.
pub trait ColumnType {
    /// What it is read as.
    type Value: Cell;
    /// What it holds.
    const KIND: Kind;
    /// The unit in words of the field.
    const UNIT: &'static str = "";
    /// Whether a row may lack it.
    const NULLABLE: bool = false;
    /// Whether it holds keys of the table `threads`.
    const OF_THREAD: bool = false;
    /// What is said of it where the table says nothing else.
    const DOC: &'static str = "";
}

impl<C: ColumnType> ColumnType for Option<C>
where
    Option<C::Value>: Cell,
{
    type Value = Option<C::Value>;
    const KIND: Kind = C::KIND;
    const UNIT: &'static str = C::UNIT;
    const NULLABLE: bool = true;
    const OF_THREAD: bool = C::OF_THREAD;
    const DOC: &'static str = C::DOC;
}

/// A constant's name in small letters: what its column is called.
pub(crate) const fn lower<const N: usize>(name: &str) -> [u8; N] {
    let (mut lower, mut at) = ([0; N], 0);
    while at < N {
        lower[at] = name.as_bytes()[at].to_ascii_lowercase();
        at += 1;
    }
    lower
}

/// Declares a table once: `tables::NAME` is its declaration, `tables::name::COLUMN` each of its columns, `tables::name::Table` stands for it
/// where a type is wanted. A column is its constant, what it holds, and a sentence where the word for what it holds has none.
macro_rules! table {
    (
        $(#[$meta:meta])*
        $DEF:ident: $module:ident {
            version: $version:literal,
            made_from: $made_from:ident,
            large: $large:literal,
            doc: $doc:literal,
            key: [$($KEY:ident),+ $(,)?],
            columns: { $($COL:ident: $ty:ty $(= $col_doc:literal)?,)+ }
            $(inferred: $INFERRED:ident,)?
        }
    ) => {
        $(#[$meta])*
        pub const $DEF: $crate::TableDef = $crate::TableDef {
            name: stringify!($module),
            version: $version,
            made_from: $crate::MadeFrom::$made_from,
            large: $large,
            doc: $doc,
            key: &[$($module::$KEY.name()),+],
            cols: &[$($crate::Col {
                name: $module::$COL.name(),
                kind: <$ty as $crate::column::ColumnType>::KIND,
                unit: <$ty as $crate::column::ColumnType>::UNIT,
                nullable: <$ty as $crate::column::ColumnType>::NULLABLE,
                of_thread: <$ty as $crate::column::ColumnType>::OF_THREAD,
                doc: $crate::column::doc_of::<$ty>(&[$($col_doc)?]),
            }),+],
        };

        #[doc = concat!("The columns of `", stringify!($DEF), "`.")]
        #[allow(missing_docs)] // those without a sentence of their own have that of what they hold
        pub mod $module {
            use super::*;

            /// Stands for the table where a type is wanted.
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub struct Table;

            impl $crate::Declared for Table {
                const DEF: &'static $crate::TableDef = &super::$DEF;
            }

            #[allow(non_camel_case_types, clippy::upper_case_acronyms)] // they count the constants below
            enum At { $($COL),+ }

            $(
                $(#[doc = $col_doc])?
                pub const $COL: $crate::Column<Table, <$ty as $crate::column::ColumnType>::Value> =
                    $crate::Column::new(At::$COL as usize, $crate::column::name!($COL));
            )+

            $(
                /// Behind the others, in tables that have what was inferred in them.
                pub const $INFERRED: $crate::Column<Table, Option<i64>> =
                    $crate::Column::new(super::$DEF.cols.len(), $crate::column::name!($INFERRED));
            )?
        }
    };
}
pub(crate) use table;

/// The name of the column that a constant stands for.
macro_rules! name {
    ($COL:ident) => {{
        const BYTES: [u8; stringify!($COL).len()] = $crate::column::lower(stringify!($COL));
        const NAME: &str = match ::std::str::from_utf8(&BYTES) {
            Ok(name) => name,
            Err(_) => "",
        };
        NAME
    }};
}
pub(crate) use name;

/// What the declaration says of a column, or else the word for what it holds.
pub(crate) const fn doc_of<C: ColumnType>(own: &[&'static str]) -> &'static str {
    match own {
        [own, ..] => own,
        [] => C::DOC,
    }
}
