//! Typed constants for columns, with which table rows are read ([`Row::get`]).

use crate::table::{Kind, Shows, TableDef, Value};
use crate::units::{Ns, ThreadKey, Tid};
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;

/// A table as a type (`tables::threads::Table`), so that its columns and rows have types of their own.
pub trait TableType: Copy + 'static {
    /// The declaration of the table.
    const DEF: &'static TableDef;
}

/// A type that a cell can be read as.
pub trait Cell: Copy + 'static {
    /// The type of the value.
    type Out<'a>;

    /// Reads the cell.
    fn read(cell: Option<&Value>) -> Self::Out<'_>;
}

/// A text, read as a `&str`.
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
                // Null only if the column is read with `or_zero` or `or_empty`.
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
    Ns, Ns, Int, v => Ns(*v), Ns::ZERO;
    Tid, Tid, Int, v => i32::try_from(*v).map_or(Tid::UNKNOWN, Tid), Tid::IDLE;
    ThreadKey, ThreadKey, Int, v => ThreadKey(*v), ThreadKey::IDLE;
}

/// A column of a table; `V` is the type that it is read as, an `Option` if it may be null.
///
/// ```
/// use model::tables::{self, ready_wait::READY_NS};
/// use model::{Ns, Value};
///
/// assert_eq!(tables::READY_WAIT.col(READY_NS.name()), Some(READY_NS.at()));
/// let cells = vec![Value::Null; tables::READY_WAIT.cols.len()];
/// assert_eq!((READY_NS.of(&cells), READY_NS.or_zero().of(&cells)), (None, Ns::ZERO));
/// ```
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
    /// Returns the column with this index in the declaration of the table. Only declarations call this.
    pub(crate) const fn new(at: usize, name: &'static str) -> Self {
        Self { at, name, of: PhantomData }
    }

    /// The name of the column.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The index of the column in its table.
    #[must_use]
    pub const fn at(self) -> usize {
        self.at
    }

    const fn read_as<W>(self) -> Column<T, W> {
        Column::new(self.at, self.name)
    }
}

impl<T, V: Cell> Column<T, V> {
    /// Reads the cell of a row.
    #[must_use]
    pub fn of(self, row: &[Value]) -> V::Out<'_> {
        V::read(row.get(self.at))
    }
}

/// A number of which null may be read as 0.
pub trait Number: Cell {}

impl Number for i64 {}
impl Number for Ns {}
impl Number for Tid {}

impl<T, V: Number> Column<T, V> {
    /// Returns the same column read as nullable, to be used with nullable columns.
    #[must_use]
    pub const fn or_null(self) -> Column<T, Option<V>> {
        self.read_as()
    }
}

impl<T, V: Number> Column<T, Option<V>> {
    /// Returns the same column with null read as 0.
    #[must_use]
    pub const fn or_zero(self) -> Column<T, V> {
        self.read_as()
    }
}

impl<T> Column<T, Option<Text>> {
    /// Returns the same column with null read as an empty text.
    #[must_use]
    pub const fn or_empty(self) -> Column<T, Text> {
        self.read_as()
    }
}

/// A column of a table, of any type.
pub trait AnyColumn<T> {
    /// The name of the column.
    fn name(&self) -> &'static str;

    /// Returns the cell of a row.
    fn cell<'a>(&self, row: &'a [Value]) -> Option<&'a Value>;
}

impl<T, V> AnyColumn<T> for Column<T, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cell<'a>(&self, row: &'a [Value]) -> Option<&'a Value> {
        row.get(self.at)
    }
}

/// A row of a table, read with the columns of the table.
///
/// ```
/// use model::tables::ready_wait::{self, READY_NS, RUNNING_NS};
/// use model::{Ns, Row, Value};
///
/// fn share(row: &Row<'_, ready_wait::Table>) -> Option<f64> {
///     let (running, ready): (Ns, Option<Ns>) = (row.get(RUNNING_NS), row.get(READY_NS));
///     Some(ready?.as_f64() / (running + ready?).as_f64())
/// }
///
/// let mut cells = vec![Value::Null; model::tables::READY_WAIT.cols.len()];
/// cells[RUNNING_NS.at()] = Value::Int(3);
/// cells[READY_NS.at()] = Value::Int(1);
/// assert_eq!(share(&Row::new(&cells)), Some(0.25));
/// ```
///
/// Reading a column that the table does not have does not compile:
///
/// ```compile_fail
/// fn running(row: &model::Row<'_, model::tables::ready_wait::Table>) -> model::Ns {
///     row.get(model::tables::ready_wait::RUNING_NS)
/// }
/// ```
///
/// nor does a column of another table,
///
/// ```compile_fail
/// fn running(row: &model::Row<'_, model::tables::ready_wait::Table>) -> model::Ns {
///     row.get(model::tables::threads::RUNNING_NS)
/// }
/// ```
///
/// nor a nullable column read as non-null,
///
/// ```compile_fail
/// fn ready(row: &model::Row<'_, model::tables::ready_wait::Table>) -> model::Ns {
///     row.get(model::tables::ready_wait::READY_NS)
/// }
/// ```
///
/// nor a column of another type.
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

