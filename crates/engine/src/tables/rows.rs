//! Passes rows on in batches.

use crate::{EngineError, RowCallback, Session};
use model::{Row, Rows, TableType, Value};
use std::io::Result;

/// The number of rows in a batch.
const BATCH: usize = 4096;

impl Session {
    /// Passes on the rows of a table ([`Self::rows`]) one by one, typed by its columns.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn each<T: TableType>(&self, _: T, mut each: impl FnMut(Row<'_, T>)) -> std::result::Result<(), EngineError> {
        self.rows(T::DEF.name, &mut |rows| {
            rows.iter().for_each(|row| each(Row::new(row)));
            Ok(())
        })
    }
}

/// Collects rows into batches and passes them on.
pub(crate) struct Batches<'a> {
    each: RowCallback<'a>,
    rows: Vec<Vec<Value>>,
    /// The number of filled rows.
    filled: usize,
    refused: Result<()>,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(each: RowCallback<'a>) -> Self {
        Self { each, rows: Vec::new(), filled: 0, refused: Ok(()) }
    }

    /// Passes on many rows.
    pub(crate) fn all(&mut self, rows: &[Vec<Value>]) {
        self.flush();
        if self.refused.is_ok() {
            self.refused = (self.each)(rows);
        }
    }

    /// Checks whether the caller still accepts rows; called from time to time during a long pass.
    ///
    /// # Errors
    /// The caller refused rows.
    pub(crate) fn check(&mut self) -> std::result::Result<(), EngineError> {
        std::mem::replace(&mut self.refused, Ok(())).map_err(EngineError::Output)
    }

    /// Passes on the remaining rows.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub(crate) fn finish(mut self) -> std::result::Result<(), EngineError> {
        self.flush();
        self.refused.map_err(EngineError::Output)
    }

    fn flush(&mut self) {
        let filled = std::mem::take(&mut self.filled);
        if self.refused.is_ok() && filled > 0 {
            self.refused = (self.each)(&self.rows[..filled]);
        }
    }
}

impl Rows for Batches<'_> {
    fn row(&mut self, values: &[Value]) {
        match self.rows.get_mut(self.filled) {
            Some(row) => {
                row.clear();
                row.extend_from_slice(values);
            }
            None => self.rows.push(values.to_vec()),
        }
        self.filled += 1;
        if self.filled == BATCH {
            self.flush();
        }
    }
}
