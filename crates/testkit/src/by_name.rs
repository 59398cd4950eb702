//! Cells by the names of their columns, as tests say what a table holds.

use model::{Table, Value};

/// A table's cells, by column names.
pub trait ByName {
    /// An integer cell; `None` where it is null.
    ///
    /// # Panics
    /// The table has no such column, or no such row.
    fn int(&self, row: usize, col: &str) -> Option<i64>;

    /// A text cell; `None` where it is null.
    ///
    /// # Panics
    /// The table has no such column, or no such row.
    fn text(&self, row: usize, col: &str) -> Option<&str>;
}

fn cell<'a>(table: &'a Table, row: usize, col: &str) -> &'a Value {
    let at = table.def.col(col).unwrap_or_else(|| panic!("{} has no column {col}", table.def.name));
    &table.rows[row][at]
}

impl ByName for Table {
    fn int(&self, row: usize, col: &str) -> Option<i64> {
        match cell(self, row, col) {
            Value::Int(v) => Some(*v),
            Value::Null => None,
            other => panic!("{col} of {} is no integer: {other:?}", self.def.name),
        }
    }

    fn text(&self, row: usize, col: &str) -> Option<&str> {
        match cell(self, row, col) {
            Value::Text(v) => Some(v),
            Value::Null => None,
            other => panic!("{col} of {} is no text: {other:?}", self.def.name),
        }
    }
}
