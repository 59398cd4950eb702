//! Rows on their way to who asked for them.

use crate::{EachRows, EngineError, Session};
use model::{Declared, Row, Rows, Value};
use std::io::Result;

/// Rows handed on at once.
const BATCH: usize = 4096;

impl Session {
    /// The rows of a table ([`Self::rows`]), to be read by its columns.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn each<T: Declared>(&self, _: T, mut each: impl FnMut(Row<'_, T>)) -> std::result::Result<(), EngineError> {
        self.rows(T::DEF.name, &mut |rows| {
            rows.iter().for_each(|row| each(Row::new(row)));
            Ok(())
        })
    }
}

/// Hands rows on, those that come one by one some thousands at a time.
pub(crate) struct Batches<'a> {
    each: EachRows<'a>,
    rows: Vec<Vec<Value>>,
    /// How many of them are filled.
    filled: usize,
    refused: Result<()>,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(each: EachRows<'a>) -> Self {
        Self { each, rows: Vec::new(), filled: 0, refused: Ok(()) }
    }

    /// Many at once.
    pub(crate) fn all(&mut self, rows: &[Vec<Value>]) {
        self.flush();
        if self.refused.is_ok() {
            self.refused = (self.each)(rows);
        }
    }

    /// Whether rows are still wanted: a long pass asks now and then.
    ///
    /// # Errors
    /// The caller refused some.
    pub(crate) fn check(&mut self) -> std::result::Result<(), EngineError> {
        std::mem::replace(&mut self.refused, Ok(())).map_err(EngineError::Output)
    }

    /// What is left.
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
