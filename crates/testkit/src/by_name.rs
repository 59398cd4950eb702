//! Access to table cells by column name, for tests.

use model::{Table, Value};

/// Access to the cells of a table by column name.
pub trait ByName {
    /// Returns an integer cell; `None` if it is null.
    ///
    /// # Panics
    /// The table has no such column, or no such row.
    fn int(&self, row: usize, col: &str) -> Option<i64>;

    /// Returns a text cell; `None` if it is null.
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
            other => panic!("{col} of {} is not an integer: {other:?}", self.def.name),
        }
    }

    fn text(&self, row: usize, col: &str) -> Option<&str> {
        match cell(self, row, col) {
            Value::Text(v) => Some(v),
            Value::Null => None,
            other => panic!("{col} of {} is not a text: {other:?}", self.def.name),
        }
    }
}