impl<'a, T: TableType> Row<'a, T> {
    /// Returns a row of the table; there may be further columns after the declared ones ([`crate::tables::filled`]).
    #[must_use]
    pub fn new(cells: &'a [Value]) -> Self {
        debug_assert!(cells.len() >= T::DEF.cols.len(), "a row of {}", T::DEF.name);
        Self { cells, of: PhantomData }
    }

    /// Returns all cells.
    #[must_use]
    pub fn cells(&self) -> &'a [Value] {
        self.cells
    }

    /// Reads a cell.
    #[must_use]
    pub fn get<V: Cell>(&self, col: Column<T, V>) -> V::Out<'a> {
        col.of(self.cells)
    }

    /// Reads several cells: an array of columns of the same type, or a tuple of columns.
    #[must_use]
    pub fn all<C: Columns<T>>(&self, cols: C) -> C::Out<'a> {
        cols.read(self.cells)
    }
}

/// Several columns of a table, which are read together ([`Row::all`]).
pub trait Columns<T> {
    /// The type of the values.
    type Out<'a>;

    /// Reads the cells of a row.
    fn read(self, row: &[Value]) -> Self::Out<'_>;
}

impl<T, V: Cell, const N: usize> Columns<T> for [Column<T, V>; N] {
    type Out<'a> = [V::Out<'a>; N];

    fn read(self, row: &[Value]) -> Self::Out<'_> {
        self.map(|col| col.of(row))
    }
}

macro_rules! tuples {
    ($(($($V:ident $at:tt),+);)+) => { $(
        impl<T, $($V: Cell),+> Columns<T> for ($(Column<T, $V>),+) {
            type Out<'a> = ($($V::Out<'a>),+);

            fn read(self, row: &[Value]) -> Self::Out<'_> {
                ($(self.$at.of(row)),+)
            }
        }
    )+ };
}

tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// A column type, as used in table declarations.
pub trait ColumnType {
    /// The type that it is read as.
    type Value: Cell;
    /// The type of its values.
    const KIND: Kind;
    /// The unit.
    const UNIT: &'static str = "";
    /// Whether its values may be null.
    const NULLABLE: bool = false;
    /// Whether it holds keys of the table `threads`.
    const IS_THREAD_KEY: bool = false;
    /// What its values may show.
    const SHOWS: Shows;
    /// The documentation of columns without one of their own.
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
    const IS_THREAD_KEY: bool = C::IS_THREAD_KEY;
    const SHOWS: Shows = C::SHOWS;
    const DOC: &'static str = C::DOC;
}

/// Returns the name of a constant in lower case, which is the name of its column.
pub(crate) const fn lower<const N: usize>(name: &str) -> [u8; N] {
    let (mut lower, mut at) = ([0; N], 0);
    while at < N {
        lower[at] = name.as_bytes()[at].to_ascii_lowercase();
        at += 1;
    }
    lower
}

/// Declares a table: `tables::NAME` is the declaration, `tables::name::COLUMN` are its columns, `tables::name::Table` is its type.
/// A column has a constant, a column type, and documentation if the column type has none.
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
                is_thread_key: <$ty as $crate::column::ColumnType>::IS_THREAD_KEY,
                shows: <$ty as $crate::column::ColumnType>::SHOWS,
                doc: $crate::column::doc_of::<$ty>(&[$($col_doc)?]),
            }),+],
        };

        #[doc = concat!("The columns of `", stringify!($DEF), "`.")]
        #[allow(missing_docs)] // columns without documentation have that of their column type
        pub mod $module {
            use super::*;

            /// The table as a type.
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub struct Table;

            impl $crate::TableType for Table {
                const DEF: &'static $crate::TableDef = &super::$DEF;
            }

            #[allow(non_camel_case_types, clippy::upper_case_acronyms)] // the index of each column
            enum At { $($COL),+ }

            $(
                $(#[doc = $col_doc])?
                pub const $COL: $crate::Column<Table, <$ty as $crate::column::ColumnType>::Value> =
                    $crate::Column::new(At::$COL as usize, $crate::column::name!($COL));
            )+

            $(
                /// The last column, in tables that include inferred time.
                pub const $INFERRED: $crate::Column<Table, Option<$crate::Ns>> =
                    $crate::Column::new(super::$DEF.cols.len(), $crate::column::name!($INFERRED));
            )?
        }
    };
}
pub(crate) use table;

/// The name of the column of a constant.
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

/// Returns the documentation of a column, its own or that of its column type.
pub(crate) const fn doc_of<C: ColumnType>(own: &[&'static str]) -> &'static str {
    match own {
        [own, ..] => own,
        [] => C::DOC,
    }
}
